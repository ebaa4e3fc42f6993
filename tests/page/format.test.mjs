// Numbers as text.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as format from "../../src/tbq/server/static/format.js";
import { tables } from "./cases.mjs";

const { cell, count, number, numberTo, onPoint, printable, time } = format;
const NAMED = /** @type {Record<string, number>} */ ({ nan: NaN, inf: Infinity, "-inf": -Infinity });
const RULES = /** @type {Record<string, (value: number) => string>} */ ({
  number,
  "number with two digits": (value) => number(value, 2),
  "number with twelve digits": (value) => number(value, 12),
  compact: (value) => format.compact(value),
  sized: format.sized,
  duration: format.duration,
  counted: (value) => format.counted(value, "run"),
});

for (const table of tables("numbers.json"))
  for (const [rule, cases] of Object.entries(table))
    test(rule, () => {
      for (const [value, text] of cases) assert.equal(RULES[rule](NAMED[value] ?? value), text, `${rule} of ${value}`);
    });

test("a column keeps its zeros", () => {
  assert.equal(number(0.5, 4, false), "0.5000");
  assert.equal(number(1000, 4, false), "1,000");
});

test("a value has the digits that tell it from its neighbour", () => {
  assert.equal(numberTo(0.123456, 0.001), "0.1235");
  assert.equal(numberTo(0.123456, 0.00001), "0.123456");
  assert.equal(numberTo(1234567, 1), "1,234,567");
  assert.equal(numberTo(0, 1), "0");
  assert.equal(numberTo(1, 0), "1");
});

test("texts align on the point", () => {
  const align = onPoint(["1.25", "10", "1e-07"]);
  assert.equal(align("1.25"), "1.25");
  assert.equal(align("10"), "10\u2008\u2007\u2007");
  assert.equal(align("0.5"), "0.5\u2007");
  assert.equal(align("1e-07"), "1e-07");
});

test("counts are exact at any size", () => {
  assert.equal(count(1234567), "1,234,567");
  assert.equal(count(-1234), "-1,234");
  assert.equal(count(9223372036854775807n), "9,223,372,036,854,775,807");
  assert.equal(count(1e21), "1e+21");
});

test("cells show what is there", () => {
  assert.deepEqual([null, undefined, 0.5, true, "adam"].map(cell), ["", "", "0.5", "true", "adam"]);
});

test("signs that cannot be seen, or turn names around, are marked", () => {
  const names = ["a\u202egnp.exe", "\u200b", "\x1b[31m", "two\nlines", "naïve 😀 می\u200cخواهم"];
  const shown = ["a\ufffdgnp.exe", "\ufffd", "\ufffd[31m", "two\ufffdlines", names[4]];
  assert.deepEqual(names.map(printable), shown);
});

test("times are local", () => {
  const date = new Date(2024, 1, 3, 4, 5, 6);
  assert.equal(time(date.getTime() / 1000), "2024-02-03 04:05:06");
  assert.deepEqual([NaN, Infinity, 1e300].map(time), ["", "", ""]);
});
