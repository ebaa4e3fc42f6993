// The runs: which are listed and which are drawn, in which order and colour.

import { signal, computed, on, batch } from "./ui.js";
import { fetchJson, fetchFrame, report } from "./api.js";
import { matcher } from "./match.js";
import { count, counted, printable } from "./format.js";
import { natural } from "./order.js";
import { labels } from "./labels.js";
import { ascending, stepOf } from "./steps.js";
import {
  filter,
  group,
  band,
  sort,
  UNSORTED,
  top,
  columns,
  hidden,
  pinnedRuns,
  solo,
  baseline,
  differing,
  dark,
} from "./state.js";

/** @typedef {import("./types.js").Run} Run */

/**
 * @type {import("./types.js").Signal<{ instance: string, version: number, title: string, runs: number, tags: number,
 * left: number, exists: boolean, waiting: boolean } | null>}
 */
export const server = signal(null);
/** @type {import("./types.js").Signal<Run[]>} */
export const runs = signal([]);
/** @type {import("./types.js").Signal<import("./types.js").Tag[]>} */
export const tags = signal([]);
export const loaded = signal(false);
export const version = signal(0); // of the data on the page; it only grows, even if the server restarts
export const byId = computed(() => new Map(runs.value.map((run) => [run.id, run])));
export const scalarTags = computed(() => tags.value.filter((tag) => tag.kinds.scalars));

/** All hyperparameters; those that differ between runs come first. */
export const hparams = computed(() => {
  /** @type {Map<string, Set<unknown>>} */
  const values = new Map();
  for (const run of runs.value)
    for (const [name, value] of Object.entries(run.hparams ?? {})) {
      if (!values.has(name)) values.set(name, new Set());
      values.get(name)?.add(value);
    }
  return [...values]
    .sort(([a, x], [b, y]) => Number(y.size > 1) - Number(x.size > 1) || natural(a, b))
    .map(([name, seen]) => ({ name, differ: seen.size > 1, values: [...seen] }));
});

// Labels of runs and groups. Those of runs are chosen among all runs: a filter changes no label.
const runNames = computed(() => runs.value.map((run) => run.name).join("\0"));
const LEGEND = 24; // letters of a name in a legend or tooltip
/** @param {string[]} names @param {number | null} room */
const labelled = (names, room) => {
  const short = labels(names, room);
  return new Map(names.map((name, i) => [name, printable(short[i])]));
};
const namesOf = () => (runNames.value ? runNames.value.split("\0") : []);
export const runLabels = computed(() => labelled(namesOf(), null)); // without what all names share
export const legendLabels = computed(() => labelled(namesOf(), LEGEND));
/** Labels of runs in so many letters. @param {import("./types.js").Signal<number>} room */
export const labelsWithin = (room) => computed(() => labelled(namesOf(), room.value));

// The filter: the page matches names; the server evaluates conditions, and its parser decides whether a text is one.

/** @type {import("./types.js").Signal<Set<number> | null>} */
const chosen = signal(null); // ids that the condition selects; null if the filter matches names
const pattern = signal(""); // the filter that currently applies to names
export const filterError = signal("");
export const filterNote = signal(""); // how the page interpreted the filter, if that needs saying
/**
 * The request that has no answer yet, and whether to repeat it afterwards.
 * @type {{ text: string, abort: AbortController, again: boolean } | null}
 */
let asking = null;
let read = ""; // the filter that the table currently applies
// A new version of the log has new values, so conditions are evaluated again.
on([filter, runs, version], (text, list) => readFilter(text.trim(), list));

/** @param {string} error @param {string} note */
function tellFilter(error, note) {
  batch(() => {
    filterError.value = error;
    filterNote.value = note;
  });
}

