// Lists that the page shares with Python.

import assert from "node:assert/strict";
import { test } from "node:test";
import { BANDS, SEVERITIES, STATES, UNREAD, tellsRepeats } from "../../src/tbq/server/static/words.js";
import { tables } from "./cases.mjs";

test("states, bands, severities and seeds are Python's", () => {
  const [{ repeats, ...words }] = tables("words.json");
  assert.deepEqual(
    { states: STATES, unread: UNREAD, bands: Object.keys(BANDS), severities: Object.keys(SEVERITIES) },
    words,
  );
  for (const [name, want] of Object.entries(repeats)) assert.equal(tellsRepeats(name), want, name);
});
