// A chart on a canvas: grid, bands, curves, marks and axis labels.

import { scale, ticks, toHeights, toPixels } from "./scale.js";
import { far } from "../format.js";
import { area, emptyRaster, intoImage, line, rgb } from "./raster.js";

/** @typedef {import("../types.js").Series} Series */
/** @typedef {import("./canvas.js").Ink} Ink */
/**
 * @typedef {{ series: Series[], colour: (series: Series) => string, x: [number, number], y: [number, number], logX:
 * boolean, logY: boolean, axis: string, ink: Ink, width: number, height: number, ratio: number, smoothed: boolean,
 * thick?: boolean, dash?: (series: Series) => number[], front?: Series[], caption?: string,
 * leaving?: import("../types.js").Leaving[], }} Picture
 */
/**
 * @typedef {{ left: number, right: number, top: number, bottom: number, xs: import("./scale.js").Scale, ys:
 * import("./scale.js").Scale, raster: boolean }} Layout
 */

const FONT = '11px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
const BAR = 8; // pixels of a band that has one column
const STROKED = 40000; // columns that a canvas can stroke within a frame; charts with more are rasterised

/**
 * The layout of the chart. @param {Picture} p @param {CanvasRenderingContext2D} context
 * @returns {Layout & { xt: any[], yt: any[] }}
 */
export function layout(p, context) {
  const top = 8;
  const bottom = p.height - 22;
  const rough = scale(p.y[0], p.y[1], p.logY, bottom, top);
  const yt = ticks(rough, Math.max(2, Math.floor((bottom - top) / 36)), "value");
  context.font = FONT;
  const widest = Math.max(...yt.map((each) => context.measureText(each.label).width), 16);
  const left = Math.ceil(Math.max(widest + 10, 38));
  const right = p.width - 12;
  const xs = scale(p.x[0], p.x[1], p.logX, left, right);
  const xt = p.caption
    ? [{ at: p.x[0] / 2 + p.x[1] / 2, label: p.caption }]
    : ticks(xs, Math.max(2, Math.floor((right - left) / 72)), p.axis.startsWith("tag:") ? "value" : p.axis);
  return { left, right, top, bottom, xs, ys: rough, xt, yt, raster: false };
}

/** @param {HTMLCanvasElement} canvas @param {Picture} p @returns {Layout} */
export function paint(canvas, p) {
  const { ratio } = p;
  const wide = Math.round(p.width * ratio);
  const high = Math.round(p.height * ratio);
  if (canvas.width !== wide) canvas.width = wide;
  if (canvas.height !== high) canvas.height = high;
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d", { alpha: false }));
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = p.ink.ground;
  context.fillRect(0, 0, p.width + 1, p.height + 1); // otherwise a fraction of a pixel at the edge stays black
  const l = layout(p, context);
  grid(context, p, l);
  const columns = p.series.reduce((sum, each) => sum + each.x.length, 0);
  l.raster = columns > STROKED;
  if (l.raster) rastered(context, p, l);
  else stroked(context, p, l);
  fronts(context, p, l);
  marks(context, p, l);
  edges(context, p, l);
  labels(context, p, l);
  return l;
}

/** @param {CanvasRenderingContext2D} context @param {Picture} p @param {any} l */
function grid(context, p, l) {
  const toY = toPixels(l.ys);
  context.lineWidth = 1;
  context.strokeStyle = p.ink.grid;
  context.beginPath();
  for (const { at, label } of l.yt) {
    if (!label && l.yt.length > 12) continue;
    const y = Math.round(toY(at)) + 0.5;
    context.moveTo(l.left, y);
    context.lineTo(l.right, y);
  }
  context.stroke();
}