/** @param {string} text @param {Run[]} list */
function readFilter(text, list) {
  if (asking?.text === text) {
    asking.again = true; // after its answer: a log that grows quickly must not cancel it each time
    return;
  }
  asking?.abort.abort();
  asking = null;
  const { error, words } = matcher(text);
  const known = words?.every((word) => list.some((run) => word(run.name))) ?? false;
  // A single word that occurs in names means names, even if it is valid SQL: lr=0.1, true.
  if (!text || error || !words || (known && words.length === 1) || report !== null)
    return readAsNames(text, list, known, null);
  const turn = { text, abort: new AbortController(), again: false };
  asking = turn;
  // Until the answer arrives, the table keeps the result of the previous filter.
  if (text !== read)
    setTimeout(() => {
      if (turn === asking) tellFilter("", "Waiting for the server …");
    }, 400);
  fetchJson("filter", { where: text, maybe: true }, { signal: turn.abort.signal })
    .then(
      (answer) => {
        if (turn !== asking) return;
        if (answer.ids) readAsCondition(text, list, answer, known);
        else readAsNames(text, list, known, answer);
      },
      (/** @type {any} */ wrong) => {
        if (turn === asking) tellFilter([wrong.message, wrong.hint].filter(Boolean).join(" – "), "");
      },
    )
    .finally(() => {
      if (turn !== asking) return;
      asking = null;
      if (turn.again) readFilter(text, runs.peek());
    });
}

/**
 * @param {string} text @param {Run[]} list @param {boolean} known whether names have all words
 * @param {any} wrong what the server says of it as a condition
 */
function readAsNames(text, list, known, wrong) {
  const { test, error, words } = matcher(text);
  const some = list.some((run) => test(run.name));
  const parts = [];
  if (text && !error && list.length && !(some && (known || !words))) {
    parts.push(
      some
        ? "Read as a name pattern, which excludes nothing."
        : `Read as a name pattern, which matches none of ${counted(list.length, "run")}.`,
    );
    if (wrong?.closest?.length) parts.push(`Closest: ${wrong.closest.join(", ")}.`);
    if (wrong && !wrong.word) parts.push(`As a condition: ${wrong.error}${wrong.hint ? ` – ${wrong.hint}` : ""}`);
    if (report !== null) parts.push("Reports filter by name only; tbq serve also filters by condition.");
  }
  read = text;
  batch(() => {
    pattern.value = text;
    chosen.value = null;
    filterError.value = error || (wrong && !wrong.word ? parts.join(" ") : "");
    filterNote.value = filterError.peek() ? "" : parts.join(" ");
  });
}

/**
 * @param {string} text @param {Run[]} list @param {{ ids: number[], unknown: number }} answer @param {boolean} known
 */
function readAsCondition(text, list, answer, known) {
  const parts = [];
  if (!answer.ids.length && list.length)
    parts.push(
      `The condition is true for none of ${counted(list.length, "run")}` +
        (answer.unknown ? `; ${count(answer.unknown)} of them have no value for it.` : "."),
    );
  if (known) parts.push(`Read as a condition; to match names with these words, type ${text.replace(/^\S+/, "*$&*")}.`);
  read = text;
  batch(() => {
    chosen.value = new Set(answer.ids);
    filterError.value = "";
    filterNote.value = parts.join(" ");
  });
}

/** The runs that pass the filter. */
export const filtered = computed(() => {
  const ids = chosen.value;
  if (ids) return runs.value.filter((run) => ids.has(run.id));
  const { test, error } = matcher(pattern.value);
  return error ? runs.value : runs.value.filter((run) => test(run.name));
});

// Columns: step, duration, …, hparam.NAME, TAG:STAT.

export const STATS = ["last", "min", "max", "best", "first"];
export const FACTS = /** @type {Record<string, string>} */ ({
  state: "State",
  step: "Step",
  duration: "Duration",
  started: "Started",
  last_event: "Last event",
  events: "Events",
  bytes: "Size",
  spark: "Curve",
});

/** @param {string} key @returns {{ tag: string, stat: string } | null} */
export function metricOf(key) {
  const at = key.lastIndexOf(":");
  return at > 0 && STATS.includes(key.slice(at + 1)) ? { tag: key.slice(0, at), stat: key.slice(at + 1) } : null;
}

/** Some run has several values of this tag. @param {import("./types.js").Tag} tag */
export const hasCurve = (tag) => tag.rows > (tag.kinds.scalars ?? 0);

/** Tags with one value per run, such as a metric of add_hparams. */
export const withoutCurve = computed(
  () => new Set(scalarTags.value.filter((tag) => !hasCurve(tag)).map((each) => each.tag)),
);

