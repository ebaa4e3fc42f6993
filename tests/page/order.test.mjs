// The order of names.

import assert from "node:assert/strict";
import { test } from "node:test";
import { natural } from "../../src/tbq/server/static/order.js";
import { tables } from "./cases.mjs";

for (const table of tables("order.json"))
  for (const [name, list] of Object.entries(table))
    test(name, () => {
      for (let i = 0; i < list.length; i++)
        for (let k = 0; k < list.length; k++)
          assert.equal(Math.sign(natural(list[i], list[k])), Math.sign(i - k), `${list[i]} and ${list[k]}`);
    });
