// The runs: a table of which only the rows and columns on the screen exist.

import { html, signal, computed, effect, useEffect, useRef } from "./ui.js";
import { listed, groups, hparams, groupOf, shownSet, shownColumns, valueOf, labelOf, metricOf, isBroken, colourOf, hot, hotGroup, toggled, loaded, runs, server } from "./runs.js";
import { sort, solo, pinnedRuns, group, wide, filter, hidden as off } from "./state.js";
import { cell, count, duration, number, size, time } from "./format.js";
import { Empty, Icon } from "./menu.js";
import { Spark } from "./spark.js";

/** @typedef {import("./types.js").Run} Run */
/** @typedef {{ kind: "run", run: Run, depth: number } | { kind: "group", name: string, ids: Run[], open: boolean, colours: [string, string] | null }} Row */

export const ROW = 28;
const GLYPHS = /** @type {Record<string, string>} */ ({ running: "●", stalled: "◐", finished: "○", crashed: "✕", diverged: "≁" });

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
  const add = (/** @type {string} */ name, /** @type {Run[]} */ ids, /** @type {[string, string] | null} */ colours) => {
    if (!ids.length) return;
    const open = !closed.value.has(name);
    list.push({ kind: "group", name, ids, open, colours });
    if (open) for (const run of ids) list.push({ kind: "run", run, depth: 1 });
  };
  for (const each of groups.value) add(each.name, members.get(each.name) ?? [], each.colours);
  add("in no group", rest, null);
  return list;
});

/** What a row is of, wherever it is. @param {Row | undefined} row */
const identity = (row) => (row === undefined ? "" : row.kind === "run" ? `run ${row.run.id}` : `group ${row.name}`);

// The cursor is at a run or a group, not at a place: it goes along if runs come, go, or are sorted in another way.
let held = "";
effect(() => {
  const at = cursor.value;
  held = identity(rows.peek()[at]);
});
effect(() => {
  const list = rows.value;
  const at = cursor.peek();
  if (!held || identity(list[at]) === held) return;
  const place = list.findIndex((row) => identity(row) === held);
  cursor.value = place;
});

/** @param {string} key */
function widthOf(key) {
  if (key === "spark") return 76;
  if (key === "step") return Math.max(76, longestStep.value * 7.6 + 20);
  if (key === "state") return 88;
  if (key === "started" || key === "last_event") return 136;
  if (metricOf(key)) return Math.min(140, Math.max(84, labelOf(key).length * 7 + 24));
  return Math.min(160, Math.max(76, labelOf(key).length * 7 + 28));
}

/** A value as its column shows it. @param {string} key @param {any} value */
export function shownAs(key, value) {
  if (value === null || value === undefined) return "";
  if (key === "duration") return duration(value);
  if (key === "started" || key === "last_event") return time(value).slice(0, 16);
  if (key === "step" || key === "events") return count(value);
  if (key === "bytes") return size(value);
  if (metricOf(key)) return Number.isNaN(value) ? "" : number(value, 4, false);
  return cell(value);
}

/** Show or hide runs. @param {Run[]} list @param {boolean} on */
export function show(list, on) {
  const names = new Set(off.value);
  for (const run of list) on ? names.delete(run.name) : names.add(run.name);
  off.value = names;
  if (solo.value) solo.value = "";
}

/** @param {Run} run */
export const toggle = (run) => show([run], !shownSet.value.has(run.id));
/** @param {Run} run */
export const soloRun = (run) => (solo.value = solo.value === run.name ? "" : run.name);

const longestStep = computed(() => listed.value.reduce((most, run) => Math.max(most, shownAs("step", valueOf(run, "step")).length), 0));
const longest = computed(() => listed.value.reduce((most, run) => Math.max(most, run.name.length), 8));
const scrolled = signal({ top: 0, left: 0, height: 600, width: 400 });