/** The tag by which people most likely compare runs. */
export const mainTag = computed(() => {
  const curves = scalarTags.value.filter(hasCurve);
  const names = curves.length ? curves : scalarTags.value;
  const most = Math.max(...names.map((tag) => tag.kinds.scalars));
  const spread = names.filter((tag) => tag.kinds.scalars >= most / 2);
  for (const split of ["evaluation", null])
    for (const role of ["loss", "score"]) {
      const fits = spread.find((tag) => tag.role === role && (split === null || tag.split === split));
      if (fits) return fits.tag;
    }
  return spread[0]?.tag ?? "";
});

/** The shown columns: the user's choice, or a default that depends on the log. */
export const shownColumns = computed(() => {
  if (columns.value) return columns.value;
  const main = mainTag.value ? [`${mainTag.value}:last`] : [];
  // Names of groups need room: the metric must still be visible beside them.
  const usual = group.value ? [...main, "step"] : ["step", ...main];
  if (mainTag.value && report === null) usual.push("spark");
  const second = scalarTags.value.find(
    (tag) =>
      tag.tag !== mainTag.value &&
      hasCurve(tag) &&
      tag.split === "evaluation" &&
      (tag.role === "loss" || tag.role === "score"),
  );
  if (second) usual.push(`${second.tag}:last`);
  usual.push(
    "duration",
    ...hparams.value
      .filter((each) => each.differ)
      .slice(0, 6)
      .map((each) => `hparam.${each.name}`),
  );
  return usual;
});

/** What sorts the table: groups that the user does not sort begin with the best. */
export const sortedBy = computed(() =>
  sort.value === UNSORTED && group.value && mainTag.value
    ? `${higherIsBetter(mainTag.value) ? "-" : ""}${mainTag.value}:last`
    : sort.value,
);

/** @type {import("./types.js").Signal<Record<string, ArrayLike<number>>>} */
export const metrics = signal({}); // by column key, in the order of the runs
/** @type {import("./types.js").Signal<Map<number, number>>} */
const places = signal(new Map()); // id of a run -> its row in the columns of metrics
/**
 * Rows whose value is NaN, by column key. Other NaNs are runs without the tag.
 * @type {import("./types.js").Signal<Record<string, Set<number>>>}
 */
const broken = signal({});
const topKey = computed(() => top.value.match(/^\d+ (.+)$/)?.[1] ?? "");
const wantedMetrics = computed(() =>
  [...new Set([...shownColumns.value, sortedBy.value.replace(/^-/, ""), topKey.value])].filter(metricOf).join("\n"),
);
let metricsAsked = 0;
on([wantedMetrics, version], (text) => {
  /** @type {string[]} */
  const keys = text.split("\n").filter(Boolean);
  const list = runs.peek();
  const turn = ++metricsAsked;
  if (!keys.length || !list.length) return;
  const wanted = keys.map((key) => metricOf(key)).map((each) => [each?.tag, each?.stat]);
  fetchFrame("metrics", report === null ? { columns: JSON.stringify(wanted) } : {}).then(
    ({ header, columns: found }) => {
      if (turn !== metricsAsked) return;
      // A report has all metrics in one block, in its own order.
      const order = wanted.map(([tag, stat], i) =>
        report === null
          ? i
          : header.metrics.findIndex((/** @type {any} */ each) => each.tag === tag && each.stat === stat),
      );
      places.value = new Map(header.ids.map((/** @type {number} */ id, /** @type {number} */ i) => [id, i]));
      metrics.value = Object.fromEntries(keys.map((key, i) => [key, found[String(order[i])]]));
      broken.value = Object.fromEntries(keys.map((key, i) => [key, new Set(header.metrics[order[i]]?.nan)]));
    },
    () => undefined, // the columns stay empty
  );
});

