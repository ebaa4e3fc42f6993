// The table of runs. It renders only the visible rows and columns.

import { html, signal, computed, on, useEffect, useRef } from "./ui.js";
import {
  listed,
  groups,
  hparams,
  groupOf,
  shownSet,
  tableColumns,
  cellOf,
  labelOf,
  metricOf,
  isBroken,
  runLabels,
  labelsWithin,
  groupLabelsWithin,
  colourOf,
  roundOfGroup,
  baseRun,
  isReport,
  hot,
  hotGroup,
  toggled,
  loaded,
  runs,
  server,
  sortedBy,
} from "./runs.js";
import { baseline, sort, solo, pinnedRuns, group, wide, filter, nameWidth as dragged, hidden as off } from "./state.js";
import { cell, count, counted, delta, duration, far, number, sized, time } from "./format.js";
import { Empty, Icon } from "./menu.js";
import { Spark } from "./spark.js";
import { STATES, UNREAD } from "./words.js";
import { usual } from "./axes.js";
import { lettersWithin, widthOfNames } from "./widths.js";

/** @typedef {import("./types.js").Run} Run */
/**
 * @typedef {{ kind: "run", run: Run, depth: number } | { kind: "group", name: string, ids: Run[], open: boolean,
 * colours: [string, string] | null }} Row
 */

export const ROW = 28;

/** @type {import("./types.js").Signal<Set<string>>} */
export const closed = signal(new Set()); // groups whose runs are folded away
export const cursor = signal(-1);

/** The rows: runs, below their groups if there are any. */
export const rows = computed(() => {
  /** @type {Row[]} */
  const list = [];
  if (!group.value || !groups.value.length) {
    for (const run of listed.value) list.push({ kind: "run", run, depth: 0 });
    return list;
  }
  /** @type {Map<string, Run[]>} */
  const members = new Map(groups.value.map((each) => [each.name, []]));
  /** @type {Run[]} */
  const rest = [];
  for (const run of listed.value) (members.get(groupOf.value.get(run.id)?.name ?? "\0") ?? rest).push(run);
  const add = (
    /** @type {string} */ name,
    /** @type {Run[]} */ ids,
    /** @type {[string, string] | null} */ colours,
  ) => {
    if (!ids.length) return;
    const open = !closed.value.has(name);
    list.push({ kind: "group", name, ids, open, colours });
    if (open) for (const run of ids) list.push({ kind: "run", run, depth: 1 });
  };
  for (const each of inOrder(groups.value, members)) add(each.name, members.get(each.name) ?? [], each.colours);
  add(OUTSIDE, rest, null);
  return list;
});

/** Groups in the order of their means, if the table is sorted by a metric; those without a value come last.
 * @param {import("./types.js").Group[]} all @param {Map<string, Run[]>} members */
function inOrder(all, members) {
  const key = sortedBy.value.replace(/^-/, "");
  if (!metricOf(key)) return all;
  const way = sortedBy.value.startsWith("-") ? -1 : 1;
  const means = new Map(all.map((each) => [each.name, meanOf(members.get(each.name) ?? [], key)?.mean ?? null]));
  return [...all].sort((a, b) => {
    const [x, y] = [means.get(a.name) ?? null, means.get(b.name) ?? null];
    return x === null || y === null ? Number(x === null) - Number(y === null) : way * (x - y);
  });
}

/** The mean of a column over the runs that have a finite value. @param {Run[]} list @param {string} key */
function meanOf(list, key) {
  const values = list.map((run) => cellOf(run, key)).filter((v) => typeof v === "number" && Number.isFinite(v));
  return values.length ? { mean: values.reduce((a, b) => a + b, 0) / values.length, n: values.length } : null;
}

/** The value of a column, if all of the runs have the same. @param {Run[]} list @param {string} key */
function common([first, ...rest], key) {
  const value = cellOf(first, key);
  return rest.every((run) => Object.is(cellOf(run, key), value)) ? value : undefined;
}