export function RunsTable() {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    const node = /** @type {HTMLElement} */ (box.current);
    if (!node) return undefined;
    const measure = () => (scrolled.value = { top: node.scrollTop, left: node.scrollLeft, height: node.clientHeight, width: node.clientWidth });
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
  const keys = shownColumns.value;
  const { top, left, height, width } = scrolled.value;
  // A long name gives way to the columns up to the curve, so that none of them is cut at the divider.
  const first = keys.slice(0, keys.indexOf("spark") + 1).reduce((sum, key) => sum + widthOf(key), 0);
  const room = wide.value ? 420 : first && width - first >= 148 ? width - first : width * 0.52;
  const nameWidth = Math.round(Math.max(148, Math.min(longest.value * 7.6 + (group.value ? 92 : 76), room)));
  let x = nameWidth;
  const places = keys.map((key) => {
    const at = { key, left: x, width: widthOf(key) };
    x += at.width;
    return at;
  });
  const total = Math.max(x, width);
  // A margin of rows above and below, so that a quick scroll does not show blank ones.
  const begin = Math.max(0, Math.floor(top / ROW) - 8);
  const end = Math.min(list.length, Math.ceil((top + height) / ROW) + 8);
  const seen = places.filter((each) => each.left + each.width > left && each.left < left + width + 50);
  const active = cursor.value >= 0 && cursor.value < list.length ? `row-${cursor.value}` : undefined;
  return html`<div class="table" ref=${box} role=${group.value ? "treegrid" : "grid"} tabindex="0" id="runs" aria-label="Runs" aria-rowcount=${list.length + 1} aria-colcount=${keys.length + 1} aria-activedescendant=${active && cursor.value >= begin && cursor.value < end ? active : undefined}
      onMouseLeave=${() => ((hot.value = null), (hotGroup.value = null))}>
    <div class="table-size" style=${{ width: `${total}px`, height: `${(list.length + 1) * ROW}px` }}>
      <div class="row head" role="row" aria-rowindex="1" style=${{ width: `${total}px` }}>
        <${Head} id="name" label=${`Run`} style=${{ width: `${nameWidth}px` }} sticky />
        ${seen.map((each) => html`<${Head} key=${each.key} id=${each.key} label=${labelOf(each.key)} style=${{ left: `${each.left}px`, width: `${each.width}px` }} />`)}
      </div>
      ${/* By place, not by run: another order then changes texts, and makes no element. */ list.slice(begin, end).map((row, i) => html`<${TableRow} key=${begin + i} row=${row} index=${begin + i} places=${seen} nameWidth=${nameWidth} total=${total} />`)}
    </div>
    ${!list.length && html`<div class="table-empty"><${Nothing} /></div>`}
  </div>`;
}

function Nothing() {
  if (!loaded.value) return html`<div class="skeleton" aria-label="Loading">${Array.from({ length: 12 }, (_, i) => html`<span key=${i}></span>`)}</div>`;
  if (!runs.value.length) return html`<${Empty} title="No runs yet">Waiting for event files${server.value?.title ? ` in ${server.value.title}` : ""}.<//>`;
  return html`<${Empty} title="No run fits the filter">${count(runs.value.length)} runs are filtered out. <button type="button" class="link" onClick=${() => (filter.value = "")}>Clear the filter</button><//>`;
}

/** @param {any} props */
function Head({ id, label, style, sticky = false }) {
  const key = sort.value.replace(/^-/, "");
  const down = sort.value.startsWith("-");
  const mine = key === id;
  const click = () => {
    if (id === "spark") return;
    // Numbers are asked for smallest first, unless they already are.
    sort.value = mine ? (down ? id : `-${id}`) : id;
  };
  const words = id.startsWith("hparam.") && hparams.value.find((each) => each.name === id.slice(7))?.values.some((value) => typeof value === "string");
  const text = id === "name" || words ? "" : "num";
  return html`<div role="columnheader" class=${`cell ${sticky ? "name" : ""} ${text}`} style=${style} aria-sort=${mine ? (down ? "descending" : "ascending") : "none"}>
    <button type="button" tabindex="-1" class="head-button" title=${id === "spark" ? label : `Sort by ${label}`} onClick=${click}><span class="head-label">${label}</span>${mine && html`<span class="head-arrow" aria-hidden="true">${down ? "↓" : "↑"}</span>`}</button>
  </div>`;
}

/** @param {any} props */
function TableRow({ row, index, places, nameWidth, total }) {
  const style = { top: `${(index + 1) * ROW}px`, width: `${total}px` };
  if (row.kind === "group") return html`<${GroupRow} row=${row} index=${index} places=${places} nameWidth=${nameWidth} style=${style} />`;
  const run = /** @type {Run} */ (row.run);
  const on = shownSet.value.has(run.id);
  const names = ["row"];
  if (!on) names.push("off");
  if (cursor.value === index) names.push("cursor");
  if (hot.value === run.id) names.push("hot");
  const tint = colourOf(run.id);
  const cut = run.name.lastIndexOf("/") + 1;
  return html`<div class=${names.join(" ")} role="row" id=${`row-${index}`} aria-rowindex=${index + 2} aria-selected=${on} style=${style} data-run=${run.name}
      onMouseEnter=${() => (hot.value = on ? run.id : null)} onClick=${() => (cursor.value = index)}>
    <div role="gridcell" class=${`cell name ${row.depth ? "deep" : ""}`} style=${{ width: `${nameWidth}px` }}>
      <button type="button" tabindex="-1" class="toggle" aria-label=${`${on ? "Hide" : "Show"} ${run.name}`} title=${on ? "Hide (alt-click: only this)" : "Show (alt-click: only this)"}
        onClick=${(/** @type {MouseEvent} */ e) => (e.altKey ? soloRun(run) : toggle(run))}><span class="box" style=${on ? { background: tint, borderColor: tint } : { borderColor: tint }}></span></button>
      <span class=${`state ${run.state ?? ""}`} title=${run.state ?? "not read yet"}>${GLYPHS[run.state] ?? "·"}<span class="sr">${run.state}</span></span>
      <span class="run-name" title=${run.name}><bdi dir="ltr"><span class="dim">${run.name.slice(0, cut)}</span>${run.name.slice(cut)}</bdi></span>
      ${pinnedRuns.value.has(run.name) && html`<span class="pinned" title="Pinned"><${Icon} name="pin" /></span>`}
      <span class="row-tools">
        <button type="button" tabindex="-1" class="icon-button small" aria-label=${`Show only ${run.name}`} title="Show only this (s)" aria-pressed=${solo.value === run.name} onClick=${() => soloRun(run)}><${Icon} name="eye" /></button>
        <button type="button" tabindex="-1" class="icon-button small" aria-label=${`Pin ${run.name}`} title="Pin to the top (p)" aria-pressed=${pinnedRuns.value.has(run.name)} onClick=${() => (pinnedRuns.value = toggled(pinnedRuns.value, run.name))}><${Icon} name="pin" /></button>
      </span>
    </div>
    ${places.map((/** @type {any} */ each) => html`<${Cell} key=${each.key} run=${run} at=${each} tint=${tint} />`)}
  </div>`;
}