/** The value of a column for a run. @param {Run} run @param {string} key @returns {any} */
export function cellOf(run, key) {
  if (key.startsWith("hparam."))
    return run.hparams && Object.hasOwn(run.hparams, key.slice(7)) ? run.hparams[key.slice(7)] : undefined;
  switch (key) {
    case "name":
      return run.name;
    case "state":
      return run.state;
    case "step":
      return run.last_step === null ? null : stepOf(run.last_step);
    case "duration":
    case "started":
    case "last_event":
    case "events":
    case "bytes":
      return run[key];
    case "spark":
      return null;
  }
  const place = places.value.get(run.id);
  return place === undefined ? undefined : metrics.value[key]?.[place];
}

/** @param {string} key */
export function labelOf(key) {
  if (key.startsWith("hparam.")) return key.slice(7);
  const metric = metricOf(key);
  if (metric) return metric.stat === "last" ? metric.tag : `${metric.tag} ${metric.stat}`;
  return FACTS[key] ?? key;
}

/** The metric that runs are compared by. @param {string} key */
export function rankedBy(key) {
  return metricOf(key)?.stat === "last" ? `the last ${labelOf(key)}` : labelOf(key);
}

/** @param {any} value */
const missing = (value) =>
  value === null || value === undefined || value === "" || (typeof value === "number" && Number.isNaN(value));

/** @param {any} value */
const isNumber = (value) => typeof value === "number" || typeof value === "bigint";

/** Runs sorted by a key; missing values are last in both directions. @param {Run[]} list @param {string} text */
export function sorted(list, text) {
  const down = text.startsWith("-");
  const key = down ? text.slice(1) : text;
  const keyed = list.map((run) => ({ run, value: cellOf(run, key) }));
  const order = (/** @type {any} */ a, /** @type {any} */ b) =>
    isNumber(a) && isNumber(b) ? ascending(a, b) : natural(String(a), String(b));
  const there = keyed
    .filter((each) => !missing(each.value))
    .sort((a, b) => (down ? -1 : 1) * order(a.value, b.value) || natural(a.run.name, b.run.name));
  const rest = keyed.filter((each) => missing(each.value)).sort((a, b) => natural(a.run.name, b.run.name));
  return [...there, ...rest].map((each) => each.run);
}

const higher = computed(() => new Set(scalarTags.value.filter((tag) => tag.better === "higher").map((tag) => tag.tag)));
/** @param {string} tag */
export const higherIsBetter = (tag) => higher.value.has(tag);

/** The value of a metric is NaN, not missing. @param {Run} run @param {string} key */
export function isBroken(run, key) {
  const place = places.value.get(run.id);
  return place !== undefined && Boolean(broken.value[key]?.has(place));
}

/** The runs in the table: filtered, cut to the top N, sorted, with pinned runs first. */
export const listed = computed(() => {
  let list = filtered.value;
  const [, n, key] = top.value.match(/^(\d+) (.+)$/) ?? [];
  if (n && key) {
    const tag = metricOf(key)?.tag ?? key;
    list = sorted(list, (higherIsBetter(tag) ? "-" : "") + key)
      .filter((run) => Number.isFinite(cellOf(run, key)))
      .slice(0, Number(n));
  }
  list = sorted(list, sortedBy.value);
  const pinned = pinnedRuns.value;
  const base = baseRun.value;
  // The baseline stays, even if the filter excludes it.
  const rank = (/** @type {Run} */ run) => (run === base ? 0 : pinned.has(run.name) ? 1 : 2);
  if (base && !list.includes(base)) list = [base, ...list];
  return base || pinned.size ? [0, 1, 2].flatMap((each) => list.filter((run) => rank(run) === each)) : list;
});

// The baseline: the run that the other runs are compared with, or its group if groups are drawn.

export const baseRun = computed(() => runs.value.find((run) => run.name === baseline.value));
/** @param {import("./types.js").Series} series */
export function isBase({ id, group: name }) {
  const base = baseRun.value;
  return base !== undefined && (name !== null ? name === groupOf.value.get(base.id)?.name : id === base.id);
}

/** The ids of the runs that are drawn, ascending. */
export const shown = computed(() => {
  const only = solo.value;
  if (only) return runs.value.filter((run) => run.name === only || run === baseRun.value).map((run) => run.id);
  const off = hidden.value;
  return listed.value
    .filter((run) => !off.has(run.name))
    .map((run) => run.id)
    .sort((a, b) => a - b);
});
export const shownSet = computed(() => new Set(shown.value));