/** @param {CanvasRenderingContext2D} context @param {Picture} p @param {Layout} l */
function stroked(context, p, l) {
  const toX = toPixels(l.xs);
  const toY = toHeights(l.ys);
  context.save();
  inside(context, l);
  context.lineCap = "round";
  for (const each of p.series) {
    context.fillStyle = p.colour(each);
    if (each.lower && each.upper) {
      context.globalAlpha = 0.18;
      fill(context, each.x, each.lower, each.upper, toX, toY);
    } else if (p.smoothed && each.rawMin && each.rawMax) {
      context.globalAlpha = 0.3;
      context.strokeStyle = p.colour(each);
      context.lineWidth = 1;
      envelope(context, each.x, each.rawMin, each.rawMax, toX, toY);
    }
  }
  context.globalAlpha = p.series.length > 60 ? 0.8 : 1;
  context.lineWidth = p.thick ? 2.4 : p.series.length > 30 ? 1.15 : 1.6;
  for (const each of p.series) {
    context.strokeStyle = p.colour(each);
    context.setLineDash(p.dash?.(each) ?? []);
    trace(context, each, toX, toY);
  }
  context.restore();
}

/** Draw only within the axes, until the context is restored. @param {CanvasRenderingContext2D} context
 * @param {Layout} l */
export function inside(context, l) {
  context.beginPath();
  context.rect(l.left, l.top - 4, l.right - l.left + 6, l.bottom - l.top + 6);
  context.clip();
  context.lineJoin = "round";
}

/** Draws the baseline's curves above all other curves. @param {CanvasRenderingContext2D} context
 * @param {Picture} p @param {Layout} l */
function fronts(context, p, l) {
  const toX = toPixels(l.xs);
  const toY = toHeights(l.ys);
  context.save();
  inside(context, l);
  for (const each of p.front ?? [])
    for (const [wide, tint] of /** @type {[number, string][]} */ ([
      [5, p.ink.ground],
      [2.6, p.colour(each)],
    ])) {
      context.lineWidth = wide;
      context.strokeStyle = tint;
      context.setLineDash(p.dash?.(each) ?? []);
      trace(context, each, toX, toY);
    }
  context.restore();
}

/**
 * @param {CanvasRenderingContext2D} context @param {Series} each @param {(v: number) => number} toX
 * @param {(v: number) => number} toY
 */
export function trace(context, { x, first, last, min, max }, toX, toY) {
  context.beginPath();
  let begun = false;
  let dot = 0;
  let dotX = 0;
  let dotY = 0;
  for (let k = 0; k < x.length; k++) {
    if (Number.isNaN(last[k])) continue;
    const px = toX(x[k]);
    const py = toY(first[k]);
    if (begun) context.lineTo(px, py);
    else context.moveTo(px, py);
    begun = true;
    if (max[k] > min[k]) {
      context.lineTo(px, toY(min[k]));
      context.lineTo(px, toY(max[k]));
      context.lineTo(px, toY(last[k]));
    }
    dot++;
    dotX = px;
    dotY = py;
  }
  if (dot === 1) context.arc(dotX, dotY, 2, 0, 7);
  context.stroke();
}

/**
 * @param {CanvasRenderingContext2D} context @param {any} x @param {import("../types.js").Values} lower
 * @param {import("../types.js").Values} upper @param {(v: number) => number} toX @param {(v: number) => number} toY
 */
function fill(context, x, lower, upper, toX, toY) {
  context.beginPath();
  const columns = [];
  for (let k = 0; k < x.length; k++) if (!Number.isNaN(lower[k]) && !Number.isNaN(upper[k])) columns.push(k);
  if (columns.length === 1) {
    const [k] = columns;
    context.rect(toX(x[k]) - BAR / 2, toY(upper[k]), BAR, toY(lower[k]) - toY(upper[k]));
  } else {
    for (const k of columns) context.lineTo(toX(x[k]), toY(upper[k]));
    for (const k of columns.reverse()) context.lineTo(toX(x[k]), toY(lower[k]));
  }
  context.fill();
}

/**
 * @param {CanvasRenderingContext2D} context @param {any} x @param {import("../types.js").Values} min
 * @param {import("../types.js").Values} max @param {(v: number) => number} toX @param {(v: number) => number} toY
 */