const OUTSIDE = "in no group";
const FAR = 20; // times the distance between the quartiles
/** The limits of each column: a run with a value outside, far from the quartiles, diverged. */
const limits = computed(
  () =>
    new Map(
      tableColumns.value.filter(metricOf).map((key) => {
        const values = runs.value.map((run) => cellOf(run, key)).filter(Number.isFinite);
        return [key, values.length ? usual(Float64Array.from(values).sort(), FAR) : [-Infinity, Infinity]];
      }),
    ),
);
/** Whether the run's value is far from those of the other runs. @param {Run} run @param {string} key */
function isFar(run, key) {
  const [low, high] = limits.value.get(key) ?? [-Infinity, Infinity];
  const value = cellOf(run, key);
  return value < low || value > high;
}

/** The listed runs in the group of the baseline. */
const baseMembers = computed(() => {
  const base = baseRun.value;
  const name = base && groupOf.value.get(base.id)?.name;
  return listed.value.filter((run) => name !== undefined && groupOf.value.get(run.id)?.name === name);
});

/** Identifies a row's run or group, independent of its position. @param {Row | undefined} row */
const identity = (row) => (row === undefined ? "" : row.kind === "run" ? `run ${row.run.id}` : `group ${row.name}`);

// The cursor belongs to a run or a group: it moves with it when runs come, go, or are sorted differently.
let held = "";
on([cursor], (at) => {
  held = identity(rows.peek()[at]);
});
on([rows], (list) => {
  const at = cursor.peek();
  if (!held || identity(list[at]) === held) return;
  const place = list.findIndex((/** @type {Row} */ row) => identity(row) === held);
  cursor.value = place;
});

/** @param {string} key */
function widthOf(key) {
  if (key === "spark") return 76;
  if (key === "step") return Math.max(76, longestStep.value * 7.6 + 20);
  if (key === "state") return 88;
  if (key === "started" || key === "last_event") return 136;
  if (metricOf(key)) return Math.min(140, Math.max(94, labelOf(key).length * 7 + 24)) + (baseRun.value ? 56 : 0);
  return Math.min(160, Math.max(76, labelOf(key).length * 7 + 28));
}

/** A value as its column shows it. @param {string} key @param {any} value */
export function shownAs(key, value) {
  if (value === null || value === undefined) return "";
  if (key === "duration") return duration(value);
  if (key === "started" || key === "last_event") return time(value).slice(0, 16);
  if (key === "step" || key === "events") return count(value);
  if (key === "bytes") return sized(value);
  if (metricOf(key)) return Number.isNaN(value) ? "" : number(value, 4, false);
  return cell(value);
}

/** Show or hide runs. @param {Run[]} list @param {boolean} visible */
export function show(list, visible) {
  const names = new Set(off.value);
  for (const run of list)
    if (visible) names.delete(run.name);
    else names.add(run.name);
  off.value = names;
  if (solo.value) solo.value = "";
}

/** @param {Run} run */
export const toggle = (run) => show([run], !shownSet.value.has(run.id));
/** @param {Run} run */
export const compareTo = (run) => (baseline.value = baseline.value === run.name ? "" : run.name);
/** @param {Run} run */
export const soloRun = (run) => (solo.value = solo.value === run.name ? "" : run.name);

