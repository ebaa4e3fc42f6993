// Which runs are listed and shown, in which order: the selection that everything on the page follows.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import * as runs from "../../src/tbq/server/static/runs.js";
import * as state from "../../src/tbq/server/static/state.js";

/** A frame as the server sends it: the length of the header, the header, and columns of 64-bit floats. */
function frameOf(header, columns) {
  const places = columns.map((column, i) => ({ name: String(i), type: "f64", offset: 0, length: column.length }));
  let offset = 0;
  for (const [i, column] of columns.entries()) {
    places[i].offset = offset;
    offset += column.length * 8;
  }
  const text = new TextEncoder().encode(JSON.stringify({ ...header, columns: places }));
  const pad = (8 - ((4 + text.length) % 8)) % 8;
  const head = new Uint8Array(4 + text.length + pad).fill(32, 4);
  new DataView(head.buffer).setUint32(0, text.length + pad, true);
  head.set(text, 4);
  return new Blob([head, ...columns.map((column) => Float64Array.from(column))]);
}

const LOSS = [0.3, NaN, 0.1, 0.2];
/** @type {Record<string, (params: URLSearchParams) => any>} */
let answers = {};
globalThis.fetch = /** @type {any} */ (
  async (/** @type {string} */ url) => {
    const [path, text] = url.split("?");
    const answer = answers[path.replace("api/", "")]?.(new URLSearchParams(text));
    if (answer === undefined) return new Response(JSON.stringify({ error: "no answer" }), { status: 404 });
    return new Response(answer instanceof Blob ? answer : JSON.stringify(answer));
  }
);

