// Lists that the page shares with Python.

import assert from "node:assert/strict";
import { test } from "node:test";
import { BANDS, SEVERITIES, STATES, UNREAD } from "../../src/tbq/server/static/words.js";
import { tables } from "./cases.mjs";

test("states, bands and severities are Python's", () => {
  const [words] = tables("words.json");
  assert.deepEqual(
    { states: STATES, unread: UNREAD, bands: Object.keys(BANDS), severities: Object.keys(SEVERITIES) },
    words,
  );
});
