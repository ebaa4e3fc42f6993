// Hyperparameters and metrics as parallel coordinates: one line for each run, one axis for each column; brushes
// filter the runs.

import { html, on, computed, signal, useEffect, useRef } from "./ui.js";
import {
  runs,
  hparams,
  scalarTags,
  shown,
  byId,
  higherIsBetter,
  cellOf,
  metricOf,
  labelOf,
  hot,
  metrics,
  loaded,
  shownColumns,
} from "./runs.js";
import { filter, columns, dark } from "./state.js";
import { emptied, inkOf } from "./chart/canvas.js";
import { axisOf, gap, isMissing, marksOf, outward, share, shareOf, valueAt, viridis } from "./axes.js";
import { Decisions } from "./decisions.js";
import { counted, number } from "./format.js";
import { labels } from "./labels.js";
import { Empty } from "./menu.js";
import { Waiting } from "./curves.js";

/** @typedef {import("./axes.js").Axis} Axis */
/** @typedef {import("./types.js").Run} Run */

/**
 * Brushed ranges by column: numbers, or positions in the list of words.
 * @type {import("./types.js").Signal<Record<string, [number, number]>>}
 */
const brushes = signal({});

const picked = signal(""); // the metric that colours the lines, if the user chose it
/** The metric that colours the lines, and by which parameters are judged. */
const metric = computed(() => {
  const all = shownColumns.value.filter((key) => metricOf(key));
  return all.includes(picked.value) ? picked.value : (all[0] ?? "");
});

const keys = computed(() => {
  const params = hparams.value
    .filter((each) => each.differ)
    .slice(0, 10)
    .map((each) => `hparam.${each.name}`);
  const chosen = shownColumns.value.filter((key) => metricOf(key)).slice(0, 6);
  // The axis of the coloured metric is the last, beside its colour bar.
  return [...params, ...chosen.filter((key) => key !== metric.value), ...chosen.filter((key) => key === metric.value)];
});

/**
 * What is drawn: the axes; the runs from the worst to the best, so that the best are on top; and how far each line is
 * moved on axes of few values, from -0.5 to 0.5. @typedef {{ axes: Axis[], runs: Run[], moved: Map<number, number> }}
 * Scene
 */

/** @returns {Scene} */
function scene() {
  const list = shown.value.map((id) => byId.value.get(id)).filter((run) => run !== undefined);
  const all = keys.value.map((key) =>
    axisOf(
      key,
      list.map((run) => cellOf(run, key)),
      Boolean(metricOf(key)),
    ),
  );
  const key = metric.value;
  const worth = (/** @type {Run} */ run) => {
    const value = key ? cellOf(run, key) : 0;
    return isMissing(value) ? -Infinity : higherIsBetter(metricOf(key)?.tag ?? "") ? value : -value;
  };
  const order = list.map((run) => ({ run, worth: worth(run) })).sort((a, b) => (a.worth < b.worth ? -1 : 1));
  const span = Math.max(order.length - 1, 1);
  return {
    axes: all,
    runs: order.map(({ run }) => run),
    moved: new Map(order.map(({ run }, i) => [run.id, i / span - 0.5])),
  };
}

const TOP = 44;
const BOTTOM = 24;
const BAR = 54; // pixels right of the last axis, for the colour bar
const MOST_LETTERS = 18; // of a label
const SPREAD = 22; // pixels over which lines through one value are spread

/** The place of a run on an axis. Lines through the same value are spread, so that they do not coincide.
 * @param {Scene} scene @param {Axis} axis @param {Run} run @param {number} tall */
function placeOf({ moved }, axis, run, tall) {
  const part = share(axis, cellOf(run, axis.key));
  if (part === null) return null;
  const room = Math.min(SPREAD / tall, gap(axis) * 0.5);
  return part + (moved.get(run.id) ?? 0) * room;
}

