// Hyperparameters and metrics as parallel coordinates: one line for each run, one axis for each column; brushes
// filter the runs.

import { html, on, computed, signal, useEffect, useRef } from "./ui.js";
import {
  runs,
  hparams,
  scalarTags,
  shown,
  byId,
  colourOf,
  cellOf,
  metricOf,
  labelOf,
  hot,
  metrics,
  loaded,
  shownColumns,
} from "./runs.js";
import { filter, columns, dark } from "./state.js";
import { inkOf } from "./plot.js";
import { number, numberTo } from "./format.js";
import { natural } from "./order.js";
import { Empty } from "./menu.js";
import { Waiting } from "./curves.js";

/** @typedef {{ key: string, values: any[] | null, low: number, high: number, log: boolean }} Axis */

/**
 * Brushed ranges by column: numbers, or positions in the list of words.
 * @type {import("./types.js").Signal<Record<string, [number, number]>>}
 */
const brushes = signal({});

const keys = computed(() => {
  const params = hparams.value
    .filter((each) => each.differ)
    .slice(0, 10)
    .map((each) => `hparam.${each.name}`);
  const chosen = shownColumns.value.filter((key) => metricOf(key));
  return [...params, ...chosen.slice(0, 6)];
});

/** @returns {Axis[]} */
function axes() {
  const list = shown.value.map((id) => byId.value.get(id)).filter((run) => run !== undefined);
  return keys.value.map((key) => {
    const values = list
      .map((run) => cellOf(run, key))
      .filter(
        (value) => value !== undefined && value !== null && !(typeof value === "number" && !Number.isFinite(value)),
      );
    if (values.length && values.every((value) => typeof value === "number")) {
      let [low, high] = [Math.min(...values), Math.max(...values)];
      if (low === high) [low, high] = [low - Math.abs(low) * 0.1 - 1e-9, high + Math.abs(high) * 0.1 + 1e-9];
      return { key, values: null, low, high, log: low > 0 && high / low >= 30 };
    }
    const words = [...new Set(values.map(String))].sort(natural);
    return { key, values: words, low: 0, high: Math.max(words.length - 1, 1), log: false };
  });
}

const MARKS = [0, 0.25, 0.5, 0.75, 1]; // where an axis of numbers has labels, as shares of its length
const TOP = 44;
const BOTTOM = 24;

/** @param {Axis} axis @param {any} value @returns {number | null} its share of the axis, from the bottom */
function share(axis, value) {
  if (value === undefined || value === null || (typeof value === "number" && !Number.isFinite(value))) return null;
  const v = axis.values ? axis.values.indexOf(String(value)) : value;
  if (axis.values && axis.values.length === 1) return 0.5;
  return shareOf(axis, v);
}

/** @param {Axis} axis @param {number} v */
function shareOf(axis, v) {
  if (axis.log) return (Math.log(v) - Math.log(axis.low)) / (Math.log(axis.high) - Math.log(axis.low));
  // Halves, since the span of two finite numbers may be infinite.
  return (v / 2 - axis.low / 2) / (axis.high / 2 - axis.low / 2);
}

/** @param {Axis} axis @param {number} part */
function valueAt(axis, part) {
  if (axis.log) return Math.exp(Math.log(axis.low) + part * (Math.log(axis.high) - Math.log(axis.low)));
  return axis.low * (1 - part) + axis.high * part;
}

/** An end of a brush in few digits, moved outward by a part of a pixel: rounding never excludes a run inside it.
 * @param {Axis} axis @param {number} end @param {1 | -1} way */
function outward(axis, end, way) {
  const limit = valueAt(axis, shareOf(axis, end) + way * 0.001);
  for (let digits = 2; digits < 17; digits++) {
    const rounded = Number(end.toPrecision(digits));
    if ((rounded - end) * way >= 0 && (limit - rounded) * way >= 0) return rounded;
  }
  return end;
}

