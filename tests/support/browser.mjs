// Drives Chromium over one page, step by step. Arguments: the directory with node_modules, the page's file. Steps come
// as a JSON list on standard input; what they saw goes out as one JSON object: their answers by name, what the console
// said and every request but the one for the page itself.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [modules, file] = process.argv.slice(2);
const require = createRequire(join(modules, "package.json"));
const puppeteer = require("puppeteer-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const url = pathToFileURL(resolve(file)).href;
const browser = await puppeteer.launch({
  executablePath: process.env.LOCKSHIFT_CHROMIUM ?? "/usr/bin/chromium",
  // Tests run as root in containers, where Chromium's own sandbox can't start.
  args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
  protocolTimeout: 300_000,
});
const seen = { said: {}, console: [], requests: [] };
try {
  const page = await browser.newPage();
  const protocol = await page.createCDPSession();
  page.setDefaultTimeout(120_000);
  await page.setViewport({ width: 1360, height: 900 });
  page.on("console", (message) => seen.console.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => seen.console.push(`error: ${error}`));
  page.on("request", (request) => {
    if (request.url().split("#")[0] !== url) seen.requests.push(request.url());
  });

  const shown = (selector) =>
    page.$$eval(selector, (found) => found.filter((one) => one.checkVisibility()).map((one) => one.textContent));
  const steps = {
    script: ({ on }) => page.setJavaScriptEnabled(on),
    open: () => page.goto(url, { waitUntil: "load", timeout: 120_000 }),
    // Both in one call: each of the driver's own two would take back what the other one set.
    media: ({ scheme, type }) => protocol.send("Emulation.setEmulatedMedia", {
      media: type ?? "screen",
      features: [{ name: "prefers-color-scheme", value: scheme ?? "light" }],
    }),
    width: ({ width }) => page.setViewport({ width, height: 900 }),
    focus: ({ selector }) => page.focus(selector),
    key: async ({ key, times }) => { for (let n = 0; n < (times ?? 1); n += 1) await page.keyboard.press(key); },
    type: ({ text }) => page.keyboard.type(text),
    click: ({ selector }) => page.click(selector),
    choose: ({ selector, value }) => page.select(selector, value),
    // What a table's filter says, once it says it of so many rows.
    until: ({ selector, text }) => page.waitForFunction(
      (selector, text) => document.querySelector(selector)?.textContent === text, {}, selector, text),
    texts: ({ selector }) => shown(selector),
    count: async ({ selector }) => (await shown(selector)).length,
    "open-all": () => page.$$eval("details", (all) => { for (const one of all) one.open = true; }),
    style: ({ selector, property }) =>
      page.$eval(selector, (one, property) => getComputedStyle(one)[property], property),
    // The smallest text that is to be seen, in pixels as they come to the screen: a drawing may be scaled.
    smallest: ({ selector }) => page.$$eval(selector, (found) => Math.min(...found
      .filter((one) => one.checkVisibility() && !["title", "desc", "option"].includes(one.localName))
      .filter((one) => [...one.childNodes].some((text) => text.nodeType === Node.TEXT_NODE && text.data.trim()))
      .map((one) => parseFloat(getComputedStyle(one).fontSize) * (one.getScreenCTM?.().a ?? 1)))),
    // By how many pixels something is wider than its frame, or the page than the window.
    overflow: ({ selector }) => page.$$eval(selector ?? "html", (found) =>
      Math.max(...found.map((one) => one.scrollWidth - one.clientWidth))),
    attribute: ({ selector, name }) => page.$eval(selector, (one, name) => one.getAttribute(name), name),
    focused: () => page.evaluate(() => {
      const at = document.activeElement;
      return `${at.localName}${at.id ? `#${at.id}` : ""}`;
    }),
    axe: async () => {
      await page.evaluate(axe);
      const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
      return found.violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) =>
        `${id}: ${html.slice(0, 200)}: ${failureSummary}`));
    },
    shot: ({ path, whole }) => path && page.screenshot({ path, fullPage: whole ?? false }).then(() => undefined),
  };
  for (const step of JSON.parse(readFileSync(0, "utf8"))) {
    const answer = await steps[step.do](step);
    if (step.as) seen.said[step.as] = answer;
  }
} finally {
  await browser.close();
}
process.stdout.write(JSON.stringify(seen));
