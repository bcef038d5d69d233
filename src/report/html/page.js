"use strict";
// Filters, sorts and switches between light and dark. Everything is on the page without it.
(() => {
  const root = document.documentElement;

  // Theme: as the system says, light or dark; kept where the browser lets a file keep something.
  const themes = ["auto", "light", "dark"];
  const button = document.getElementById("theme");
  const keep = (name) => { try { localStorage.setItem("lockshift-theme", name); } catch { /* not allowed here */ } };
  const kept = () => { try { return localStorage.getItem("lockshift-theme"); } catch { return null; } };
  const show = (name) => {
    if (name === "auto") delete root.dataset.theme; else root.dataset.theme = name;
    button.textContent = `Theme: ${name}`;
    button.value = name;
  };
  button.hidden = false;
  show(themes.includes(kept()) ? kept() : "auto");
  button.addEventListener("click", () => {
    const next = themes[(themes.indexOf(button.value) + 1) % themes.length];
    show(next);
    keep(next);
  });

  // Filters: a row is shown when it has every chosen value and every word of the text.
  for (const form of document.querySelectorAll("form.filter")) {
    const table = document.getElementById(form.dataset.table);
    const rows = [...table.tBodies[0].rows];
    const text = form.querySelector("input");
    const selects = [...form.querySelectorAll("select")];
    const said = form.querySelector("output");
    let texts = null;
    const apply = () => {
      texts ??= rows.map((row) => row.textContent.toLowerCase());
      const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
      const wanted = selects.filter((one) => one.value).map((one) => [one.dataset.key, one.value.slice(1)]);
      let shown = 0;
      rows.forEach((row, n) => {
        const fits = words.every((word) => texts[n].includes(word)) &&
          wanted.every(([key, value]) => row.dataset[key].split(" ").includes(value));
        if (row.hidden === fits) row.hidden = !fits;
        if (fits) shown += 1;
      });
      said.textContent = `${shown} of ${rows.length}`;
    };
    let timer = 0;
    text.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(apply, rows.length > 500 ? 120 : 0); });
    for (const one of selects) one.addEventListener("change", apply);
    form.addEventListener("reset", () => setTimeout(apply, 0));
    form.addEventListener("submit", (event) => { event.preventDefault(); apply(); });
    form.hidden = false;
  }

  // Sorting: each header of a long table becomes a button.
  const severities = ["critical", "high", "medium", "low", "info"];
  const valueOf = (row, column, number) => {
    const said = (row.cells[column]?.textContent ?? "").trim();
    if (!number) {
      const rank = severities.indexOf(said);
      return rank < 0 ? said.toLowerCase() : rank;
    }
    const value = parseFloat(said);
    return Number.isNaN(value) ? -1 : value;
  };
  for (const table of document.querySelectorAll("table.rows")) {
    const heads = [...table.tHead.rows[0].cells];
    if (table.tBodies[0].rows.length < 2) continue;
    heads.forEach((head, column) => {
      if ("drawn" in head.dataset) return;
      const sort = document.createElement("button");
      sort.type = "button";
      sort.textContent = head.textContent;
      head.replaceChildren(sort);
      sort.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const number = "number" in head.dataset;
        const body = table.tBodies[0];
        const keyed = [...body.rows].map((row, n) => [valueOf(row, column, number), n, row]);
        keyed.sort(([a, m], [b, n]) => (a < b ? -1 : a > b ? 1 : m - n) * (up ? 1 : -1));
        body.append(...keyed.map(([, , row]) => row));
      });
    });
  }

  // A link to a rule's page opens it, in browsers that do not by themselves.
  const open = () => {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    const page = target && target.closest("details");
    if (page && !page.open) { page.open = true; target.scrollIntoView(); }
  };
  addEventListener("hashchange", open);
  open();
  // On paper nothing can be opened.
  const opened = [];
  addEventListener("beforeprint", () => {
    for (const one of document.querySelectorAll("details:not(.page):not([open])")) { one.open = true; opened.push(one); }
  });
  addEventListener("afterprint", () => { for (const one of opened.splice(0)) one.open = false; });
})();