/** Writes the brushes into the filter, so that the table, the curves and the link follow. @param {Axis[]} all */
function toFilter(all) {
  const parts = [];
  for (const axis of all) {
    const brush = brushes.value[axis.key];
    if (!brush) continue;
    const metric = metricOf(axis.key);
    const name = metric
      ? `"${(metric.stat === "last" ? metric.tag : `${metric.tag}.${metric.stat}`).replaceAll('"', '""')}"`
      : /^hparam\.[a-z_]\w*$/i.test(axis.key)
        ? axis.key
        : `"${axis.key.replaceAll('"', '""')}"`;
    if (axis.values) {
      const chosen = axis.values.filter((_, i) => i >= brush[0] - 0.5 && i <= brush[1] + 0.5);
      parts.push(`${name} in (${chosen.map((each) => `'${each.replaceAll("'", "''")}'`).join(", ")})`);
    } else parts.push(`${name} between ${outward(axis, brush[0], -1)} and ${outward(axis, brush[1], 1)}`);
  }
  filter.value = parts.join(" and ");
}

export function Hparams() {
  const canvas = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  const state = useRef({ axes: /** @type {Axis[]} */ ([]), xs: /** @type {number[]} */ ([]) });
  useEffect(() => {
    const node = canvas.current;
    if (!node) return undefined;
    const redraw = () => {
      const all = axes();
      state.current = { axes: all, xs: draw(node, all) };
      node.dataset.lines = String(shown.peek().length);
      node.dataset.axes = String(all.length);
    };
    const stop = on([runs, shown, metrics, keys, dark, brushes, hot], () => requestAnimationFrame(redraw));
    const sized = new ResizeObserver(redraw);
    sized.observe(node);
    return () => {
      stop();
      sized.disconnect();
    };
  }, [hparams.value.length > 0]);
  if (!loaded.value) return null;
  if (!runs.value.length) return html`<${Waiting} />`;
  if (!hparams.value.length)
    return html`<${Empty} title="No hyperparameters in this log">
      Runs that log them (SummaryWriter.add_hparams, TensorFlow’s hparams, tbq’s writer) appear here as lines.
    <//>`;

  const nearestAxis = (/** @type {number} */ x) =>
    state.current.xs.reduce((best, each, i, all) => (Math.abs(each - x) < Math.abs(all[best] - x) ? i : best), 0);
  const press = (/** @type {PointerEvent} */ event) => {
    const node = /** @type {HTMLCanvasElement} */ (event.currentTarget);
    const box = node.getBoundingClientRect();
    const i = nearestAxis(event.clientX - box.left);
    const axis = state.current.axes[i];
    if (!axis || Math.abs(state.current.xs[i] - (event.clientX - box.left)) > 24) return;
    node.setPointerCapture(event.pointerId);
    const at = (/** @type {PointerEvent} */ e) =>
      Math.min(1, Math.max(0, 1 - (e.clientY - box.top - TOP) / (box.height - TOP - BOTTOM)));
    const begin = at(event);
    let moved = false;
    const drag = (/** @type {PointerEvent} */ e) => {
      const now = at(e);
      if (Math.abs(now - begin) < 0.01) return;
      moved = true;
      const [a, b] = [Math.min(begin, now), Math.max(begin, now)];
      brushes.value = { ...brushes.value, [axis.key]: [valueAt(axis, a), valueAt(axis, b)] };
    };
    const end = () => {
      node.removeEventListener("pointermove", drag);
      node.removeEventListener("pointerup", end);
      if (!moved) {
        const { [axis.key]: gone, ...rest } = brushes.value;
        brushes.value = rest;
      }
      toFilter(state.current.axes);
    };
    node.addEventListener("pointermove", drag);
    node.addEventListener("pointerup", end);
  };
  const hover = (/** @type {MouseEvent} */ event) => {
    const node = /** @type {HTMLCanvasElement} */ (event.currentTarget);
    const box = node.getBoundingClientRect();
    hot.value = nearestRun(state.current, event.clientX - box.left, event.clientY - box.top, box.height);
  };
  const clear = () => {
    brushes.value = {};
    filter.value = "";
  };
  const brushed = Object.keys(brushes.value).length > 0;
  return html`<div class="hparams">
    <div class="media-bar">
      <span class="dim">
        Drag along an axis to filter the runs; click it to clear. The columns of the table are the axes.
      </span>
      <span class="spring"></span>
      <${AxisChooser} />
      ${
        brushed &&
        html`<button type="button" class="chip" onClick=${clear}>
          clear brushes ✕
        </button>`
      }
    </div>
    <div class="card">
      <canvas
        ref=${canvas} class="parallel" role="img"
        aria-label=${`Parallel coordinates of ${shown.value.length} runs: ${keys.value.map(labelOf).join(", ")}`}
        onPointerDown=${press} onMouseMove=${hover} onMouseLeave=${() => (hot.value = null)}
      ></canvas>
    </div>
    <${Importance} />
  </div>`;
}

/** Offers the metrics that have no axis yet. */
function AxisChooser() {
  const add = (/** @type {any} */ event) => {
    if (event.target.value) columns.value = [...shownColumns.value, `${event.target.value}:last`];
    event.target.value = "";
  };
  return html`<select class="button" aria-label="Add a metric" onChange=${add}>
    <option value="">Add a metric …</option>
    ${scalarTags.value
      .slice(0, 200)
      .filter((tag) => !shownColumns.value.includes(`${tag.tag}:last`))
      .map((tag) => html`<option key=${tag.tag} value=${tag.tag}>${tag.tag}</option>`)}
  </select>`;
}

/** @param {{ axes: Axis[], xs: number[] }} state @param {number} x @param {number} y @param {number} height */
function nearestRun({ axes: all, xs }, x, y, height) {
  /** @type {number | null} */
  let best = null;
  let least = 12;
  const tall = height - TOP - BOTTOM;
  for (const id of shown.value) {
    const run = byId.value.get(id);
    if (!run) continue;
    for (let i = 0; i + 1 < all.length; i++) {
      if (x < xs[i] || x > xs[i + 1]) continue;
      const a = share(all[i], cellOf(run, all[i].key));
      const b = share(all[i + 1], cellOf(run, all[i + 1].key));
      if (a === null || b === null) continue;
      const at = TOP + tall * (1 - (a + ((b - a) * (x - xs[i])) / (xs[i + 1] - xs[i])));
      if (Math.abs(at - y) < least) [least, best] = [Math.abs(at - y), id];
    }
  }
  return best;
}

/** @param {HTMLCanvasElement} canvas @param {Axis[]} all @returns {number[]} x of each axis */
function draw(canvas, all) {
  const ratio = Math.min(devicePixelRatio || 1, 2);
  const { clientWidth: width, clientHeight: height } = canvas;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  const ink = inkOf(canvas);
  const edge = Math.min(64, width / 8);
  const xs = all.map((_, i) => (all.length > 1 ? edge + ((width - 2 * edge) * i) / (all.length - 1) : width / 2));
  const yOf = (/** @type {number} */ part) => TOP + (height - TOP - BOTTOM) * (1 - part);
  const line = (/** @type {number} */ id) => {
    const run = byId.peek().get(id);
    if (!run) return;
    context.strokeStyle = colourOf(id);
    context.beginPath();
    /** @type {[number, number] | null} */
    let before = null;
    all.forEach((axis, i) => {
      const part = share(axis, cellOf(run, axis.key));
      if (part === null) {
        before = null;
        return;
      }
      const y = yOf(part);
      if (before) {
        const middle = (before[0] + xs[i]) / 2;
        context.bezierCurveTo(middle, before[1], middle, y, xs[i], y);
      } else context.moveTo(xs[i], y);
      before = [xs[i], y];
    });
    context.stroke();
  };
  const many = shown.peek().length;
  context.lineWidth = many > 200 ? 1 : 1.5;
  context.globalAlpha = (many > 200 ? 0.35 : 0.75) * (hot.peek() === null ? 1 : 0.4);
  for (const id of shown.peek()) line(id);
  context.globalAlpha = 1;
  if (hot.peek() !== null && shown.peek().includes(/** @type {number} */ (hot.peek()))) {
    context.lineWidth = 3;
    line(/** @type {number} */ (hot.peek()));
  }
  context.font = "11px system-ui, sans-serif";
  all.forEach((axis, i) => {
    context.strokeStyle = ink.axis;
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(Math.round(xs[i]) + 0.5, TOP);
    context.lineTo(Math.round(xs[i]) + 0.5, height - BOTTOM);
    context.stroke();
    const brush = brushes.peek()[axis.key];
    if (brush) {
      const [a, b] = brush.map((value) => yOf(shareOf(axis, value)));
      context.fillStyle = ink.strong;
      context.globalAlpha = 0.25;
      context.fillRect(xs[i] - 6, b, 12, a - b);
      context.globalAlpha = 1;
    }
    context.textAlign = "center";
    context.fillStyle = ink.strong;
    context.font = "600 12px system-ui, sans-serif";
    let title = clipped(labelOf(axis.key));
    while (title.length > 3 && xs.length > 1 && context.measureText(title).width > xs[1] - xs[0] - 6)
      title = `${title.slice(0, -2)}…`;
    const half = context.measureText(title).width / 2;
    context.fillText(title, Math.min(Math.max(xs[i], half + 12), width - half - 12), 18);
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "left";
    const marks = axis.values
      ? axis.values.map((text, k) => [text, axis.values && axis.values.length > 1 ? k / (axis.values.length - 1) : 0.5])
      : numbersOf(axis, context, xs.length > 1 ? xs[1] - xs[0] - 16 : width);
    marks.slice(0, 12).forEach(([text, part]) => {
      const y = Math.round(yOf(Number(part)));
      const label = axis.values ? clipped(String(text)) : String(text);
      // A filled box under the label, so that no line runs through its letters.
      context.fillStyle = ink.ground;
      context.globalAlpha = 0.88;
      context.beginPath();
      context.roundRect(xs[i] + 7, y - 9, context.measureText(label).width + 8, 18, 3);
      context.fill();
      context.globalAlpha = 1;
      context.strokeStyle = ink.axis;
      context.beginPath();
      context.moveTo(xs[i], y + 0.5);
      context.lineTo(xs[i] + 5, y + 0.5);
      context.stroke();
      context.fillStyle = ink.text;
      context.fillText(label, xs[i] + 11, y + 4);
    });
  });
  return xs;
}

/** The labels of an axis of numbers, in as many digits as there is room for, but enough to tell them apart.
 * @param {Axis} axis @param {CanvasRenderingContext2D} context @param {number} room @returns {[string, number][]} */
function numbersOf(axis, context, room) {
  const values = MARKS.map((part) => valueAt(axis, part));
  const spelled = (/** @type {number} */ digits, /** @type {number} */ share) =>
    values.map((value) =>
      axis.log ? number(value, digits) : numberTo(value, (axis.high / 4 - axis.low / 4) * share, digits),
    );
  const usual = spelled(3, 0.1);
  const all = [usual, spelled(2, 0.5), spelled(1, 1)].flatMap((texts) => [
    texts,
    texts.map((text) => text.replace(/^(-?)0\./, "$1.")),
  ]);
  const within = (/** @type {number} */ most) =>
    all.find(
      (texts) =>
        texts.every((text) => context.measureText(text).width <= most) && new Set(texts).size === new Set(values).size,
    );
  const found = within(room) ?? within(room + 14); // overlapping the next axis is better than losing the first digits
  return (found ?? usual.map((text) => ending(context, text, room))).map((text, i) => [text, MARKS[i]]);
}

/**
 * Cuts the first digits of a number that does not fit: the labels of one axis differ in their last digits.
 * @param {CanvasRenderingContext2D} context @param {string} text @param {number} room
 */
function ending(context, text, room) {
  let from = 0;
  const cut = () => (from ? `…${text.slice(from)}` : text);
  while (from < text.length - 4 && context.measureText(cut()).width > room) from++;
  return cut();
}

/** @param {string} text */
const clipped = (text) => (text.length > 18 ? `${text.slice(0, 17)}…` : text);

/** The rank correlation of each hyperparameter with the main metric. */
function Importance() {
  const metric = keys.value.filter((key) => metricOf(key))[0];
  if (!metric) return null;
  const list = shown.value.map((id) => byId.value.get(id)).filter((run) => run !== undefined);
  const rows = hparams.value
    .filter((each) => each.differ && each.values.every((value) => typeof value === "number"))
    .map((each) => ({
      name: each.name,
      r: correlation(list.map((run) => [cellOf(run, `hparam.${each.name}`), cellOf(run, metric)])),
    }))
    .filter((each) => each.r !== null);
  if (!rows.length) return null;
  rows.sort((a, b) => Math.abs(b.r ?? 0) - Math.abs(a.r ?? 0));
  return html`<section class="part">
    <h2 class="part-head plain"><span>Rank correlation with ${labelOf(metric)}</span><span class="rule"></span></h2>
    <div class="card media-card scroll" tabindex="0">
      <table class="plain-table correlations">
        <tbody>
          ${rows.map(
            (each) => html`<tr key=${each.name}>
              <th scope="row">${each.name}</th>
              <td class="num">${(each.r ?? 0).toFixed(2)}</td>
              <td>
                <span class="corr" aria-hidden="true">
                  <i class=${(each.r ?? 0) < 0 ? "neg" : ""} style=${{ width: `${Math.abs(each.r ?? 0) * 50}%` }}></i>
                </span>
              </td>
            </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </section>`;
}

/** @param {any[][]} pairs @returns {number | null} */
function correlation(pairs) {
  const finite = pairs.filter(([a, b]) => Number.isFinite(a) && Number.isFinite(b));
  if (finite.length < 4) return null;
  const ranked = (/** @type {number[]} */ values) => {
    const order = [...values.keys()].sort((a, b) => values[a] - values[b]);
    const ranks = new Array(values.length);
    for (let i = 0; i < order.length; ) {
      let j = i;
      while (j + 1 < order.length && values[order[j + 1]] === values[order[i]]) j++;
      for (let k = i; k <= j; k++) ranks[order[k]] = (i + j) / 2;
      i = j + 1;
    }
    return ranks;
  };
  const [a, b] = [0, 1].map((side) => ranked(finite.map((pair) => pair[side])));
  const mean = (finite.length - 1) / 2;
  let [top, left, right] = [0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    top += (a[i] - mean) * (b[i] - mean);
    left += (a[i] - mean) ** 2;
    right += (b[i] - mean) ** 2;
  }
  return left && right ? top / Math.sqrt(left * right) : null;
}
