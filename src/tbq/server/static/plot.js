// The chart of a card: fetches its data and draws it. It is not a Preact component, because a frame may take only
// milliseconds.

import { fetchFrame, ranges, report } from "./api.js";
import { inkOf, sharpness } from "./chart/canvas.js";
import { bandWithin, curvesOf, inRow, leaving, merged, rangeOf, withEdges } from "./chart/series.js";
import { crosshair, dots } from "./chart/over.js";
import { inside, paint, trace } from "./chart/paint.js";
import { toHeights, toPixels, toValue } from "./chart/scale.js";
import { hover, fixed } from "./hover.js";
import { inTurn } from "./live.js";
import {
  byId,
  shown,
  shownSet,
  runs,
  version,
  banded,
  groupOf,
  groupColour,
  colourOf,
  hot,
  hotGroup,
  isBase,
  legendOf,
  roundOf,
  withoutCurve,
} from "./runs.js";
import { axis, band, group, smooth, zoom, logs, logX, entire } from "./state.js";
import { DASHES, tagLabels, tagsOn } from "./together.js";

/** @typedef {import("./types.js").Curves} Curves */
/** @typedef {import("./types.js").Series} Series */

/** The charts by tag, for tests. @type {Map<string, any>} */
export const charts = new Map();

const PAUSE = 60; // milliseconds between two requests of a card

/** Whether the card shows one value per run, in order, instead of curves. @param {string} tag */
const isRow = (tag) => withoutCurve.value.has(tag) && tagsOn(tag).length === 1;

