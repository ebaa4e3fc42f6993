// Choices and the address that holds them.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import * as state from "../../src/tbq/server/static/state.js";

beforeEach(() => state.read(""));

test("an untouched page has an empty address", () => {
  assert.equal(state.written(), "");
});

test("an address is readable, and reads back as what it says", () => {
  state.tab.value = "sql";
  state.filter.value = '"val/loss" < 0.3 & x=1#+%';
  state.columns.value = ["step", "val/loss:min"];
  state.hidden.value = new Set(["a b", "ü/1"]);
  state.zoom.value = [0.1 + 0.2, 1e21];
  state.smooth.value = 0.6;
  state.wide.value = true;
  state.logs.value = new Set(["train/loss"]);
  state.mediaStep.value = 9007199254740993n;
  const text = state.written();
  assert.match(text, /^tab=sql&filter=%22val\/loss%22\+%3C\+0\.3\+%26\+x=1%23%2B%25&/);
  state.read("");
  assert.equal(state.tab.value, "curves");
  assert.equal(state.hidden.value.size, 0);
  state.read(text);
  assert.equal(state.filter.value, '"val/loss" < 0.3 & x=1#+%');
  assert.deepEqual(state.columns.value, ["step", "val/loss:min"]);
  assert.deepEqual([...state.hidden.value], ["a b", "ü/1"]);
  assert.deepEqual(state.zoom.value, [0.1 + 0.2, 1e21]);
  assert.equal(state.smooth.value, 0.6);
  assert.equal(state.wide.value, true);
  assert.deepEqual([...state.logs.value], ["train/loss"]);
  assert.equal(state.mediaStep.value, 9007199254740993n);
  assert.equal(state.written(), text);
});

test("a zoom holds every finite range of numbers exactly", () => {
  for (const range of [
    [-1.5, 2],
    [Number.MIN_VALUE, Number.MAX_VALUE],
    [1700000000.123456, 1700000000.1234565],
    [-0.1, 0.30000000000000004],
  ]) {
    state.zoom.value = /** @type {[number, number]} */ (range);
    const text = state.written();
    state.read("");
    state.read(text);
    assert.deepEqual(state.zoom.value, range);
  }
});

test("an address that was cut short, or made by hand, is read as far as it means something", () => {
  for (const text of ["zoom=", "zoom=1", "zoom=1..", "zoom=2..1", "zoom=a..b", "zoom=1..2..3", "zoom=1..Infinity"]) {
    state.read(text);
    assert.equal(state.zoom.value, null, text);
  }
  for (const [text, level] of Object.entries({ "smooth=": 0, "smooth=x": 0, "smooth=7": 1, "smooth=-1": 0 })) {
    state.read(text);
    assert.equal(state.smooth.value, level, text);
  }
  for (const text of ["at=", "at=1.5", "at=x"]) {
    state.read(text);
    assert.equal(state.mediaStep.value, null, text);
  }
  state.read("unknown=1&%E0%A4%A&tab=media");
  assert.equal(state.tab.value, "media");
});

test("a signal keeps its object while the address says the same", () => {
  state.read("hide=a&hide=b");
  const before = state.hidden.value;
  state.read("hide=a&hide=b&tab=sql");
  assert.equal(state.hidden.value, before);
});

test("a report's smoothing is what an address without one means", () => {
  state.smoothAs(0.6);
  assert.equal(state.smooth.value, 0.6);
  assert.equal(state.written(), "");
  state.smooth.value = 0;
  assert.equal(state.written(), "smooth=0");
  state.smoothAs(0);
});

test("clamp takes what is not a number as the lower end", () => {
  assert.deepEqual(
    [-1, 0.5, 2, NaN].map((value) => state.clamp(value, 0, 1)),
    [0, 0.5, 1, 0],
  );
});
