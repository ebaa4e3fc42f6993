// Patterns of names. TBQ_CASES has names, and of each pattern which of them fit by Python's fnmatch.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

const { matcher, exactly } = await import(pathToFileURL(`${process.env.TBQ_STATIC}/match.js`).href);
const { names, patterns } = JSON.parse(readFileSync(process.env.TBQ_CASES, "utf-8"));

test("patterns fit what they fit in Python", () => {
  for (const [pattern, fitting] of Object.entries(patterns)) assert.deepEqual(names.filter(matcher(pattern).test), fitting, pattern);
});

test("one name is chosen exactly", () => {
  for (const name of names) assert.deepEqual(names.filter(matcher(exactly(name)).test), [name]);
});
