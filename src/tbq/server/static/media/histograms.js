// Histograms over steps, as ridges or as a heat map with quantiles.

import { html, signal, useEffect, useRef, useState } from "../ui.js";
import { useAsk } from "../ask.js";
import { emptied } from "../chart/canvas.js";
import { rgb } from "../chart/raster.js";
import { ticks, scale, toPixels } from "../chart/scale.js";
import { colourOf } from "../runs.js";
import { dark } from "../state.js";
import { count, counted, number, compact } from "../format.js";
import { stepsOf } from "../steps.js";
import { Modes, RunLabel } from "./parts.js";

const mode = signal("ridges");
const MODES = { ridges: "Ridges", heat: "Heat map" };

/** @param {{ tag: string, list: any[] }} props */
export function Histograms({ tag, list }) {
  return html`
    <${Modes} label="Drawn as" mode=${mode} modes=${MODES} />
    <div class="media-grid">${list.map((each) => html`<${Histogram} key=${each.id} tag=${tag} each=${each} />`)}</div>
  `;
}

/** @param {any} props */
function Histogram({ tag, each }) {
  const canvas = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  const [tip, setTip] = useState("");
  const { data, error } = useAsk("histograms", { run: each.id, tag }, { frame: true, live: true });
  const tint = colourOf(each.id);
  useEffect(() => {
    const node = canvas.current;
    if (!node || !data) return undefined;
    const draw = () =>
      (mode.value === "ridges" ? ridges : heat)(node, { ...data.columns, names: stepNames(data.columns.steps) }, tint);
    draw();
    const sized = new ResizeObserver(draw);
    sized.observe(node);
    return () => sized.disconnect();
  }, [data, tint, mode.value, dark.value]);
  const point = (/** @type {MouseEvent} */ event) => {
    if (!data) return;
    const { edges, counts } = data.columns;
    const steps = stepsOf(data.columns.steps);
    const box = /** @type {HTMLElement} */ (event.currentTarget).getBoundingClientRect();
    const bins = edges.length - 1;
    const share = (event.clientX - box.left - LEFT) / (box.width - LEFT - 12);
    const down = (event.clientY - box.top - 8) / (box.height - 30);
    const bin = Math.floor((mode.value === "ridges" ? share : 1 - down) * bins);
    const row =
      mode.value === "ridges"
        ? Math.round(Math.min(1, Math.max(0, (down - 0.3) / 0.7)) * (steps.length - 1))
        : Math.floor(share * steps.length);
    if (bin < 0 || bin >= bins || row < 0 || row >= steps.length) return setTip("");
    const values = `${number(edges[bin])} to ${number(edges[bin + 1])}`;
    setTip(`step ${count(steps[row])} · ${values} · ${compact(counts[row * bins + bin])}`);
  };
  return html`<div class="card media-card">
    <${RunLabel} run=${each.run}>
      ${tip || (data ? counted(data.header.total ?? data.columns.steps.length, "step") : "")}
    <//>
    ${error && html`<p class="failed">${error}</p>`}
    <canvas
      ref=${canvas} class="histogram" role="img" aria-label=${`Histograms of ${tag}, ${each.run.name}`}
      data-rows=${data?.columns.steps.length} onMouseMove=${point} onMouseLeave=${() => setTip("")}
    ></canvas>
    ${
      data?.header.merged > 1 && html`<div class="dim">Each row is the sum of ${count(data.header.merged)} steps.</div>`
    }
  </div>`;
}

const LEFT = 44;

/**
 * Steps in compact form, unless some of them would then look the same. @param {ArrayLike<number | string>} list
 * @returns {string[]}
 */
function stepNames(list) {
  const steps = stepsOf(Array.from(list));
  const short = steps.map((step) => compact(Number(step)));
  // All steps share their first digits; the line above the picture shows the full number.
  return new Set(short).size === short.length
    ? short
    : steps.map((step) => (count(step).length > 8 ? `…${count(step).slice(-6)}` : count(step)));
}

/** The rows that are labelled: every nth, at most so many. @param {number} rows @param {number} most */
function named(rows, most) {
  const every = Math.ceil(rows / most);
  return Array.from({ length: Math.ceil(rows / every) }, (_, i) => i * every);
}