function envelope(context, x, min, max, toX, toY) {
  context.beginPath();
  let begun = false;
  for (let k = 0; k < x.length; k++) {
    if (Number.isNaN(min[k])) continue;
    const px = toX(x[k]);
    if (begun) context.lineTo(px, toY(min[k]));
    else context.moveTo(px, toY(min[k]));
    if (max[k] > min[k]) context.lineTo(px, toY(max[k]));
    begun = true;
  }
  context.stroke();
}

/** @param {CanvasRenderingContext2D} context @param {Picture} p @param {Layout} l */
function rastered(context, p, l) {
  const { ratio } = p;
  const x0 = Math.floor(l.left * ratio);
  const y0 = Math.floor((l.top - 4) * ratio);
  const wide = Math.ceil((l.right - l.left + 4) * ratio);
  const high = Math.ceil((l.bottom - l.top + 6) * ratio);
  if (wide < 2 || high < 2) return;
  const image = context.createImageData(wide, high);
  const r = emptyRaster(wide, high, p.series.length);
  const toX = toPixels({ ...l.xs, from: l.xs.from * ratio - x0, to: l.xs.to * ratio - x0 });
  const scaleY = { ...l.ys, from: l.ys.from * ratio - y0, to: l.ys.to * ratio - y0 };
  const toY = toHeights(scaleY);
  /** @type {Map<any, Float64Array>} */
  const pixelsByX = new Map(); // most series share their columns
  const pixelsOf = (/** @type {Series} */ { x }) => {
    const pixels = pixelsByX.get(x) ?? Float64Array.from(x, toX);
    pixelsByX.set(x, pixels);
    return pixels;
  };
  const half = (p.thick ? 1.1 : 0.55) * ratio;
  for (const [i, each] of p.series.entries()) {
    const dash = (p.dash?.(each) ?? []).map((part) => part * ratio);
    line(r, each, pixelsOf(each), scaleY, rgb(p.colour(each)), half, dash, 7 * i);
    if (each.lower && each.upper) area(r, each.x, each.lower, each.upper, toX, toY, rgb(p.colour(each)), 0.18);
    else if (p.smoothed && each.rawMin && each.rawMax) {
      const raw = { x: each.x, first: each.rawMin, last: each.rawMax, min: each.rawMin, max: each.rawMax };
      line(r, raw, pixelsOf(each), scaleY, rgb(p.colour(each)), 0.5 * ratio, [], 0, 0.3);
    }
  }
  intoImage(r, image, groundOf(high, p, l, y0), rgb(p.ink.strong));
  context.putImageData(image, x0, y0);
}

/** The colour of each row of background and grid; reading them from the canvas would take longer than the curves.
 * @param {number} high @param {Picture} p @param {any} l @param {number} y0 */
function groundOf(high, p, l, y0) {
  const word = (/** @type {[number, number, number]} */ [red, green, blue]) =>
    (0xff000000 | (blue << 16) | (green << 8) | red) >>> 0;
  const rows = new Uint32Array(high).fill(word(rgb(p.ink.ground)));
  const toY = toPixels(l.ys);
  const grid = word(rgb(p.ink.grid));
  for (const { at, label } of l.yt) {
    if (!label && l.yt.length > 12) continue;
    const row = Math.floor(Math.round(toY(at)) * p.ratio - y0);
    for (let n = 0; n < p.ratio; n++) if (row + n >= 0 && row + n < high) rows[row + n] = grid;
  }
  return rows;
}

/**
 * Marks where NaN begins, and where a later session took over. @param {CanvasRenderingContext2D} context
 * @param {Picture} p @param {Layout} l
 */
