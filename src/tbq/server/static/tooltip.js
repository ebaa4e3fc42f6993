// The values under the crosshair, of at most eight runs; exact once the server has answered.

import { html, useEffect, useLayoutEffect, useRef, useState } from "./ui.js";
import { hover, fixed, exact } from "./hover.js";
import { axis, full, smooth } from "./state.js";
import { baseRun, isBase } from "./runs.js";
import { report } from "./api.js";
import { beside, mostIn, readings, roomAt } from "./chart/readings.js";
import { nearest } from "./chart/series.js";
import { toValue } from "./chart/scale.js";
import { colour } from "./plot.js";
import { Sample } from "./legend.js";
import { labels } from "./labels.js";
import { widestOf } from "./widths.js";
import { count, delta, duration, far, numberTo, time } from "./format.js";

const TIGHT = 360; // pixels beside the crosshair; with fewer, a tooltip has only the values

/** @typedef {import("./hover.js").Point} Point */
/** @typedef {import("./chart/readings.js").Reading} Reading */

/**
 * The difference in value between two neighbouring pixels. @param {import("./chart/scale.js").Scale} scale
 * @param {number} pixel
 */
const unitAt = (scale, pixel) => Math.abs(toValue(scale, pixel + 0.5) - toValue(scale, pixel - 0.5));

/** @param {number} x @param {string} kind @param {number} unit */
function xText(x, kind, unit) {
  if (kind === "step") return `step ${count(x)}`;
  if (kind.startsWith("tag:")) return `${kind.slice(4)} ${numberTo(x, unit)}`;
  if (kind === "relative") return x > -60 && x < 60 ? `${numberTo(x, unit)}s` : duration(x);
  const decimals = unit < 1 ? Math.min(6, Math.ceil(-Math.log10(unit))) : 0;
  return `${time(x)}${decimals ? (((x % 1) + 1) % 1).toFixed(decimals).slice(1) : ""}`;
}

/**
 * The value of the drawn line: smoothed if it is smoothed. @param {Reading} each
 * @param {Point | undefined} point
 */
function drawn(each, point) {
  if (!point) return each.value;
  return (point.smoothed === undefined ? point.value : point.smoothed) ?? NaN;
}

const FEWEST = 6; // letters that a name keeps at least

/** The width of the widest text in a tooltip. @param {string[]} texts */
const widest = (texts, weight = 600) => widestOf(texts, 12, weight);

/** The letters of names that fit into `room` pixels. @param {string[]} names @param {number} room */
const lettersIn = (names, room) =>
  Math.max(FEWEST, Math.floor((room * Math.max(...names.map((name) => name.length))) / widest(names)));

/** Names that fit into `room` pixels: in full, or shortened so that they differ from all names of the chart; null if
 * these cannot be told apart in so few letters. @param {string[]} names @param {() => string[]} all
 * @param {number} room */