/** @param {HTMLCanvasElement} canvas @param {any} columns @param {string} tint */
function ridges(canvas, { steps, names, edges, counts }, tint) {
  const { context, width, height, ink } = emptied(canvas);
  const bins = edges.length - 1;
  const right = width - 12;
  const bottom = height - 22;
  const lift = (bottom - 8) * 0.3;
  let most = 0;
  for (const v of counts) if (v > most) most = v;
  const x = scale(edges[0], edges[bins], false, LEFT, right);
  const toX = toPixels(x);
  const [r, g, b] = rgb(tint);
  const yOf = (/** @type {number} */ row) =>
    steps.length > 1 ? 8 + lift + ((bottom - 8 - lift) * row) / (steps.length - 1) : bottom;
  // The oldest step is at the back.
  const every = Math.max(1, Math.ceil(steps.length / 60));
  for (let row = 0; row < steps.length; row++) {
    if (row % every && row !== steps.length - 1) continue;
    const base = yOf(row);
    context.beginPath();
    context.moveTo(toX(edges[0]), base);
    for (let k = 0; k < bins; k++)
      context.lineTo(
        (toX(edges[k]) + toX(edges[k + 1])) / 2,
        base - (most ? (counts[row * bins + k] / most) * lift : 0),
      );
    context.lineTo(toX(edges[bins]), base);
    const share = steps.length > 1 ? row / (steps.length - 1) : 1;
    const mix = (/** @type {number} */ v, /** @type {number} */ ground) =>
      Math.round(ground + (v - ground) * (0.25 + 0.6 * share));
    const [gr, gg, gb] = rgb(ink.ground);
    context.fillStyle = `rgb(${mix(r, gr)} ${mix(g, gg)} ${mix(b, gb)})`;
    context.fill();
    context.strokeStyle = ink.ground;
    context.lineWidth = 1;
    context.stroke();
  }
  axis(context, ticks(x, Math.floor((right - LEFT) / 70), "value"), toX, bottom, ink);
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const row of named(steps.length, 5)) context.fillText(names[row], LEFT - 8, yOf(row) - 3, LEFT - 10);
}

/**
 * @param {CanvasRenderingContext2D} context @param {any[]} list @param {(v: number) => number} toX
 * @param {number} bottom @param {any} ink
 */
function axis(context, list, toX, bottom, ink) {
  context.fillStyle = ink.text;
  context.textAlign = "center";
  context.textBaseline = "top";
  for (const { at, label } of list) context.fillText(label, toX(at), bottom + 7);
}

/** @param {HTMLCanvasElement} canvas @param {any} columns @param {string} tint */
function heat(canvas, { steps, names, edges, counts, quantiles }, tint) {
  const { context, width, height, ink } = emptied(canvas);
  const bins = edges.length - 1;
  const right = width - 12;
  const bottom = height - 22;
  const y = scale(edges[0], edges[bins], false, bottom, 8);
  const toY = toPixels(y);
  const wide = (right - LEFT) / steps.length;
  context.fillStyle = tint;
  for (let row = 0; row < steps.length; row++) {
    let most = 0;
    for (let k = 0; k < bins; k++) most = Math.max(most, counts[row * bins + k]);
    for (let k = 0; k < bins; k++) {
      const share = most ? counts[row * bins + k] / most : 0;
      if (!share) continue;
      context.globalAlpha = 0.08 + 0.92 * Math.sqrt(share);
      context.fillRect(
        LEFT + row * wide,
        toY(edges[k + 1]),
        Math.max(1, wide + 0.3),
        toY(edges[k]) - toY(edges[k + 1]) + 0.3,
      );
    }
  }
  context.globalAlpha = 1;
  const levels = quantiles ? quantiles.length / steps.length : 0;
  context.strokeStyle = ink.strong;
  context.lineWidth = 1;
  if (levels % 2) {
    context.beginPath();
    for (let row = 0; row < steps.length; row++)
      context.lineTo(LEFT + (row + 0.5) * wide, toY(quantiles[row * levels + (levels - 1) / 2]));
    context.stroke();
  }
  context.fillStyle = ink.text;
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const { at, label } of ticks(y, Math.floor((bottom - 8) / 36), "value"))
    context.fillText(label, LEFT - 8, toY(at));
  const marks = named(steps.length, Math.max(2, Math.floor((right - LEFT) / 80))).map((row) => ({
    at: row,
    label: names[row],
  }));
  axis(context, marks, (row) => LEFT + (row + 0.5) * wide, bottom, ink);
}
