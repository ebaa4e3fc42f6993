// Filters of names.

import assert from "node:assert/strict";
import { test } from "node:test";
import { exactly, matcher } from "../../src/tbq/server/static/match.js";
import { tables } from "./cases.mjs";

for (const { names, filters, wrong } of tables("filters.json")) {
  for (const [text, fitting] of Object.entries(filters))
    test(`names that fit ${JSON.stringify(text)}`, () => {
      const { test: fits, error } = matcher(text);
      assert.equal(error, "");
      assert.deepEqual(names.filter(fits), fitting);
    });
  test("unfinished expressions are errors and fit nothing", () => {
    for (const text of wrong ?? []) {
      assert.match(matcher(text).error, /^Not a regular expression/);
      assert.deepEqual(names.filter(matcher(text).test), []);
    }
  });
  test("exactly() chooses one name and no other", () => {
    for (const name of names) assert.deepEqual(names.filter(matcher(exactly(name)).test), [name]);
  });
}

test("each word has its own test, without its minus", () => {
  const { words } = matcher("val -loss");
  assert.deepEqual(
    words?.map((word) => word("train/loss")),
    [false, true],
  );
  assert.equal(matcher("re:x").words, null);
});