const run = (id, name, more = {}) => ({
  id,
  name,
  state: "finished",
  last_step: 10 * id,
  duration: 60 * id,
  started: 1000 - id,
  last_event: 0,
  events: 1,
  bytes: 1,
  hparams: {},
  colours: [`#00000${id}`, `#f0000${id}`],
  ...more,
});
const names = (list) => list.map((each) => each.name);
/** Until it is so: answers come later, also those that a stub gives. */
async function until(check) {
  const end = performance.now() + 5000;
  while (!check()) {
    assert.ok(performance.now() < end, `not so in time: ${check}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

beforeEach(() => {
  answers = {
    metrics: (params) => {
      const wanted = JSON.parse(params.get("columns") ?? "[]");
      const metrics = wanted.map(() => ({ nan: [1] }));
      return frameOf(
        { ids: [0, 1, 2, 3], metrics },
        wanted.map(() => LOSS),
      );
    },
  };
  state.read("");
  runs.groups.value = [];
  runs.tags.value = [
    { tag: "val/loss", kinds: { scalars: 4 }, rows: 40, role: "loss", split: "evaluation", better: "lower" },
    { tag: "train/loss", kinds: { scalars: 4 }, rows: 40, role: "loss", split: "training", better: "lower" },
    { tag: "val/acc", kinds: { scalars: 4 }, rows: 40, role: "score", split: "evaluation", better: "higher" },
    { tag: "notes", kinds: { texts: 1 } },
  ];
  runs.runs.value = [
    run(0, "lr=0.1", { hparams: { lr: 0.1, name: "x" } }),
    run(1, "lr=1e-3", { hparams: { lr: 0.001, name: "x" } }),
    run(2, "lr=0.02", { hparams: { lr: 0.02, name: "x" }, last_step: "9007199254740993" }),
    run(3, "other", { last_step: null }),
  ];
  runs.version.value++;
});

test("without a choice the newest run is first, and all are shown", () => {
  assert.deepEqual(names(runs.listed.value), ["lr=0.1", "lr=1e-3", "lr=0.02", "other"]);
  assert.deepEqual(runs.shown.value, [0, 1, 2, 3]);
});

test("sorts by name, number and exact step; runs without a value are last in both directions", () => {
  const by = (key) => names(runs.sorted(runs.runs.value, key));
  assert.deepEqual(by("name"), ["lr=1e-3", "lr=0.02", "lr=0.1", "other"]);
  assert.deepEqual(by("-name"), ["other", "lr=0.1", "lr=0.02", "lr=1e-3"]);
  assert.deepEqual(by("hparam.lr"), ["lr=1e-3", "lr=0.02", "lr=0.1", "other"]);
  assert.deepEqual(by("-hparam.lr"), ["lr=0.1", "lr=0.02", "lr=1e-3", "other"]);
  assert.deepEqual(by("step"), ["lr=0.1", "lr=1e-3", "lr=0.02", "other"]);
  assert.deepEqual(by("-step"), ["lr=0.02", "lr=1e-3", "lr=0.1", "other"]);
});

test("metrics come from the server: NaN is not a gap, and sorts last", async () => {
  state.sort.value = "val/loss:last";
  await until(() => runs.isBroken(runs.runs.value[1], "val/loss:last"));
  assert.deepEqual(names(runs.listed.value), ["lr=0.02", "other", "lr=0.1", "lr=1e-3"]);
  assert.equal(runs.isBroken(runs.runs.value[0], "val/loss:last"), false);
  assert.equal(runs.cellOf(runs.runs.value[2], "val/loss:last"), 0.1);
});

test("top takes the best by what is better", async () => {
  state.top.value = "2 val/loss:min";
  await until(() => runs.listed.value.length === 2);
  assert.deepEqual(names(runs.listed.value).sort(), ["lr=0.02", "other"]);
  state.top.value = "1 val/acc:max";
  await until(() => runs.listed.value.length === 1);
  assert.deepEqual(names(runs.listed.value), ["lr=0.1"]);
});

test("hidden runs stay in the list; solo shows one run, also a hidden one", () => {
  state.hidden.value = new Set(["lr=0.1"]);
  assert.deepEqual(runs.shown.value, [1, 2, 3]);
  assert.equal(runs.listed.value.length, 4);
  state.solo.value = "lr=0.1";
  assert.deepEqual(runs.shown.value, [0]);
  state.solo.value = "gone";
  assert.deepEqual(runs.shown.value, []);
});

test("pinned runs come first, in the order of the rest", () => {
  state.sort.value = "name";
  state.pinnedRuns.value = new Set(["other", "lr=0.1"]);
  assert.deepEqual(names(runs.listed.value), ["lr=0.1", "other", "lr=1e-3", "lr=0.02"]);
});

test("one word that a name has is about names; the server is not asked", () => {
  answers.filter = () => assert.fail("asked");
  state.filter.value = "lr=0.1";
  assert.deepEqual(names(runs.listed.value), ["lr=0.1"]);
  assert.equal(runs.filterError.value + runs.filterNote.value, "");
  state.filter.value = "re:[";
  assert.match(runs.filterError.value, /Not a regular expression/);
  assert.equal(runs.listed.value.length, 4);
});

// The server, not the page, decides whether a text is a condition.
const CONDITIONS = [
  "hparam.bn = true",
  "not hparam.bn",
  "hparam.bn",
  "hparam.lr = .1",
  'isnan("x")',
  "lower(run) = 'odd'",
  "duration = 9",
  "hparam.lr is distinct from 0.1",
  "-hparam.lr<-.15",
  "run ~ 'o.*'",
  "true -- a remark",
];

test("a condition is the server's; its parser decides whether it is one", async () => {
  answers.filter = () => ({ ids: [1, 3], unknown: 0 });
  state.filter.value = "duration > 50";
  await until(() => runs.listed.value.length === 2);
  assert.deepEqual(runs.shown.value, [1, 3]);
  answers.filter = () => ({ ids: [0], unknown: 0 });
  runs.version.value++; // new values, perhaps from another server, although the runs are the same
  await until(() => runs.listed.value.length === 1);
  assert.deepEqual(runs.shown.value, [0]);
  answers.filter = () => ({ ids: [], unknown: 3 });
  state.filter.value = "duration > 500";
  await until(() => runs.listed.value.length === 0);
  assert.match(runs.filterNote.value, /true for none of 4 runs; 3 of them have no value for it\./);
  answers.filter = () => ({ ids: [2], unknown: 0 });
  for (const text of CONDITIONS) {
    state.filter.value = "";
    assert.equal(runs.listed.value.length, 4);
    state.filter.value = text;
    await until(() => runs.listed.value.length === 1);
    assert.deepEqual([runs.shown.value, runs.filterError.value, runs.filterNote.value], [[2], "", ""], text);
  }
  answers.filter = () => ({ ids: null, word: false, error: "no column x", hint: "see y", closest: [] });
  state.filter.value = "x = 1";
  await until(() => runs.listed.value.length === 0);
  assert.match(runs.filterError.value, /matches none of 4 runs. As a condition: no column x – see y/);
  answers.filter = () => ({ ids: null, word: true, closest: ["other"] });
  state.filter.value = "othre";
  await until(() => runs.filterNote.value.includes("Closest"));
  assert.match(runs.filterNote.value, /matches none of 4 runs. Closest: other\./);
  answers.filter = () => undefined;
  state.filter.value = "a b";
  await until(() => runs.filterError.value === "no answer");
});

test("groups colour their runs; runs in no group are grey", async () => {
  answers.groups = () => ({ groups: [{ name: "lr=0.1", ids: [0, 1], colours: ["#111111", "#222222"] }] });
  state.group.value = "hparam.lr";
  await until(() => runs.groups.value.length === 1);
  assert.equal(runs.banded.value, true);
  assert.equal(runs.colourOf(0), "#222222");
  assert.equal(runs.colourOf(3), "#8a8a8a");
  assert.equal(runs.groupColour("lr=0.1"), "#222222");
  state.band.value = "none";
  assert.equal(runs.banded.value, false);
  state.group.value = "";
  assert.deepEqual(runs.groups.value, []);
  assert.equal(runs.colourOf(0), "#f00000");
  answers.groups = () => undefined;
  state.group.value = "re:(";
  await until(() => runs.groupError.value === "no answer");
});

test("the usual columns fit the log: the main tag, its curve, hyperparameters that differ", () => {
  assert.equal(runs.mainTag.value, "val/loss");
  assert.deepEqual(runs.shownColumns.value, [
    "step",
    "val/loss:last",
    "spark",
    "val/acc:last",
    "duration",
    "hparam.lr",
  ]);
  state.columns.value = ["step"];
  assert.deepEqual(runs.shownColumns.value, ["step"]);
});

test("keys of columns and their labels", () => {
  assert.deepEqual(runs.metricOf("a:b:min"), { tag: "a:b", stat: "min" });
  assert.equal(runs.metricOf("a:b"), null);
  assert.deepEqual(["hparam.lr", "val/loss:last", "val/loss:min", "step"].map(runs.labelOf), [
    "lr",
    "val/loss",
    "val/loss min",
    "Step",
  ]);
  assert.deepEqual([...runs.toggled(new Set(["a"]), "b")], ["a", "b"]);
  assert.deepEqual([...runs.toggled(new Set(["a", "b"]), "b")], ["a"]);
});