function marks(context, p, l) {
  const toX = toPixels(l.xs);
  const inside = (/** @type {number} */ x) => x >= l.left && x <= l.right;
  context.lineWidth = 1;
  for (const each of p.series.slice(0, 200)) {
    context.strokeStyle = p.colour(each);
    context.globalAlpha = 0.7;
    context.setLineDash([2, 3]);
    for (const at of each.takeovers.slice(0, 50)) {
      const x = Math.round(toX(at)) + 0.5;
      if (!inside(x)) continue;
      context.beginPath();
      context.moveTo(x, l.top);
      context.lineTo(x, l.bottom);
      context.stroke();
    }
    context.setLineDash([]);
    context.globalAlpha = 1;
    context.lineWidth = 1.6;
    for (const at of each.broken.slice(0, 20)) {
      const x = toX(at);
      if (!inside(x)) continue;
      context.beginPath();
      for (const side of [-3, 3]) {
        context.moveTo(x - 3, l.bottom - 5 - side);
        context.lineTo(x + 3, l.bottom - 5 + side);
      }
      context.stroke();
    }
    context.lineWidth = 1;
  }
}

/** Where curves leave the range: a triangle at the edge, and the farthest value if there is room for it.
 * @param {Picture} p @param {Layout} l
 * @returns {{ x: number, y: number, way: 1 | -1, colour: string, text: string }[]} */
export function edgeMarks(p, l) {
  const toX = toPixels(l.xs);
  const list = (p.leaving ?? []).slice(0, 50).sort((a, b) => a.x - b.x);
  let free = { up: -Infinity, down: -Infinity }; // where the labels before end
  return list.map(({ series, x, value, above }) => {
    const at = Math.min(Math.max(toX(x), l.left + 5), l.right - 5);
    const text = far(value);
    const side = above ? "up" : "down";
    const fits = at - free[side] > 16;
    if (fits) free = { ...free, [side]: at + 7 * text.length + 8 };
    return {
      x: at,
      y: above ? l.top - 3 : l.bottom + 1,
      way: above ? 1 : -1,
      colour: p.colour(series),
      text: fits ? text : "",
    };
  });
}

/** @param {CanvasRenderingContext2D} context @param {Picture} p @param {Layout} l */
function edges(context, p, l) {
  context.font = FONT;
  context.textBaseline = "middle";
  for (const { x, y, way, colour, text } of edgeMarks(p, l)) {
    context.fillStyle = colour;
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(x - 4.5, y + way * 8);
    context.lineTo(x + 4.5, y + way * 8);
    context.fill();
    if (!text) continue;
    const wide = context.measureText(text).width;
    const right = x + 8 + wide < l.right + 8;
    const left = right ? x + 8 : x - 8 - wide;
    context.fillStyle = p.ink.ground;
    context.globalAlpha = 0.8;
    context.fillRect(left - 2, y + way * 6 - 7, wide + 4, 14);
    context.globalAlpha = 1;
    context.fillStyle = p.ink.strong;
    context.textAlign = "left";
    context.fillText(text, left, y + way * 6);
  }
}

/** @param {CanvasRenderingContext2D} context @param {Picture} p @param {any} l */
function labels(context, p, l) {
  const toX = toPixels(l.xs);
  const toY = toPixels(l.ys);
  context.font = FONT;
  context.fillStyle = p.ink.text;
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const { at, label } of l.yt) if (label) context.fillText(label, l.left - 7, toY(at));
  context.strokeStyle = p.ink.axis;
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(l.left, Math.round(l.bottom) + 0.5);
  context.lineTo(l.right, Math.round(l.bottom) + 0.5);
  for (const { at, label } of p.caption ? [] : l.xt) {
    const x = Math.round(toX(at)) + 0.5;
    context.moveTo(x, l.bottom + 1);
    context.lineTo(x, l.bottom + (label ? 4 : 3));
  }
  context.stroke();
  context.textBaseline = "top";
  let end = -Infinity;
  for (const { at, label } of l.xt) {
    if (!label) continue;
    const half = context.measureText(label).width / 2;
    const x = Math.min(Math.max(toX(at), half + 1), p.width - half - 1);
    if (x - half < end + 8) continue;
    context.textAlign = "center";
    context.fillText(label, x, l.bottom + 7);
    end = x + half;
  }
}