function named(names, all, room) {
  if (widest(names) <= room) return names;
  const every = all();
  const short = labels(every, lettersIn(names, room));
  const found = names.map((name) => short[every.indexOf(name)]);
  return found.some((label, i) => /#\d+$/.test(label) && label !== names[i]) || widest(found) > room + 4 ? null : found;
}

/** @param {{ chart: any, tag: string, big: boolean }} props */
export function Tooltip({ chart, tag, big }) {
  const under = !big && full.value !== ""; // hidden by the chart that fills the screen
  const at = under
    ? null
    : hover.value?.tag === tag
      ? hover.value
      : fixed.value?.tag === tag && !hover.value
        ? fixed.value
        : null;
  const [found, setFound] = useState(
    /** @type {{ asked: string, values: Map<string, Map<number, Point>> } | null} */ (null),
  );
  const l = chart.layout;
  const most = l ? mostIn(l.bottom - l.top) : 0;
  const list = at && chart.curves && l ? readings({ series: chart.series() }, l, chart.xAt(at), at.py, most) : [];
  const bases = /** @type {Map<string, import("./types.js").Series>} */ (chart.bases());
  /** @type {Map<string, number[]>} */
  const ids = new Map(); // by tag
  for (const { series } of list)
    if (series.id !== null) ids.set(series.tag, [...(ids.get(series.tag) ?? []), series.id]);
  const best = list.find((each) => each.nearest);
  const by = smooth.value;
  // Requests exact values per column, not per pixel that the mouse crosses.
  const asked =
    best && ids.size && report === null
      ? JSON.stringify(
          [...ids].map(([each, list]) => ({
            tag: each,
            runs: [...new Set([...list, ...(baseRun.value ? [baseRun.value.id] : [])])].sort((a, b) => a - b).join(","),
            x: best.at,
            axis: axis.value,
            smooth: by || "",
          })),
        )
      : "";
  useEffect(() => {
    if (!asked) return undefined;
    const abort = new AbortController();
    const timer = setTimeout(
      () =>
        Promise.all(
          JSON.parse(asked).map(async (/** @type {any} */ each) => [each.tag, await exact(each, abort.signal)]),
        ).then(
          (values) => setFound({ asked, values: new Map(values) }),
          () => undefined,
        ),
      40,
    );
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [asked]);
  const sure = asked && found?.asked === asked ? found.values : null;
  const pointOf = (/** @type {Reading} */ { series }) =>
    series.id === null ? undefined : sure?.get(series.tag)?.get(series.id);
  const rows = list.map((each) => ({ each, point: pointOf(each), value: drawn(each, pointOf(each)) }));
  if (sure) rows.sort((a, b) => b.value - a.value);
  // Dots mark the points whose values the tooltip shows.
  const marks = rows.map(({ each, point, value }) => ({
    x: chart.row ? each.at : (point?.x ?? each.at),
    y: value,
    colour: colour(each.series),
  }));
  useLayoutEffect(() => chart.mark(marks), [chart, marks]);
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => {
    const node = box.current;
    if (!node || !at) return;
    const { left, top } = chart.base.getBoundingClientRect();
    const { layout } = chart;
    const area = {
      left: left + layout.left,
      top: top + layout.top,
      right: left + layout.right,
      bottom: top + layout.bottom,
    };
    const { offsetWidth: w, offsetHeight: h } = node;
    const { x, y } = beside(area, w, h, left + at.px, top + (best?.y ?? at.py));
    node.style.left = `${x}px`;
    node.style.top = `${y}px`;
  }, [at, best, chart, marks]);
  if (!at || !list.length) return null;
  const others = chart.series().length - list.length;
  const steps = new Set(rows.flatMap(({ point }) => (point ? [point.step] : [])));
  const nearestPoint = best && pointOf(best);
  const head =
    nearestPoint && (axis.value === "step" || chart.row)
      ? `step ${count(nearestPoint.step)}`
      : chart.row
        ? ""
        : xText(nearestPoint?.x ?? best?.at ?? at.x, axis.value, unitAt(l.xs, at.px));
  const text = (/** @type {number} */ value, /** @type {number} */ y) =>
    value > l.ys.high || value < l.ys.low ? far(value) : numberTo(value, unitAt(l.ys, y));
  /** The value of the baseline at a reading. @param {Reading} each */
  const baseOf = (each) => {
    const series = bases.get(each.series.tag);
    if (!series) return NaN;
    const k = nearest(series, each.at);
    const reading = { ...each, series, value: k < 0 ? NaN : series.last[k] };
    return drawn(reading, pointOf(reading));
  };
  const compared = rows.some(({ each }) => bases.has(each.series.tag));
  const raw = by > 0 && rows.some(({ each }) => each.series.group === null);
  const tight = roomAt(l, at.px) < TIGHT;
  const span = (
    /** @type {Reading} */ { series, at: x, y },
    /** @type {import("./types.js").Values | null} */ low,
    /** @type {import("./types.js").Values | null} */ high,
  ) => {
    const k = nearest(series, x);
    if (k < 0 || !low || !high) return "";
    return low[k] === high[k] ? text(low[k], y) : `${text(low[k], y)} – ${text(high[k], y)}`;
  };
  const texts = rows.map(({ each, point, value }) => ({
    name: /** @type {string} */ (chart.label(each.series)),
    value: point && !raw && !(tight && compared) ? point.text : text(value, each.y),
    delta: isBase(each.series) ? "base" : delta(value, baseOf(each)),
    more: raw
      ? (point?.text ?? span(each, each.series.rawMin, each.series.rawMax))
      : span(each, each.series.lower, each.series.upper),
    step: point && steps.size > 1 ? count(point.step) : "",
  }));
  // Names come first: the difference is shown only if it fits beside names that can be told apart.
  const columns = /** @type {("value" | "more" | "step")[]} */ (tight ? ["value"] : ["value", "more", "step"]);
  // Pixels for the margins and the sample.
  const aside = rows.some(({ each }) => chart.dash(each.series).length) ? 50 : 38;
  const used = columns.reduce((sum, column) => sum + 12 + widest(texts.map((each) => each[column])), aside);
  const wide =
    12 +
    widest(
      texts.map((each) => each.delta),
      400,
    );
  const whole = texts.map((each) => each.name);
  const room = roomAt(l, at.px) - used;
  const all = () => chart.series().map((/** @type {import("./types.js").Series} */ each) => chart.label(each));
  const along = compared && named(whole, all, room - wide);
  const differences = Boolean(along);
  const names = along || named(whole, all, room) || labels(whole, lettersIn(whole, room));
  return html`<div class=${`tooltip ${tight ? "tight" : ""}`} ref=${box} role="status">
    <div class="tooltip-head">${head}</div>
    <table>
      ${
        raw &&
        html`<thead>
          <tr>
            <th colspan="2"></th>
            <th scope="col" class="num">smoothed</th>
            ${differences && html`<th></th>`}
            <th scope="col" class="num">raw</th>
            ${steps.size > 1 && html`<th scope="col" class="num">step</th>`}
          </tr>
        </thead>`
      }
      <tbody>
        ${rows.map(({ each: { series, nearest: near } }, i) => {
          const { value, delta: difference, more, step } = texts[i];
          return html`<tr key=${series.key} class=${near ? "near" : ""}>
            <td><${Sample} colour=${colour(series)} dash=${chart.dash(series)} /></td>
            <td class="tooltip-name">${names[i]}</td>
            <td class="num">${value}</td>
            ${differences && html`<td class="delta">${difference}</td>`}
            ${(raw || series.lower) && html`<td class="num dim">${more}</td>`}
            ${steps.size > 1 && html`<td class="num dim">${step}</td>`}
          </tr>`;
        })}
      </tbody>
    </table>
    ${
      others > 0 &&
      list.length >= most &&
      html`<div class="tooltip-more">nearest ${list.length} of ${count(chart.series().length)}</div>`
    }
  </div>`;
}