/** The parameters of a card's request. @param {string} tag @param {number} width */
export function question(tag, width) {
  const grouped = banded.value;
  const row = isRow(tag);
  const x = row ? "step" : axis.value;
  if (report !== null)
    return {
      tags: tagsOn(tag),
      x,
      width: 600,
      smooth: smooth.value || "",
      group: grouped ? group.value : "",
      band: grouped ? band.value : "",
    };
  const ids = shown.value;
  return {
    tags: tagsOn(tag),
    x,
    width,
    smooth: smooth.value || "",
    log: `${!row && logX.value && axis.value !== "wall" ? "x" : ""}${logs.value.has(tag) ? "y" : ""}`,
    runs: ids.length === runs.value.length ? "*" : ranges(ids),
    group: grouped ? group.value : "",
    band: grouped ? band.value : "",
    low: row ? undefined : zoom.value?.[0],
    high: row ? undefined : zoom.value?.[1],
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
    /** @type {import("./chart/over.js").Dot[]} */ this.marks = []; // of the values that the tooltip shows
    this.row = false; // one value per run, in order
    this.left = 0; // curves that leave the range
    this.drawn = 0; // duration of the last drawing, in milliseconds
    this.timer = 0; // of the next request
    this.asked = -Infinity; // when the last request was sent
    this.frame = 0; // the animation frame that will draw
    this.version = -1;
    this.error = "";
    this.loading = false;
    this.width = 0;
    this.height = 0;
    /** @type {HTMLCanvasElement | null} */ this.base = null;
    /** @type {HTMLCanvasElement | null} */ this.over = null;
    /** @type {AbortController | null} */ this.abort = null;
    this.visible = false;
    this.flying = ""; // the request that has no answer yet
    this.stale = false; // the drawn data does not answer the last request
    /** @type {Record<string, any> | null} */ this.params = null;
    this.tell = () => {};
  }

  /** Fetch the card's data: now, or PAUSE after the last request, as while the user drags a chart. */
  askSoon() {
    clearTimeout(this.timer);
    const wait = this.curves ? this.asked + PAUSE - performance.now() : 0;
    this.timer = window.setTimeout(() => this.visible && this.ask(), Math.max(wait, 0));
  }

  /** Draw in the next frame; several calls draw once. */
  drawSoon() {
    this.frame ||= requestAnimationFrame(() => this.draw());
  }

  /** Stop everything: the card was removed. */
  end() {
    clearTimeout(this.timer);
    cancelAnimationFrame(this.frame);
    this.abort?.abort();
  }

  /** How many columns to request: a multiple of 50, so that small changes of size need no new data. */
  columns() {
    return Math.max(100, Math.ceil((this.width || 400) / 50) * 50);
  }

  /** Fetch the card's data now. */
  ask() {
    this.asked = performance.now();
    this.stale = false;
    if (!this.params) return;
    const params = report === null ? { ...this.params, width: this.columns() } : this.params;
    // If the log grew while the same request is under way, repeat it after its answer.
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
      const { tags, ...question } = params;
      const { signal } = abort;
      const frames = await Promise.all(
        tags.map((/** @type {string} */ tag) =>
          inTurn(() => fetchFrame("curves", { ...question, tag }, { signal }), signal),
        ),
      );
      if (signal.aborted) return;
      const logX = String(params.log ?? "").includes("x");
      const curves = merged(frames.map((frame) => curvesOf(frame, logX)));
      this.row = isRow(this.tag);
      this.curves = this.row ? inRow(curves) : curves;
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

  /** The shown series. A report embeds all of them, so this leaves out the hidden ones. */
  series() {
    const list = this.curves?.series ?? [];
    if (report === null || banded.peek()) return list;
    const set = shownSet.peek();
    return list.filter((each) => each.id === null || set.has(each.id));
  }

  /** Dashes tell the tags of a chart apart, else the groups of one colour. @param {Series} series */
  dash(series) {
    const tags = tagsOn(this.tag);
    const place = tags.length > 1 ? Math.max(tags.indexOf(series.tag), 0) : roundOf(series);
    return DASHES[Math.min(place, DASHES.length - 1)];
  }

  /** The name of a curve, with its tag if there are several. @param {Series} series @param {boolean} whole */
  label(series, whole = false) {
    const tags = tagsOn(this.tag);
    const name = whole ? nameOf(series) : legendOf(series);
    return tags.length > 1 ? `${name} · ${whole ? series.tag : tagLabels(tags).get(series.tag)}` : name;
  }

  /** The baseline's curves, by tag. */
  bases() {
    return new Map(
      this.series()
        .filter(isBase)
        .map((each) => [each.tag, each]),
    );
  }

  /** The x of the mouse on this chart, which may be a row of dots. @param {{ x: number, px: number }} at */
  xAt({ x, px }) {
    return this.row && this.layout ? toValue(this.layout.xs, px) : x;
  }

  /** @returns {import("./chart/paint.js").Picture | null} */
  picture() {
    if (!this.curves || !this.base || !this.width || !this.height) return null;
    const visible = { ...this.curves, series: this.series() };
    const x = /** @type {[number, number]} */ (
      (this.row ? null : zoom.peek()) ?? this.domain ?? [this.curves.low, this.curves.high]
    );
    const logY = logs.peek().has(this.tag);
    const usual = entire.peek().has(this.tag) ? undefined : this.curves.usual[logY ? "log" : "linear"];
    const y = this.yZoom ?? rangeOf(visible, x, logY, usual);
    const left = this.yZoom ? [] : leaving(visible.series, x, y, logY);
    const gone = new Set(left.map(({ series }) => series));
    return {
      leaving: left,
      series: visible.series.map((each) => (gone.has(each) ? bandWithin(each, y) : each)),
      colour,
      dash: (series) => this.dash(series),
      front: visible.series.filter(isBase),
      x,
      y,
      logX: !this.row && logX.peek() && axis.peek() !== "wall",
      logY,
      caption: this.row ? `${banded.peek() ? "groups" : "runs"} in order of their value` : "",
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
    const left = picture.leaving?.length ?? 0;
    if (left !== this.left) {
      this.left = left;
      this.tell();
    }
    this.drawn = performance.now() - begin;
    this.drawOver();
  }

  /** Draw dots on the curves. @param {import("./chart/over.js").Dot[]} marks */
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
    const toY = toHeights(l.ys);
    const lit = this.series().filter((each) =>
      each.group !== null
        ? each.group === hotGroup.peek() || each.group === groupOf.peek().get(hot.peek() ?? -1)?.name
        : each.id === hot.peek(),
    );
    if (lit.length) {
      context.save();
      if (this.curves.series.length > lit.length) {
        context.fillStyle = ink.ground;
        context.globalAlpha = 0.6;
        context.fillRect(l.left, l.top - 4, l.right - l.left + 6, l.bottom - l.top + 3);
        context.globalAlpha = 1;
      }
      inside(context, l);
      context.lineWidth = 2.2;
      for (const each of lit) {
        context.strokeStyle = colour(each);
        context.setLineDash(this.dash(each));
        trace(context, each, toX, toY);
      }
      context.restore();
    }
    const at = hover.peek() ?? fixed.peek();
    if (at && !this.row) crosshair(context, l, at.x, ink);
    dots(context, l, this.marks, ink);
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