/** Writes the brushes into the filter, so that the table, the curves and the link follow. @param {Axis[]} all */
function toFilter(all) {
  const parts = [];
  for (const axis of all) {
    const brush = brushes.value[axis.key];
    if (!brush) continue;
    const of = metricOf(axis.key);
    const name = of
      ? `"${(of.stat === "last" ? of.tag : `${of.tag}.${of.stat}`).replaceAll('"', '""')}"`
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
  const state = useRef({ ...scene(), xs: /** @type {number[]} */ ([]) });
  useEffect(() => {
    const node = canvas.current;
    if (!node) return undefined;
    const redraw = () => {
      const now = scene();
      state.current = { ...now, xs: draw(node, now) };
      node.dataset.lines = String(now.runs.length);
      node.dataset.axes = String(now.axes.length);
      node.dataset.places = state.current.xs.map(Math.round).join(" ");
    };
    const stop = on([runs, shown, metrics, keys, metric, dark, brushes, hot], () => requestAnimationFrame(redraw));
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
  const total = counted(shown.value.length, "run");
  return html`<div class="hparams">
    <div class="media-bar">
      <span class="dim">
        Drag along an axis to filter the runs; click it to clear.
      </span>
      <span class="spring"></span>
      <${ColourChooser} />
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
        aria-label=${`Parallel coordinates of ${total}: ${keys.value.map(labelOf).join(", ")}`}
        onPointerDown=${press} onMouseMove=${hover} onMouseLeave=${() => (hot.value = null)}
      ></canvas>
    </div>
    <${Decisions} metric=${metric.value} />
  </div>`;
}

/** The metric that colours the lines. */
function ColourChooser() {
  const all = shownColumns.value.filter((key) => metricOf(key));
  if (!all.length) return null;
  return html`<label class="chooser">
    <span class="dim">Metric</span>
    <select
      class="button" aria-label="The metric that colours the lines"
      onChange=${(/** @type {any} */ e) => (picked.value = e.target.value)}
    >
      ${all.map(
        (key) => html`<option key=${key} value=${key} selected=${key === metric.value}>${labelOf(key)}</option>`,
      )}
    </select>
  </label>`;
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

/** @param {Scene & { xs: number[] }} state @param {number} x @param {number} y @param {number} height */
function nearestRun(state, x, y, height) {
  const { axes: all, xs } = state;
  /** @type {number | null} */
  let best = null;
  let least = 12;
  const tall = height - TOP - BOTTOM;
  for (const run of state.runs)
    for (let i = 0; i + 1 < all.length; i++) {
      if (x < xs[i] || x > xs[i + 1]) continue;
      const a = placeOf(state, all[i], run, tall);
      const b = placeOf(state, all[i + 1], run, tall);
      if (a === null || b === null) continue;
      const at = TOP + tall * (1 - (a + (b - a) * eased((x - xs[i]) / (xs[i + 1] - xs[i]))));
      if (Math.abs(at - y) < least) [least, best] = [Math.abs(at - y), run.id];
    }
  return best;
}

/** Lines are curves that leave an axis level. @param {number} t */
const eased = (t) => t * t * (3 - 2 * t);

/** @param {HTMLCanvasElement} canvas @param {Scene} now @returns {number[]} x of each axis */
function draw(canvas, now) {
  const { axes: all } = now;
  const { context, width, height, ink } = emptied(canvas);
  const edge = Math.min(48, width / 9);
  const right = width - BAR - 20;
  const xs = all.map((_, i) => (all.length > 1 ? edge + ((right - edge) * i) / (all.length - 1) : width / 2));
  const tall = height - TOP - BOTTOM;
  const yOf = (/** @type {number} */ part) => TOP + tall * (1 - part);
  const coloured = all.find((axis) => axis.key === metric.peek());
  const tint = (/** @type {Run} */ run) => {
    const part = coloured ? share(coloured, cellOf(run, coloured.key)) : null;
    return part === null ? ink.axis : viridis(part, dark.peek());
  };
  const line = (/** @type {Run} */ run) => {
    context.strokeStyle = tint(run);
    context.beginPath();
    /** @type {[number, number] | null} */
    let before = null;
    all.forEach((axis, i) => {
      const part = placeOf(now, axis, run, tall);
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
  const many = now.runs.length;
  context.lineWidth = many > 200 ? 1 : 1.5;
  context.globalAlpha = (many > 200 ? 0.35 : 0.8) * (hot.peek() === null ? 1 : 0.3);
  for (const run of now.runs) line(run);
  context.globalAlpha = 1;
  const lit = now.runs.find((run) => run.id === hot.peek());
  if (lit) {
    context.lineWidth = 3;
    line(lit);
  }
  if (coloured) colourBar(context, coloured, xs[all.length - 1] + BAR, yOf);
  context.font = "600 12px system-ui, sans-serif";
  const titles = fitted(
    context,
    all.map((axis) => labelOf(axis.key)),
    xs.length > 1 ? xs[1] - xs[0] - 6 : width,
  );
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
    context.fillStyle = ink.strong;
    context.font = "600 12px system-ui, sans-serif";
    centred(context, titles[i], xs[i], 18);
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "left";
    const room = xs.length > 1 ? xs[1] - xs[0] - 16 : width;
    const marks = marksOf(axis, (text) => context.measureText(text).width, room, 16 / tall).slice(0, 24);
    const names = marks.map(([text]) => String(text));
    const words = axis.values ? fitted(context, names, i + 1 < xs.length ? room : width - xs[i] - 12) : names;
    marks.forEach(([, part], k) => {
      const y = Math.round(yOf(Number(part)));
      const label = words[k];
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
    if (axis.cut) outside(context, now, axis, xs[i], yOf);
  });
  return xs;
}

/** The colours of a metric, right of its axis. @param {CanvasRenderingContext2D} context @param {Axis} axis
 * @param {number} x @param {(part: number) => number} yOf */
function colourBar(context, axis, x, yOf) {
  const fill = context.createLinearGradient(0, yOf(0), 0, yOf(1));
  for (let part = 0; part <= 8; part++) fill.addColorStop(part / 8, viridis(axis.values ? 0.5 : part / 8, dark.peek()));
  context.fillStyle = fill;
  context.fillRect(x, yOf(1), 8, yOf(0) - yOf(1));
}

/** Says how many runs are beyond an end of the axis. @param {CanvasRenderingContext2D} context @param {Scene} now
 * @param {Axis} axis @param {number} x @param {(part: number) => number} yOf */
function outside(context, now, axis, x, yOf) {
  const values = now.runs.map((run) => cellOf(run, axis.key)).filter((value) => !isMissing(value));
  const above = values.filter((value) => value > axis.high);
  const below = values.filter((value) => value < axis.low);
  context.fillStyle = inkOf(context.canvas).text;
  const far = (/** @type {number} */ value) => (Math.abs(value) < 1e5 ? number(value, 3) : value.toExponential(1));
  if (above.length) centred(context, `▲ ${above.length} up to ${far(Math.max(...above))}`, x, yOf(1) - 12);
  if (below.length) centred(context, `▼ ${below.length} down to ${far(Math.min(...below))}`, x, yOf(0) + 18);
}

/** Short labels that can be told apart, within so many pixels as far as possible.
 * @param {CanvasRenderingContext2D} context @param {string[]} names @param {number} room */
function fitted(context, names, room) {
  const fits = (/** @type {string} */ text) => text.length <= MOST_LETTERS && context.measureText(text).width <= room;
  let short = names;
  for (let letters = MOST_LETTERS; letters >= 4 && !short.every(fits); letters--) short = labels(names, letters);
  return short;
}

/** Writes a text around x, moved as far as needed to stay on the canvas.
 * @param {CanvasRenderingContext2D} context @param {string} text @param {number} x @param {number} y */
function centred(context, text, x, y) {
  const half = context.measureText(text).width / 2 + 4;
  context.textAlign = "center";
  context.fillText(text, Math.max(Math.min(x, context.canvas.clientWidth - half), half), y);
}