const longestStep = computed(() =>
  listed.value.reduce((most, run) => Math.max(most, shownAs("step", cellOf(run, "step")).length), 0),
);
const LETTER = 7.6; // pixels of a letter, if names do not fit and are shortened
const ASIDE = 62; // pixels of a row beside its name: box, state and gaps
const BOLD = 8.3;
const GROUP_ASIDE = 96; // also the fold and the number of runs
const DEEP = 17; // pixels by which a run is indented below its group
const NARROWEST = 96;
const FLAGS = 20; // pixels for the mark of a baseline or a pinned run
const aside = computed(() => ASIDE + (baseRun.value || pinnedRuns.value.size ? FLAGS : 0));
const names = computed(() => listed.value.map((run) => runLabels.value.get(run.name) ?? run.name));
const namesWidth = computed(() => Math.max(61, widthOfNames(names.value, LETTER, 400)));
const groupNames = computed(() => {
  if (!group.value) return [];
  const outside = runs.value.some((run) => !groupOf.value.has(run.id));
  return [...groups.value.map((each) => each.name), ...(outside ? [OUTSIDE] : [])];
});
const groupNamesWidth = computed(() => widthOfNames(groupNames.value, BOLD, 600));
const beside = computed(() => aside.value + (group.value ? DEEP : 0));
const content = computed(() =>
  Math.max(namesWidth.value + beside.value, groupNames.value.length ? groupNamesWidth.value + GROUP_ASIDE : 0),
);
const nameRoom = signal(20); // letters
const shortNames = labelsWithin(nameRoom);
const groupRoom = signal(20);
const shortGroups = groupLabelsWithin(groupRoom);
const scrolled = signal({ top: 0, left: 0, height: 600, width: 400 });

const PRINTED = 1000; // rows of a printed report
const printing = signal(false);

export function RunsTable() {
  useEffect(() => {
    if (!isReport) return undefined;
    const turn = (/** @type {Event} */ { type }) => (printing.value = type === "beforeprint");
    addEventListener("beforeprint", turn);
    addEventListener("afterprint", turn);
    return () => {
      removeEventListener("beforeprint", turn);
      removeEventListener("afterprint", turn);
    };
  }, []);
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    const node = /** @type {HTMLElement} */ (box.current);
    if (!node) return undefined;
    const measure = () =>
      (scrolled.value = {
        top: node.scrollTop,
        left: node.scrollLeft,
        height: node.clientHeight,
        width: node.clientWidth,
      });
    measure();
    const sized = new ResizeObserver(measure);
    sized.observe(node);
    node.addEventListener("scroll", measure, { passive: true });
    return () => {
      sized.disconnect();
      node.removeEventListener("scroll", measure);
    };
  }, []);
  const list = rows.value;
  const keys = tableColumns.value;
  const { top, left, height, width } = scrolled.value;
  // The columns up to the curve fit left of the divider; names that need the room of the curve get it, and longer
  // ones are shortened.
  const curve = keys.indexOf("spark");
  const leftOver = (/** @type {number} */ end) => {
    const first = keys.slice(0, Math.max(end, 0)).reduce((sum, key) => sum + widthOf(key), 0);
    return first && width - first >= 180 ? width - first : width * 0.6;
  };
  const fitting = leftOver(content.value > leftOver(curve + 1) ? curve : curve + 1);
  // Names of groups that cannot be told apart are worse than a column behind the divider.
  const room = wide.value ? 420 : groupNamesWidth.value + GROUP_ASIDE > fitting ? width * 0.7 : fitting;
  const usual = Math.ceil(Math.max(148, Math.min(content.value, room)));
  const nameWidth = dragged.value ? Math.min(dragged.value, Math.max(width - 40, NARROWEST)) : usual;
  useEffect(() => {
    nameRoom.value = lettersWithin(names.value, nameWidth - beside.value, LETTER, 400);
    groupRoom.value = lettersWithin(groupNames.value, nameWidth - GROUP_ASIDE, BOLD, 600);
  }, [nameWidth, names.value, groupNames.value, beside.value]);
  let x = nameWidth;
  const places = keys.map((key) => {
    const at = { key, left: x, width: widthOf(key) };
    x += at.width;
    return at;
  });
  const total = Math.max(x, width);
  // Eight more rows above and below, so that quick scrolling shows no blank rows.
  const begin = printing.value ? 0 : Math.max(0, Math.floor(top / ROW) - 8);
  const end = Math.min(list.length, printing.value ? PRINTED : Math.ceil((top + height) / ROW) + 8);
  const seen = places.filter((each) => each.left + each.width > left && each.left < left + width + 50);
  const leave = () => {
    hot.value = null;
    hotGroup.value = null;
  };
  const active = cursor.value >= 0 && cursor.value < list.length ? `row-${cursor.value}` : undefined;
  return html`<div
    class="table" ref=${box} role=${group.value ? "treegrid" : "grid"} tabindex="0" id="runs" aria-label="Runs"
    aria-rowcount=${list.length + 1} aria-colcount=${keys.length + 1}
    aria-activedescendant=${active && cursor.value >= begin && cursor.value < end ? active : undefined}
    onMouseLeave=${leave}
  >
    <div class="table-size" style=${{ width: `${total}px`, height: `${(list.length + 1) * ROW}px` }}>
      <div class="row head" role="row" aria-rowindex="1" style=${{ width: `${total}px` }}>
        <${Head} id="name" label=${`Run`} style=${{ width: `${nameWidth}px` }} sticky>
          <${NameHandle} width=${nameWidth} />
        <//>
        ${seen.map(
          (each) => html`<${Head}
            key=${each.key} id=${each.key} label=${labelOf(each.key)}
            style=${{ left: `${each.left}px`, width: `${each.width}px` }}
          />`,
        )}
      </div>
      ${
        /* Keys are positions, not runs: sorting then changes texts and creates no elements. */ list
          .slice(begin, end)
          .map(
            (row, i) => html`<${TableRow}
            key=${begin + i} row=${row} index=${begin + i} places=${seen} nameWidth=${nameWidth} total=${total}
          />`,
          )
      }
    </div>
    ${
      printing.value &&
      end < list.length &&
      html`<p class="dim">${counted(list.length - end, "more row")} not printed.</p>`
    }
    ${active && html`<${WholeName} row=${list[cursor.value]} index=${cursor.value} left=${left} />`}
    ${!list.length && html`<div class="table-empty"><${Nothing} /></div>`}
  </div>`;
}