/** The columns of the table: the chosen ones, or only those in which the shown runs differ. */
export const tableColumns = computed(() => {
  const list = differing.value ? shown.value.flatMap((id) => byId.value.get(id) ?? []) : [];
  if (list.length < 2) return shownColumns.value;
  return shownColumns.value.filter((key) => {
    if (key === "spark" || (metricOf(key) && !metrics.value[key])) return true;
    const [first, ...rest] = list;
    const value = cellOf(first, key);
    return rest.some((run) => !Object.is(cellOf(run, key), value));
  });
});

// Groups come from the server, so that the page, tbq plot and tbq compare agree.

/** @type {import("./types.js").Signal<import("./types.js").Group[]>} */
export const groups = signal([]);
export const groupError = signal("");
let groupsAsked = 0;
on([group, version], (by) => {
  const turn = ++groupsAsked;
  groupError.value = "";
  if (!by) {
    groups.value = [];
    return;
  }
  fetchJson("groups", { by }).then(
    (answer) => {
      if (turn === groupsAsked) groups.value = answer.groups;
    },
    (error) => {
      if (turn !== groupsAsked) return;
      groupError.value = error.message;
      groups.value = [];
    },
  );
});
const groupNames = computed(() => groups.value.map((each) => each.name).join("\0"));
const namesOfGroups = () => (groupNames.value ? groupNames.value.split("\0") : []);
const groupLegend = computed(() => labelled(namesOfGroups(), LEGEND + 8));
/** Labels of groups in so many letters. @param {import("./types.js").Signal<number>} room */
export const groupLabelsWithin = (room) => computed(() => labelled(namesOfGroups(), room.value));
/** The name of a curve in a legend or tooltip. @param {import("./types.js").Series} series */
export const legendOf = (series) =>
  series.group !== null
    ? (groupLegend.value.get(series.group) ?? series.group)
    : (legendLabels.value.get(byId.value.get(/** @type {number} */ (series.id))?.name ?? "") ?? "");
export const groupOf = computed(() => {
  /** @type {Map<number, import("./types.js").Group>} */
  const map = new Map();
  for (const each of groups.value) for (const id of each.ids) map.set(id, each);
  return map;
});
/** Whether groups are drawn as means with bands instead of run by run. */
export const banded = computed(() => group.value !== "" && band.value !== "none" && groups.value.length > 0);

/** The colour of a run in the current theme. @param {number} id */
export function colourOf(id) {
  const side = dark.value ? 0 : 1;
  const colours =
    groupOf.value.get(id)?.colours ??
    (group.value && groups.value.length ? ["#8a8a8a", "#8a8a8a"] : byId.value.get(id)?.colours);
  return colours?.[side] ?? "#8a8a8a";
}
/** @param {string} name */
export function groupColour(name) {
  return groups.value.find((each) => each.name === name)?.colours[dark.value ? 0 : 1] ?? "#8a8a8a";
}

/** For each group, how many groups before it have its colour: dashes tell them apart. */
const rounds = computed(() => {
  /** @type {Map<string, number>} */
  const uses = new Map();
  return new Map(
    groups.value.map(({ name, colours }) => {
      const round = uses.get(colours[1]) ?? 0;
      uses.set(colours[1], round + 1);
      return [name, round];
    }),
  );
});
/** How many groups before that of a curve have its colour. @param {import("./types.js").Series} series */
export const roundOf = (series) =>
  rounds.value.get(series.group ?? groupOf.value.get(/** @type {number} */ (series.id))?.name ?? "") ?? 0;
/** @param {string} name */
export const roundOfGroup = (name) => rounds.value.get(name) ?? 0;

// The run or group under the mouse, highlighted in the table and in every chart.
/** @type {import("./types.js").Signal<number | null>} */
export const hot = signal(null);
/** @type {import("./types.js").Signal<string | null>} */
export const hotGroup = signal(null);
export const isReport = report !== null;

/** @param {Set<string>} set @param {string} item */
export function toggled(set, item) {
  const copy = new Set(set);
  if (!copy.delete(item)) copy.add(item);
  return copy;
}