/** @param {any} props */
function Cell({ run, at, tint }) {
  const style = { left: `${at.left}px`, width: `${at.width}px` };
  if (at.key === "spark") return html`<div role="gridcell" class="cell" style=${style}><${Spark} run=${run} tint=${tint} /></div>`;
  const value = valueOf(run, at.key);
  const words = typeof value === "string";
  const broken = isBroken(run, at.key);
  const exact = typeof value === "number" || typeof value === "bigint" ? String(value) : words ? value : "";
  return html`<div role="gridcell" class=${`cell ${words ? "" : "num"}`} style=${style} title=${exact || undefined}>${broken ? html`<span class="failed">nan</span>` : shownAs(at.key, value)}</div>`;
}

/** A group: its colour, how many runs, and the mean of each number. @param {any} props */
function GroupRow({ row, index, places, nameWidth, style }) {
  const { name, ids, open } = row;
  const on = ids.filter((/** @type {Run} */ run) => shownSet.value.has(run.id)).length;
  const tint = colourOf(ids[0].id);
  const fold = () => (closed.value = toggled(closed.value, name));
  return html`<div class=${`row group ${cursor.value === index ? "cursor" : ""} ${on ? "" : "off"} ${hotGroup.value === name ? "hot" : ""}`} role="row" id=${`row-${index}`} aria-rowindex=${index + 2} aria-expanded=${open} style=${style} data-group=${name}
      onMouseEnter=${() => (hotGroup.value = name)} onMouseLeave=${() => (hotGroup.value = null)} onClick=${() => (cursor.value = index)}>
    <div role="gridcell" class="cell name" style=${{ width: `${nameWidth}px` }}>
      <button type="button" tabindex="-1" class="toggle" aria-label=${`${on ? "Hide" : "Show"} group ${name}`} onClick=${() => show(ids, !on)}><span class=${`box wide ${on && on < ids.length ? "some" : ""}`} style=${on ? { background: tint, borderColor: tint } : { borderColor: tint }}></span></button>
      <button type="button" tabindex="-1" class="fold" onClick=${fold} aria-label=${`${open ? "Fold" : "Unfold"} ${name}`}><${Icon} name=${open ? "down" : "right"} /></button>
      <span class="run-name strong" title=${name}>${name}</span><span class="dim n">n=${on === ids.length ? ids.length : `${on} of ${ids.length}`}</span>
    </div>
    ${places.map((/** @type {any} */ each) => {
      const values = ids.map((/** @type {Run} */ run) => valueOf(run, each.key)).filter((/** @type {any} */ v) => typeof v === "number" && Number.isFinite(v));
      const mean = values.length ? values.reduce((/** @type {number} */ a, /** @type {number} */ b) => a + b, 0) / values.length : null;
      const meant = metricOf(each.key) || each.key === "duration";
      return html`<div key=${each.key} role="gridcell" class="cell num" style=${{ left: `${each.left}px`, width: `${each.width}px` }} title=${meant && mean !== null ? `mean of ${values.length}: ${mean}` : undefined}>${meant ? shownAs(each.key, mean) : ""}</div>`;
    })}
  </div>`;
}

/** Move the cursor, and keep it on the screen. @param {number} by */
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

/** Do something to what the cursor is at. @param {"toggle" | "solo" | "pin" | "fold"} what */
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
  else if (what === "pin") pinnedRuns.value = toggled(pinnedRuns.value, row.run.name);
}
