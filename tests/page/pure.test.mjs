// Steps, addresses of questions, differences of texts, scales and series.

import assert from "node:assert/strict";
import { test } from "node:test";
import { address, ranges } from "../../src/tbq/server/static/api.js";
import { decode } from "../../src/tbq/server/static/frame.js";
import { scale, ticks, toPixels, toValue } from "../../src/tbq/server/static/chart/scale.js";
import { bandWithin, extent, leaving, nearest, within } from "../../src/tbq/server/static/chart/series.js";
import { difference } from "../../src/tbq/server/static/diff.js";
import { ascending, stepOf, stepsOf } from "../../src/tbq/server/static/steps.js";

test("steps are exact", () => {
  assert.equal(stepOf("5"), 5);
  assert.equal(stepOf("9007199254740993"), 9007199254740993n);
  assert.equal(stepOf("-9223372036854775808"), -9223372036854775808n);
  for (const wrong of ["", "1.5", "x", "1e3", 1.5, NaN]) assert.equal(stepOf(wrong), null, String(wrong));
  assert.deepEqual(stepsOf([3, "9007199254740993", "x"]), [3, 9007199254740993n]);
  assert.deepEqual([2n ** 60n, 5, -1].sort(ascending), [-1, 5, 2n ** 60n]);
});

test("equal questions have equal addresses", () => {
  assert.equal(
    address("curves", { tag: "a b", runs: "0-3", x: "", low: undefined, log: false, all: true }),
    "api/curves?all=1&runs=0-3&tag=a%20b",
  );
  assert.equal(address("state"), "api/state");
  assert.equal(address("x", { step: 9007199254740993n }), "api/x?step=9007199254740993");
});

test("ids are ranges", () => {
  assert.equal(ranges([]), "-");
  assert.equal(ranges([0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
});

test("a frame has its columns at their offsets", () => {
  const header = new TextEncoder().encode(
    '{"columns":[{"name":"a","type":"f64","offset":0,"length":2},{"name":"b","values":["x"]}]}   ',
  );
  const pad = (8 - ((4 + header.length) % 8)) % 8;
  const buffer = new ArrayBuffer(4 + header.length + pad + 16);
  new DataView(buffer).setUint32(0, header.length + pad, true);
  new Uint8Array(buffer, 4).fill(32, 0, header.length + pad);
  new Uint8Array(buffer, 4).set(header);
  new Float64Array(buffer, 4 + header.length + pad).set([1.5, NaN]);
  const { columns } = decode(buffer);
  assert.deepEqual([...columns.a], [1.5, NaN]);
  assert.deepEqual(columns.b, ["x"]);
});

test("differences keep, add and remove lines", () => {
  const shown = (before, after) => difference(before, after).map((line) => `${line.kind[0]} ${line.text}`);
  assert.deepEqual(shown("a\nb\nc", "a\nc\nd"), ["s a", "r b", "s c", "a d"]);
  assert.deepEqual(shown("a", "a"), ["s a"]);
  assert.deepEqual(shown("", "x"), ["r ", "a x"]);
});

test("a scale goes to pixels and back, also over the largest numbers", () => {
  for (const [low, high, log] of /** @type {[number, number, boolean][]} */ ([
    [0, 10, false],
    [1e-3, 1e6, true],
    [-Number.MAX_VALUE, Number.MAX_VALUE, false],
  ])) {
    const s = scale(low, high, log, 50, 550);
    const to = toPixels(s);
    assert.ok(Math.abs(to(low) - 50) < 1e-6 && Math.abs(to(high) - 550) < 1e-6);
    assert.ok(Math.abs(to(toValue(s, 300)) - 300) < 1e-6);
  }
});

test("ticks are inside the scale, and no two labels are alike", () => {
  for (const [low, high, log, kind] of /** @type {[number, number, boolean, string][]} */ ([
    [0, 1, false, "value"],
    [0.12345, 0.12346, false, "value"],
    [0, 123456, false, "step"],
    [1e-8, 1e3, true, "value"],
    [0, 8000, false, "relative"],
    [1.7e9, 1.7e9 + 90, false, "wall"],
    [-1e38, 1e38, false, "value"],
  ])) {
    const list = ticks(scale(low, high, log, 0, 600), 6, kind);
    const labels = list.map((each) => each.label).filter(Boolean);
    assert.ok(labels.length >= 2, `${low} to ${high}`);
    assert.equal(new Set(labels).size, labels.length, labels.join());
    assert.ok(
      list.every(({ at }) => at >= low * (1 - Math.sign(low) * 1e-9) && at <= high * (1 + Math.sign(high) * 1e-9)),
    );
  }
});

const series = (x, y) => /** @type {any} */ ({ x, first: y, last: y, min: y, max: y, lower: null, upper: null });

test("the range of y is that of the shown x, without what is not finite", () => {
  const curves = { series: [series([0, 1, 2, 3], [5, NaN, -1, Infinity]), series([0, 1, 2, 3], [1, 2, 3, 100])] };
  assert.deepEqual(extent(/** @type {any} */ (curves), 0, 2, false), [-1, 5]);
  assert.deepEqual(extent(/** @type {any} */ (curves), 0, 3, true), [1, 100]);
  assert.equal(extent(/** @type {any} */ ({ series: [series([0], [NaN])] }), 0, 1, false), null);
});

test("the drawn range is cut to the usual one, unless nothing would remain", () => {
  assert.deepEqual(within([0, 1e9], [0.5, 3]), [0.5, 3]);
  assert.deepEqual(within([1, 2], [0, 3]), [1, 2]);
  assert.deepEqual(within([1, 2], undefined), [1, 2]);
  assert.deepEqual(within([10, 20], [0, 3]), [10, 20]);
});

test("curves that leave a range are found with their first place outside and their farthest value", () => {
  const [inside, above, below] = [
    [1, 2, 1],
    [1, 5, 9],
    [1, -3, 1],
  ].map((y) => series([0, 1, 2], y));
  const found = leaving([inside, above, below], [0, 2], [0, 3], false);
  assert.deepEqual(
    found.map(({ x, value, above: up }) => [x, value, up]),
    [
      [1, 9, true],
      [1, -3, false],
    ],
  );
  assert.equal(leaving([above], [0, 0.5], [0, 3], false).length, 0);
  assert.equal(leaving([below], [0, 2], [0.1, 3], true).length, 0);
});

test("a curve that left the range has no band there", () => {
  const mean = { ...series([0, 1, 2], [1, 1e29, 2]), lower: [0.5, -1e30, 1], upper: [1.5, 1e30, 3] };
  const { lower, upper } = bandWithin(mean, [0, 4]);
  assert.deepEqual([...(lower ?? [])], [0.5, 1e29, 1]);
  assert.deepEqual([...(upper ?? [])], [1.5, 1e29, 3]);
});

test("the nearest column has a point", () => {
  const s = series([0, 10, 20, 30], [1, NaN, NaN, 4]);
  assert.deepEqual(
    [-5, 4, 14, 16, 99].map((x) => nearest(s, x)),
    [0, 0, 0, 3, 3],
  );
  assert.equal(nearest(series([0], [NaN]), 0), -1);
  assert.equal(nearest(series([], []), 0), -1);
});