/** Widens the column of names; a double click gives it the width of its content. @param {{ width: number }} props */
function NameHandle({ width }) {
  const set = (/** @type {number} */ pixels) => (dragged.value = Math.max(NARROWEST, Math.round(pixels)));
  const press = (/** @type {PointerEvent} */ event) => {
    event.preventDefault();
    const node = /** @type {HTMLElement} */ (event.currentTarget);
    node.setPointerCapture(event.pointerId);
    const begin = event.clientX - width;
    const move = (/** @type {PointerEvent} */ e) => set(e.clientX - begin);
    node.addEventListener("pointermove", move);
    node.addEventListener("pointerup", () => node.removeEventListener("pointermove", move), { once: true });
  };
  const key = (/** @type {KeyboardEvent} */ event) => {
    const by = { ArrowLeft: -16, ArrowRight: 16 }[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    set(width + by);
  };
  const fit = () => (dragged.value = content.value);
  return html`<span
    class="name-handle" role="separator" tabindex="0" aria-orientation="vertical" aria-valuenow=${width}
    aria-label="Width of the names" title="Drag to widen; double click: as wide as the names"
    onPointerDown=${press} onKeyDown=${key} onDblClick=${fit}
  ></span>`;
}

/** The name of the row at the cursor, if the row shows a label.
 * @param {{ row: Row, index: number, left: number }} props */
function WholeName({ row, index, left }) {
  const name = row.kind === "run" ? row.run.name : row.name;
  const label = (row.kind === "run" ? shortNames : shortGroups).value.get(name) ?? name;
  if (label === name) return null;
  return html`<div class="whole-name" style=${{ top: `${(index + 2) * ROW - 1}px`, left: `${left + 12}px` }}>
    ${name}
  </div>`;
}

function Nothing() {
  if (!loaded.value)
    return html`<div class="skeleton" aria-label="Loading">
      ${Array.from({ length: 12 }, (_, i) => html`<span key=${i}></span>`)}
    </div>`;
  if (!runs.value.length)
    return html`<${Empty} title="No runs yet">
      Waiting for event files${server.value?.title ? ` in ${server.value.title}` : ""}.
    <//>`;
  return html`<${Empty} title="No run matches the filter">
    ${counted(runs.value.length, "run")} hidden.${" "}
    <button type="button" class="link" onClick=${() => (filter.value = "")}>Clear the filter</button>
  <//>`;
}

/** @param {any} props */
function Head({ id, label, style, sticky = false, children = null }) {
  const key = sortedBy.value.replace(/^-/, "");
  const down = sortedBy.value.startsWith("-");
  const isSorted = key === id;
  const click = () => {
    if (id === "spark") return;
    // The first click sorts ascending, the next one descending.
    sort.value = isSorted ? (down ? id : `-${id}`) : id;
  };
  const words =
    id.startsWith("hparam.") &&
    hparams.value.find((each) => each.name === id.slice(7))?.values.some((value) => typeof value === "string");
  const text = id === "name" || words ? "" : "num";
  return html`<div
    role="columnheader" class=${`cell ${sticky ? "name" : ""} ${text}`} style=${style}
    aria-sort=${isSorted ? (down ? "descending" : "ascending") : "none"}
  >
    <button
      type="button" tabindex="-1" class="head-button" title=${id === "spark" ? label : `Sort by ${label}`}
      onClick=${click}
    >
      <span class="head-label">${label}</span>
      ${isSorted && html`<span class="head-arrow" aria-hidden="true">${down ? "↓" : "↑"}</span>`}
    </button>
    ${children}
  </div>`;
}

/** @param {any} props */
function TableRow({ row, index, places, nameWidth, total }) {
  const style = { top: `${(index + 1) * ROW}px`, width: `${total}px` };
  if (row.kind === "group")
    return html`<${GroupRow} row=${row} index=${index} places=${places} nameWidth=${nameWidth} style=${style} />`;
  const run = /** @type {Run} */ (row.run);
  const on = shownSet.value.has(run.id);
  const names = ["row"];
  if (!on) names.push("off");
  if (cursor.value === index) names.push("cursor");
  if (hot.value === run.id) names.push("hot");
  const tint = colourOf(run.id);
  const label = shortNames.value.get(run.name) ?? run.name;
  return html`<div
    class=${names.join(" ")} role="row" id=${`row-${index}`} aria-rowindex=${index + 2} aria-selected=${on}
    style=${style} data-run=${run.name} onMouseEnter=${() => (hot.value = on ? run.id : null)}
    onClick=${() => (cursor.value = index)}
  >
    <div role="gridcell" class=${`cell name ${row.depth ? "deep" : ""}`} style=${{ width: `${nameWidth}px` }}>
      <button
        type="button" tabindex="-1" class="toggle" aria-label=${`${on ? "Hide" : "Show"} ${run.name}`}
        title=${on ? "Hide (alt-click: only this)" : "Show (alt-click: only this)"}
        onClick=${(/** @type {MouseEvent} */ e) => (e.altKey ? soloRun(run) : toggle(run))}
      >
        <span class="box" style=${on ? { background: tint, borderColor: tint } : { borderColor: tint }}></span>
      </button>
      <span class=${`state ${run.state ?? ""}`} title=${run.state ?? "not read yet"}>
        ${STATES[run.state] ?? UNREAD}
        <span class="sr">${run.state}</span>
      </span>
      <span class="run-name" title=${run.name}>${label}</span>
      ${label !== run.name && html`<span class="sr">${run.name}</span>`}
      ${
        baseline.value === run.name &&
        html`<span class="pinned" title="Baseline"><${Icon} name="flag" /><span class="sr">Baseline</span></span>`
      }
      ${pinnedRuns.value.has(run.name) && html`<span class="pinned" title="Pinned"><${Icon} name="pin" /></span>`}
      <span class="row-tools">
        <button
          type="button" tabindex="-1" class="icon-button small" aria-label=${`Show only ${run.name}`}
          title="Show only this (s)" aria-pressed=${solo.value === run.name} onClick=${() => soloRun(run)}
        >
          <${Icon} name="eye" />
        </button>
        <button
          type="button" tabindex="-1" class="icon-button small" aria-label=${`Compare with ${run.name}`}
          title="Compare the other runs with this one (b)" aria-pressed=${baseline.value === run.name}
          onClick=${() => compareTo(run)}
        >
          <${Icon} name="flag" />
        </button>
        <button
          type="button" tabindex="-1" class="icon-button small" aria-label=${`Pin ${run.name}`}
          title="Pin to the top (p)" aria-pressed=${pinnedRuns.value.has(run.name)}
          onClick=${() => (pinnedRuns.value = toggled(pinnedRuns.value, run.name))}
        >
          <${Icon} name="pin" />
        </button>
      </span>
    </div>
    ${places.map((/** @type {any} */ each) => html`<${Cell} key=${each.key} run=${run} at=${each} tint=${tint} />`)}
  </div>`;
}

/** @param {any} props */
function Cell({ run, at, tint }) {
  const style = { left: `${at.left}px`, width: `${at.width}px` };
  if (at.key === "spark")
    return html`<div role="gridcell" class="cell" style=${style}><${Spark} run=${run} tint=${tint} /></div>`;
  const value = cellOf(run, at.key);
  const words = typeof value === "string";
  const broken = isBroken(run, at.key);
  const exact = typeof value === "number" || typeof value === "bigint" ? String(value) : words ? value : "";
  const base = baseRun.value;
  const other = base && base !== run ? cellOf(base, at.key) : undefined;
  const names = ["cell"];
  if (!words) names.push("num");
  if (other !== undefined && at.key.startsWith("hparam.") && Object.is(other, value)) names.push("same");
  return html`<div role="gridcell" class=${names.join(" ")} style=${style} title=${exact || undefined}>
    ${broken ? html`<span class="failed">nan</span>` : shownAs(at.key, value)}
    ${metricOf(at.key) && base && html`<${Delta} value=${value} other=${other} />`}
  </div>`;
}

/** The difference from the baseline; if empty, it still keeps the values aligned.
 * @param {{ value: any, other: any }} props */
const Delta = ({ value, other }) =>
  html`<span class="delta">${typeof other === "number" ? delta(value, other) : ""}</span>`;

/** The row of a group: its colour, its number of runs, and the mean of each column. @param {any} props */
function GroupRow({ row, index, places, nameWidth, style }) {
  const { name, ids, open } = row;
  const on = ids.filter((/** @type {Run} */ run) => shownSet.value.has(run.id)).length;
  const tint = colourOf(ids[0].id);
  const dashed = roundOfGroup(name) ? `repeating-linear-gradient(90deg, ${tint} 0 4px, transparent 4px 6px)` : tint;
  const fold = () => (closed.value = toggled(closed.value, name));
  const base = baseRun.value;
  const baseIds = base && !ids.includes(base) ? baseMembers.value : null;
  const names = ["row group"];
  if (cursor.value === index) names.push("cursor");
  if (!on) names.push("off");
  if (hotGroup.value === name) names.push("hot");
  return html`<div
    class=${names.join(" ")} role="row" id=${`row-${index}`} aria-rowindex=${index + 2} aria-expanded=${open}
    style=${style} data-group=${name} onMouseEnter=${() => (hotGroup.value = name)}
    onMouseLeave=${() => (hotGroup.value = null)}
    onClick=${() => (cursor.value = index)}
  >
    <div role="gridcell" class="cell name" style=${{ width: `${nameWidth}px` }}>
      <button
        type="button" tabindex="-1" class="toggle" aria-label=${`${on ? "Hide" : "Show"} group ${name}`}
        onClick=${() => show(ids, !on)}
      >
        <span
          class=${`box wide ${on && on < ids.length ? "some" : ""}`}
          style=${on ? { background: dashed, borderColor: tint } : { borderColor: tint }}
        ></span>
      </button>
      <button
        type="button" tabindex="-1" class="fold" onClick=${fold}
        aria-label=${`${open ? "Fold" : "Unfold"} ${name}`}
      >
        <${Icon} name=${open ? "down" : "right"} />
      </button>
      <span class="run-name strong" title=${name}>${shortGroups.value.get(name) ?? name}</span>
      <span class="dim n">n=${on === ids.length ? ids.length : `${on} of ${ids.length}`}</span>
    </div>
    ${places.map((/** @type {any} */ each) => {
      const meant = metricOf(each.key) || each.key === "duration";
      const of = meant ? meanOf(ids, each.key) : null;
      const odd =
        of && metricOf(each.key)
          ? ids.filter((/** @type {Run} */ run) => isBroken(run, each.key) || isFar(run, each.key)).length
          : 0;
      const words = `${counted(odd, "run")} diverged`;
      if (each.key.startsWith("hparam.")) {
        const value = common(ids, each.key);
        return html`<div
          key=${each.key} role="gridcell" class=${typeof value === "string" ? "cell" : "cell num"}
          style=${{ left: `${each.left}px`, width: `${each.width}px` }}
        >
          ${shownAs(each.key, value)}
        </div>`;
      }
      return html`<div
        key=${each.key} role="gridcell" class="cell num"
        style=${{ left: `${each.left}px`, width: `${each.width}px` }}
        title=${of ? `mean of ${of.n}: ${of.mean}${odd ? `; ${words}` : ""}` : undefined}
      >
        ${odd > 0 && html`<span class="failed" role="img" aria-label=${words}>${STATES.diverged} </span>`}
        ${odd > 0 && of && Math.abs(of.mean) >= 1e5 ? far(of.mean) : shownAs(each.key, of?.mean)}
        ${
          metricOf(each.key) &&
          base &&
          html`<${Delta} value=${of?.mean} other=${baseIds ? meanOf(baseIds, each.key)?.mean : undefined} />`
        }
      </div>`;
    })}
  </div>`;
}

/** Move the cursor and scroll it into view. @param {number} by */
export function moveCursor(by) {
  const last = rows.value.length - 1;
  if (last < 0) return;
  cursor.value = Math.min(Math.max(cursor.value + by, 0), last);
  const node = document.getElementById("runs");
  if (!node) return;
  const top = (cursor.value + 1) * ROW;
  if (top < node.scrollTop + ROW) node.scrollTop = top - ROW;
  else if (top + ROW > node.scrollTop + node.clientHeight) node.scrollTop = top + ROW - node.clientHeight;
  const row = rows.value[cursor.value];
  hot.value = row.kind === "run" ? row.run.id : null;
  hotGroup.value = row.kind === "group" ? row.name : null;
}

/** Apply an action to the run or group at the cursor. @param {"toggle" | "solo" | "pin" | "base" | "fold"} what */
export function atCursor(what) {
  const row = rows.value[cursor.value];
  if (!row) return;
  if (row.kind === "group") {
    if (what === "toggle") show(row.ids, !row.ids.some((run) => shownSet.value.has(run.id)));
    else if (what === "fold") closed.value = toggled(closed.value, row.name);
    return;
  }
  if (what === "toggle") toggle(row.run);
  else if (what === "solo") soloRun(row.run);
  else if (what === "base") compareTo(row.run);
  else if (what === "pin") pinnedRuns.value = toggled(pinnedRuns.value, row.run.name);
}
