// The axes of parallel coordinates.

import assert from "node:assert/strict";
import { test } from "node:test";
import { axisOf, gap, marksOf, share, viridis } from "../../src/tbq/server/static/axes.js";
import { parsed, written } from "../../src/tbq/server/static/grouping.js";

const wide = (text) => 6 * text.length;

test("ticks are the values that occur; doublings are evenly spaced", () => {
  const axis = axisOf("hparam.batch_size", [16, 32, 64, 128, 16], false);
  const marks = marksOf(axis, wide, 60, 0.05);
  assert.deepEqual(
    marks.map(([text]) => text),
    ["16", "32", "64", "128"],
  );
  assert.deepEqual(
    marks.map(([, part]) => Math.round(part * 3 * 1e9) / 1e9),
    [0, 1, 2, 3],
  );
  assert.equal(Math.round(gap(axis) * 3 * 1e9) / 1e9, 1);
  const seeds = axisOf("hparam.seed", [1.7e9, 1.7e9 + 1], false);
  assert.equal(new Set(marksOf(seeds, wide, 60, 0.05).map(([text]) => text)).size, 2);
});

test("words are an axis, and so are words mixed with numbers", () => {
  const axis = axisOf("hparam.optimizer", ["sgd", "adam", undefined, 3], false);
  assert.deepEqual(axis.values, ["3", "adam", "sgd"]);
  assert.equal(share(axis, "adam"), 0.5);
  assert.equal(share(axis, undefined), null);
});

test("one diverged run does not set the range of a metric, and is drawn at its end", () => {
  const axis = axisOf("val/loss:last", [0.1, 0.2, 0.3, 0.25, 0.15, 0.2, 0.22, 0.18, 0.21, 1e9, NaN], true);
  assert.deepEqual([axis.low, axis.high, axis.cut], [0.1, 0.3, true]);
  assert.deepEqual([share(axis, 1e9), share(axis, 0.1), share(axis, NaN)], [1, 0, null]);
  assert.equal(axisOf("hparam.lr", [0.1, 0.2, 0.3, 0.25, 0.15, 0.2, 0.22, 0.18, 0.21, 1e9], false).cut, false);
});

test("labels that would overlap are left out", () => {
  const axis = axisOf("hparam.n", [1, 2, 3, 100], false);
  assert.deepEqual(
    marksOf({ ...axis, log: false }, wide, 60, 0.05).map(([text]) => text),
    ["1", "100"],
  );
});

test("colours go from dark to light, on either ground", () => {
  for (const dark of [true, false]) {
    const light = [0, 0.5, 1].map((part) => Number(viridis(part, dark).match(/\d+ (\d+)/)?.[1]));
    assert.ok(light[0] < light[1] && light[1] < light[2], light.join());
  }
});

test("groups by several hyperparameters are written as they are read", () => {
  for (const names of [[], ["lr"], ["lr", "batch_size"], ["a,b", "c"]]) assert.deepEqual(parsed(written(names)), names);
  assert.deepEqual(parsed("re:(lr=.*)/.*"), []);
});

test("an axis of many numbers has round labels if they fit", () => {
  const axis = { key: "val/loss", low: 0.25, high: 0.72, log: false, values: null, ticks: null };
  const marks = marksOf(/** @type {any} */ (axis), (text) => text.length, 10, 0.02);
  assert.deepEqual(
    marks.map(([text]) => text),
    ["0.3", "0.4", "0.5", "0.6", "0.7"],
  );
  for (const [text, place] of marks) assert.ok(Math.abs(place - (Number(text) - 0.25) / 0.47) < 1e-9);
  const short = marksOf(/** @type {any} */ ({ ...axis, low: 0.505, high: 0.7666 }), (text) => text.length, 10, 0.02);
  assert.deepEqual(
    short.map(([text]) => text),
    ["0.55", "0.60", "0.65", "0.70", "0.75"],
  );
  const narrow = marksOf(/** @type {any} */ (axis), (text) => text.length, 2, 0.02);
  assert.equal(narrow.length, 5);
});
