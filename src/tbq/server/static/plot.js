// What is behind a card: its data, and how it is drawn. It lives outside of Preact, since a frame must take
// milliseconds.

import { fetchFrame, ranges, report } from "./api.js";
import { curvesOf, extent, withEdges } from "./chart/series.js";
import { paint, trace } from "./chart/paint.js";
import { toPixels } from "./chart/scale.js";
import { hover, fixed } from "./hover.js";
import { inTurn } from "./live.js";
import { byId, shown, shownSet, runs, version, banded, groupOf, groupColour, colourOf, hot, hotGroup } from "./runs.js";
import { axis, band, group, smooth, zoom, logs, logX, outliers } from "./state.js";

/** @typedef {import("./types.js").Curves} Curves */
/** @typedef {import("./types.js").Series} Series */

/** For tests and for the curious: what each chart shows, read only. @type {Map<string, any>} */
export const charts = new Map();

const PAUSE = 60; // milliseconds between two questions of a card

/**
 * The colours of the ground that is on the screen. @param {Element} element @returns {import("./chart/paint.js").Ink}
 */
export function inkOf(element) {
  const style = getComputedStyle(element);
  const take = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
  return {
    ground: take("--card"),
    grid: take("--grid"),
    axis: take("--line-strong"),
    text: take("--muted"),
    strong: take("--text"),
  };
}

const printed = matchMedia("print");
/** Pixels of a canvas for one of the page; paper shows more of them. */
const sharpness = () => (printed.matches ? 3 : Math.min(devicePixelRatio || 1, 2));

/** What the server is asked for a card. @param {string} tag @param {number} width */
export function question(tag, width) {
  const grouped = banded.value;
  if (report !== null)
    return {
      tag,
      x: axis.value,
      width: 600,
      smooth: smooth.value || "",
      group: grouped ? group.value : "",
      band: grouped ? band.value : "",
    };
  const ids = shown.value;
  return {
    tag,
    x: axis.value,
    width,
    smooth: smooth.value || "",
    log: `${logX.value && axis.value !== "wall" ? "x" : ""}${logs.value.has(tag) ? "y" : ""}`,
    runs: ids.length === runs.value.length ? "*" : ranges(ids),
    group: grouped ? group.value : "",
    band: grouped ? band.value : "",
    low: zoom.value?.[0],
    high: zoom.value?.[1],
  };
}

/** @param {Series} series */
export const colour = (series) =>
  series.group !== null ? groupColour(series.group) : colourOf(/** @type {number} */ (series.id));
/** @param {Series} series */
export const nameOf = (series) => series.group ?? byId.peek().get(/** @type {number} */ (series.id))?.name ?? "";

export class Chart {
  /** @param {string} tag */
  constructor(tag) {
    this.tag = tag;
    /** @type {Curves | null} */ this.curves = null;
    /** @type {[number, number] | null} */ this.yZoom = null;
    /** @type {import("./chart/paint.js").Layout | null} */ this.layout = null;
    /** @type {[number, number] | null} */ this.domain = null; // of x, without zoom
    /** @type {{ from: number, to: number, y: boolean } | null} */ this.brush = null;
    /** @type {{ key: string, curves: Curves } | null} */ this.whole = null; // over the full length, as last seen
    /** @type {{ x: number, y: number, colour: string }[]} */ this.marks = []; // of the values that the tooltip shows
    this.drawn = 0; // milliseconds that the last drawing took
    this.timer = 0; // of the next question
    this.asked = -Infinity; // when the last question was sent
    this.frame = 0; // of the next drawing
    this.version = -1;
    this.error = "";
    this.loading = false;
    this.width = 0;
    this.height = 0;
    /** @type {HTMLCanvasElement | null} */ this.base = null;
    /** @type {HTMLCanvasElement | null} */ this.over = null;
    /** @type {AbortController | null} */ this.abort = null;
    this.visible = false;
    this.flying = ""; // the question that is on its way
    this.stale = false; // what is drawn is not what was asked for last
    /** @type {Record<string, any> | null} */ this.params = null;
    this.tell = () => {};
  }

  /** Ask for what the card shows: at once, unless it was just asked, as it is while someone moves a chart. */
  askSoon() {
    clearTimeout(this.timer);
    const wait = this.curves ? this.asked + PAUSE - performance.now() : 0;
    this.timer = window.setTimeout(() => this.visible && this.ask(), Math.max(wait, 0));
  }

  /** Draw in the next frame, once, whatever the reasons. */
  drawSoon() {
    this.frame ||= requestAnimationFrame(() => this.draw());
  }

  /** The card is gone. */
  end() {
    clearTimeout(this.timer);
    cancelAnimationFrame(this.frame);
    this.abort?.abort();
  }

  /** How many columns of pixels the server is asked for: in steps of 50, so that small changes ask nothing new. */
  columns() {
    return Math.max(100, Math.ceil((this.width || 400) / 50) * 50);
  }

  /** Ask for what the card shows, now. */
  ask() {
    this.asked = performance.now();
    this.stale = false;
    if (!this.params) return;
    const params = report === null ? { ...this.params, width: this.columns() } : this.params;
    // The same question after the log has grown waits for the answer that is on its way.
    if (this.flying && this.flying === JSON.stringify(params)) {
      this.stale = true;
      return;
    }
    this.fetch(params);
  }

