// The order of names, by the table that pytest reads too. TBQ_STATIC is the folder of the page's modules.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

const { natural } = await import(pathToFileURL(`${process.env.TBQ_STATIC}/order.js`).href);
const cases = JSON.parse(readFileSync(process.env.TBQ_CASES, "utf-8"));

for (const [name, list] of Object.entries(cases))
  test(name, () => {
    for (let i = 0; i < list.length; i++)
      for (let k = 0; k < list.length; k++) assert.equal(Math.sign(natural(list[i], list[k])), Math.sign(i - k), `${list[i]} and ${list[k]}`);
  });
