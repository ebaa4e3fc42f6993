// Tables of cases that pytest reads too: those of tests/fixtures/rules, and random ones that pytest made from Python's
// rules, in the folder TBQ_CASES.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const RULES = fileURLToPath(new URL("../fixtures/rules", import.meta.url));

/** @param {string} name @returns {any[]} */
export function tables(name) {
  const folders = [RULES, process.env.TBQ_CASES].filter(Boolean);
  const paths = folders.map((folder) => join(String(folder), name)).filter(existsSync);
  return paths.map((path) => JSON.parse(readFileSync(path, "utf-8")));
}
