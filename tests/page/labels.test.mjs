// Short labels: the table of cases that Python reads too.

import { test } from "node:test";
import assert from "node:assert/strict";
import { labels } from "../../src/tbq/server/static/labels.js";
import { tables } from "./cases.mjs";

test("labels are those of the table", () => {
  for (const cases of tables("labels.json"))
    for (const { about, names, room, labels: want } of cases) assert.deepEqual(labels(names, room), want, about);
});