  /** @param {Record<string, any>} params */
  async fetch(params) {
    this.abort?.abort();
    const abort = new AbortController();
    this.abort = abort;
    const now = version.peek();
    this.flying = JSON.stringify(params);
    this.loading = !this.curves;
    if (!this.curves) this.tell();
    try {
      const frame = await inTurn(() => fetchFrame("curves", params, { signal: abort.signal }), abort.signal);
      if (abort.signal.aborted) return;
      this.curves = curvesOf(frame, String(params.log ?? "").includes("x"));
      const { low, high: _, ...rest } = params;
      const key = JSON.stringify(rest);
      if (low === undefined) {
        this.domain = [this.curves.low, this.curves.high];
        this.whole = { key, curves: this.curves };
      } else if (this.whole?.key === key) this.curves = withEdges(this.curves, this.whole.curves);
      this.version = now;
      this.error = "";
    } catch (error) {
      if (abort.signal.aborted) return;
      this.error = /** @type {Error} */ (error).message;
    }
    this.loading = false;
    this.flying = "";
    this.draw();
    this.tell();
    if (this.stale && this.visible) this.ask();
  }

  /** The series that are shown: in a report all are embedded, so hidden ones are left out here. */
  series() {
    const list = this.curves?.series ?? [];
    if (report === null || banded.peek()) return list;
    const set = shownSet.peek();
    return list.filter((each) => each.id === null || set.has(each.id));
  }

  /** @returns {import("./chart/paint.js").Picture | null} */
  picture() {
    if (!this.curves || !this.base || !this.width || !this.height) return null;
    const visible = { ...this.curves, series: this.series() };
    const x = zoom.peek() ?? this.domain ?? [this.curves.low, this.curves.high];
    const logY = logs.peek().has(this.tag);
    const span = extent(visible, x[0], x[1], outliers.peek(), logY) ?? [0, 1];
    const pad = Math.min((span[1] - span[0]) * 0.04, Number.MAX_VALUE / 10) || Math.abs(span[0]) * 0.05 || 0.5;
    // The same share on a logarithmic axis.
    const room = Math.min(Math.exp(0.04 * Math.log1p((span[1] - span[0]) / span[0])) || 1.1, 1.1);
    const y =
      this.yZoom ??
      /** @type {[number, number]} */ (logY ? [span[0] / room, span[1] * room] : [span[0] - pad, span[1] + pad]);
    return {
      series: visible.series,
      colour,
      x: /** @type {[number, number]} */ (x),
      y,
      logX: logX.peek() && axis.peek() !== "wall",
      logY,
      axis: axis.peek(),
      ink: inkOf(this.base),
      width: this.width,
      height: this.height,
      ratio: sharpness(),
      smoothed: smooth.peek() > 0,
    };
  }

  draw() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    const picture = this.picture();
    if (!picture || !this.base) return;
    const begin = performance.now();
    this.layout = paint(this.base, picture);
    this.drawn = performance.now() - begin;
    this.drawOver();
  }

  /** Mark points of the curves. @param {{ x: number, y: number, colour: string }[]} marks */
  mark(marks) {
    if (JSON.stringify(marks) === JSON.stringify(this.marks)) return;
    this.marks = marks;
    this.drawOver();
  }

  /** The crosshair, the run under the mouse and the brush, above the curves. */
  drawOver() {
    const canvas = this.over;
    const l = this.layout;
    if (!canvas || !l || !this.curves) return;
    const ratio = sharpness();
    const [wide, high] = [Math.round(this.width * ratio), Math.round(this.height * ratio)];
    if (canvas.width !== wide) canvas.width = wide;
    if (canvas.height !== high) canvas.height = high;
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    const ink = inkOf(canvas);
    const toX = toPixels(l.xs);
    const toY = toPixels(l.ys);
    const lit = this.series().find((each) =>
      each.group !== null
        ? each.group === hotGroup.peek() || each.group === groupOf.peek().get(hot.peek() ?? -1)?.name
        : each.id === hot.peek(),
    );
    if (lit) {
      context.save();
      if (this.curves.series.length > 1) {
        context.fillStyle = ink.ground;
        context.globalAlpha = 0.6;
        context.fillRect(l.left, l.top - 4, l.right - l.left + 6, l.bottom - l.top + 3);
        context.globalAlpha = 1;
      }
      context.beginPath();
      context.rect(l.left, l.top - 4, l.right - l.left + 6, l.bottom - l.top + 6);
      context.clip();
      context.lineJoin = "round";
      context.strokeStyle = colour(lit);
      context.lineWidth = 2.2;
      trace(context, lit, toX, toY);
      context.restore();
    }
    const at = hover.peek() ?? fixed.peek();
    if (at) {
      const x = Math.round(toX(at.x)) + 0.5;
      if (x >= l.left && x <= l.right) {
        context.strokeStyle = ink.text;
        context.globalAlpha = 0.7;
        context.lineWidth = 1;
        context.beginPath();
        context.moveTo(x, l.top);
        context.lineTo(x, l.bottom);
        context.stroke();
        context.globalAlpha = 1;
      }
    }
    for (const { x, y, colour: tint } of this.marks) {
      const [px, py] = [toX(x), toY(y)];
      if (!(px >= l.left - 1 && px <= l.right + 1 && py >= l.top - 4 && py <= l.bottom + 2)) continue;
      context.beginPath();
      context.arc(px, py, 3.5, 0, 7);
      context.fillStyle = tint;
      context.fill();
      context.strokeStyle = ink.ground;
      context.lineWidth = 1.5;
      context.stroke();
    }
    if (this.brush) {
      context.fillStyle = ink.strong;
      context.globalAlpha = 0.1;
      const [a, b] = [Math.min(this.brush.from, this.brush.to), Math.max(this.brush.from, this.brush.to)];
      if (this.brush.y) context.fillRect(l.left, a, l.right - l.left, b - a);
      else context.fillRect(a, l.top, b - a, l.bottom - l.top);
      context.globalAlpha = 1;
    }
  }
}
