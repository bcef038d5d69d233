// Reads HCL files with HashiCorp's own parser (compiled to WebAssembly) and prints one JSON object:
// file name -> { "ok": document } or { "error": message }. File names come one a line on standard input.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const modules = process.argv[2];
const { parse } = createRequire(join(modules, "package.json"))("@cdktf/hcl2json");

const answers = {};
for (const file of readFileSync(0, "utf8").split("\n").filter(Boolean)) {
  try {
    answers[file] = { ok: await parse(file, readFileSync(file, "utf8")) };
  } catch (error) {
    answers[file] = { error: String(error) };
  }
}
process.stdout.write(JSON.stringify(answers));
