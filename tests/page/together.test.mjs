// Several tags on one chart, differences to a baseline, and where a tooltip goes.

import assert from "node:assert/strict";
import { test } from "node:test";
import { merged } from "../../src/tbq/server/static/chart/series.js";
import { delta, far } from "../../src/tbq/server/static/format.js";
import { beside, mostIn, roomAt } from "../../src/tbq/server/static/chart/readings.js";
import * as state from "../../src/tbq/server/static/state.js";
import { DASHES, join, partners, tagLabels, tagsOn } from "../../src/tbq/server/static/together.js";

test("tags are put together and taken apart, and the address holds them", () => {
  for (const other of ["train/loss", "__proto__", '"],["']) {
    state.read("");
    join("val/loss", other);
    assert.deepEqual(tagsOn("val/loss"), ["val/loss", other]);
    assert.deepEqual(tagsOn(other), [other]);
    const text = state.written();
    state.read("");
    assert.deepEqual(tagsOn("val/loss"), ["val/loss"]);
    state.read(text);
    assert.deepEqual(tagsOn("val/loss"), ["val/loss", other]);
    join("val/loss", other);
    assert.equal(state.written(), "");
  }
});

test("a wrong address puts nothing together", () => {
  for (const text of ["with=x", 'with=["a"]', 'with={"a":1}', "with=[1,2]", "with=null"]) {
    state.read(text);
    assert.deepEqual(state.joined.value, [], text);
  }
  state.read(`with=${encodeURIComponent(JSON.stringify(["a", "b", "c", "d", "e", "f"]))}`);
  assert.equal(tagsOn("a").length, DASHES.length);
  state.read("");
});

test("the baseline and the hidden columns are in the address", () => {
  state.read("baseline=lr%3D0.1%26x&differ=1");
  assert.equal(state.baseline.value, "lr=0.1&x");
  assert.equal(state.differing.value, true);
  assert.match(state.written(), /baseline=lr=0.1%26x&differ=1/);
  state.read("");
});

test("the same quantity of the other split is suggested", () => {
  const all = /** @type {any[]} */ (
    [
      ["train/loss", "training"],
      ["val/loss", "evaluation"],
      ["val/accuracy", "evaluation"],
      ["train_acc", "training"],
      ["val_acc", "evaluation"],
      ["lr", ""],
    ].map(([tag, split]) => ({ tag, split }))
  );
  assert.deepEqual(partners("train/loss", all), ["val/loss"]);
  assert.deepEqual(partners("val/loss", all), ["train/loss"]);
  assert.deepEqual(partners("val_acc", all), ["train_acc"]);
  assert.deepEqual(partners("lr", all), []);
  assert.deepEqual([...tagLabels(["train/loss", "val/loss"]).values()], ["train", "val"]);
});

const curves = (low, high, usual, n = 1) =>
  /** @type {any} */ ({ low, high, width: 9, bytes: 1, points: 5, usual, series: Array(n).fill({ x: [] }) });

test("curves of several tags share their axes", () => {
  const both = merged([
    curves(0, 10, { linear: [0, 1], log: [1, 2] }),
    curves(5, 30, { linear: [-1, 0.5], log: [1, 9] }),
    curves(-99, 99, {}, 0), // a tag without curves changes nothing
  ]);
  assert.deepEqual([both.low, both.high, both.series.length, both.points], [0, 30, 2, 10]);
  assert.deepEqual(both.usual, { linear: [-1, 1], log: [1, 9] });
});

test("differences have a sign, and values far out few characters", () => {
  assert.deepEqual([delta(1.5, 1), delta(1, 1.5), delta(1, 1), delta(NaN, 1)], ["+0.5", "-0.5", "±0", ""]);
  assert.equal(delta(1e308, -1e308), "");
  assert.deepEqual([far(191560.012), far(-7.662e15), far(12.345)], ["1.9e5", "-7.7e15", "12.3"]);
});

test("a tooltip is beside the crosshair and covers no axis, at every width", () => {
  for (const wide of [200, 300, 340, 420, 700, 1300])
    for (const high of [120, 206, 800])
      for (let share = 0; share <= 1; share += 0.05)
        for (const py of [100, 100 + high / 2, 100 + high]) {
          const area = { left: 50, top: 100, right: 50 + wide, bottom: 100 + high };
          const px = area.left + wide * share;
          const w = Math.min(260, roomAt(area, px));
          const h = 62 + 18 * mostIn(high) - 8;
          const { x, y } = beside(area, w, h, px, py);
          assert.ok(x >= area.left && x + w <= area.right + 30, `${wide}: ${x} at ${px}`);
          assert.ok(y >= area.top && y + h <= area.bottom, `${high}: ${y}`);
          assert.ok(x >= px || x + w <= px, "beside");
        }
});
