// One card: the curves of a tag, with zoom, crosshair, exact values and downloads.

import { html, useEffect, useRef, useState, useLayoutEffect, effect, untracked } from "./ui.js";
import { fetchFrame, fetchText, link, ranges, report } from "./api.js";
import { curvesOf, extent } from "./chart/series.js";
import { paint, trace } from "./chart/paint.js";
import { toPixels, toValue } from "./chart/scale.js";
import { pngOf, svgOf } from "./chart/svg.js";
import { hover, fixed, readings } from "./hover.js";
import { Tooltip } from "./tooltip.js";
import { inTurn } from "./live.js";
import { Menu, Item, IconButton, download, copy, say, fileName } from "./menu.js";
import { byId, shown, shownSet, runs, version, banded, groupOf, groupColour, colourOf, hot, hotGroup, toggled } from "./runs.js";
import { axis, band, group, smooth, zoom, logs, logX, outliers, pins, full, dark } from "./state.js";
import { count } from "./format.js";

/** @typedef {import("./types.js").Curves} Curves */
/** @typedef {import("./types.js").Series} Series */

/** For tests and for the curious: what each chart shows, read only. @type {Map<string, any>} */
export const charts = new Map();

/** The colours of the ground that is on the screen. @param {Element} element @returns {import("./chart/paint.js").Ink} */
export function inkOf(element) {
  const style = getComputedStyle(element);
  const take = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
  return { ground: take("--card"), grid: take("--grid"), axis: take("--line-strong"), text: take("--muted"), strong: take("--text") };
}

/** What the server is asked for a card. @param {string} tag @param {number} width */
function question(tag, width) {
  const grouped = banded.value;
  if (report !== null) return { tag, x: "step", width: 600, group: grouped ? group.value : "", band: grouped ? band.value : "" };
  const ids = shown.value;
  return {
    tag, x: axis.value, width, smooth: smooth.value || "", log: `${logX.value && axis.value !== "wall" ? "x" : ""}${logs.value.has(tag) ? "y" : ""}`,
    runs: ids.length === runs.value.length ? "*" : ranges(ids),
    group: grouped ? group.value : "", band: grouped ? band.value : "",
    low: zoom.value?.[0], high: zoom.value?.[1],
  };
}

/** @param {Series} series */
const colour = (series) => (series.group !== null ? groupColour(series.group) : colourOf(/** @type {number} */ (series.id)));
/** @param {Series} series */
export const nameOf = (series) => series.group ?? byId.peek().get(/** @type {number} */ (series.id))?.name ?? "";

/** What is behind a card: its data and how it is drawn. It lives outside of Preact, since a frame must take milliseconds. */
class Chart {
  /** @param {string} tag */
  constructor(tag) {
    this.tag = tag;
    /** @type {Curves | null} */ this.curves = null;
    /** @type {[number, number] | null} */ this.yZoom = null;
    /** @type {import("./chart/paint.js").Layout | null} */ this.layout = null;
    /** @type {[number, number] | null} */ this.domain = null; // of x, without zoom
    /** @type {{ from: number, to: number, y: boolean } | null} */ this.brush = null;
    this.drawn = 0; // milliseconds that the last drawing took
    this.asked = 0;
    this.version = -1;
    this.error = "";
    this.loading = false;
    this.width = 0;
    this.height = 0;
    /** @type {HTMLCanvasElement | null} */ this.base = null;
    /** @type {HTMLCanvasElement | null} */ this.over = null;
    /** @type {AbortController | null} */ this.abort = null;
    this.visible = false;
    this.stale = false; // what is drawn is not what was asked for last
    /** @type {Record<string, any> | null} */ this.params = null;
    this.tell = () => {};
  }

  /** Ask for what the card shows, now. */
  ask() {
    this.stale = false;
    if (!this.params) return;
    const width = Math.max(100, Math.ceil(this.width / 50) * 50);
    this.fetch(report === null ? { ...this.params, width } : this.params);
  }

  /** @param {Record<string, any>} params */
  async fetch(params) {
    this.abort?.abort();
    const abort = (this.abort = new AbortController());
    const now = version.peek();
    this.loading = !this.curves;
    if (!this.curves) this.tell();
    try {
      const frame = await inTurn(() => fetchFrame("curves", params, { signal: abort.signal }), abort.signal);
      if (abort.signal.aborted) return;
      this.curves = curvesOf(frame, String(params.log ?? "").includes("x"));
      if (params.low === undefined) this.domain = [this.curves.low, this.curves.high];
      this.version = now;
      this.error = "";
    } catch (error) {
      if (abort.signal.aborted) return;
      this.error = /** @type {Error} */ (error).message;
    }
    this.loading = false;
    this.draw();
    this.tell();
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
    const pad = (span[1] - span[0]) * 0.04 || Math.abs(span[0]) * 0.05 || 0.5;
    const y = this.yZoom ?? /** @type {[number, number]} */ (logY ? [span[0] * 0.9, span[1] * 1.1] : [span[0] - pad, span[1] + pad]);
    return {
      series: visible.series, colour, x: /** @type {[number, number]} */ (x), y, logX: logX.peek() && axis.peek() !== "wall", logY, axis: axis.peek(),
      ink: inkOf(this.base), width: this.width, height: this.height, ratio: Math.min(devicePixelRatio || 1, 2), smoothed: smooth.peek() > 0,
    };
  }

  draw() {
    const picture = this.picture();
    if (!picture || !this.base) return;
    const begin = performance.now();
    this.layout = paint(this.base, picture);
    this.drawn = performance.now() - begin;
    this.drawOver();
  }

  /** The crosshair, the run under the mouse and the brush, above the curves. */
  drawOver() {
    const canvas = this.over;
    const l = this.layout;
    if (!canvas || !l || !this.curves) return;
    const ratio = Math.min(devicePixelRatio || 1, 2);
    const [wide, high] = [Math.round(this.width * ratio), Math.round(this.height * ratio)];
    if (canvas.width !== wide) canvas.width = wide;
    if (canvas.height !== high) canvas.height = high;
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    const ink = inkOf(canvas);
    const toX = toPixels(l.xs);
    const toY = toPixels(l.ys);
    const lit = this.series().find((each) => (each.group !== null ? each.group === hotGroup.peek() || each.group === groupOf.peek().get(hot.peek() ?? -1)?.name : each.id === hot.peek()));
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

/** @param {{ tag: string, description?: string, big?: boolean }} props */
export function Card({ tag, description = "", big = false }) {
  const frame = useRef(/** @type {HTMLElement | null} */ (null));
  const base = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  const over = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  const chart = useRef(/** @type {Chart | null} */ (null));
  const [, setTurn] = useState(0);
  chart.current ??= new Chart(tag);
  const c = chart.current;

  useLayoutEffect(() => {
    const node = /** @type {HTMLElement} */ (frame.current);
    c.base = base.current;
    c.over = over.current;
    c.tell = () => setTurn((turn) => turn + 1);
    charts.set(big ? `${tag} (full)` : tag, c);
    const measure = () => {
      const box = node.getBoundingClientRect();
      const changed = Math.abs(box.width - c.width) > 0.5 || Math.abs(box.height - c.height) > 0.5;
      c.width = box.width;
      c.height = box.height;
      return changed;
    };
    measure();
    const stops = [
      // Data: whenever what is asked for changes, and the card is on the screen.
      effect(() => {
        const width = Math.max(100, Math.ceil((c.width || 400) / 50) * 50);
        const params = question(tag, width);
        version.value;
        untracked(() => {
          const urgent = c.curves && c.visible;
          clearTimeout(c.asked);
          c.params = params;
          c.stale = true;
          c.draw();
          c.asked = window.setTimeout(() => c.visible && c.ask(), urgent ? 30 : 0);
        });
      }),
      // Looks.
      effect(() => {
        dark.value; logs.value; logX.value; outliers.value; group.value; groupOf.value; runs.value; shownSet.value;
        untracked(() => requestAnimationFrame(() => c.draw()));
      }),
      effect(() => {
        hover.value; fixed.value; hot.value; hotGroup.value;
        untracked(() => c.drawOver());
      }),
    ];
    const sized = new ResizeObserver(() => {
      if (!measure()) return;
      c.draw();
      if (c.curves && Math.abs(c.curves.width - c.width) > 100) c.ask();
    });
    sized.observe(node);
    const seen = new IntersectionObserver(([entry]) => {
      c.visible = entry.isIntersecting;
      if (c.visible && c.stale) c.ask();
    }, { rootMargin: "100px" });
    seen.observe(node);
    return () => {
      for (const stop of stops) stop();
      sized.disconnect();
      seen.disconnect();
      clearTimeout(c.asked);
      c.abort?.abort();
      charts.delete(big ? `${tag} (full)` : tag);
    };
  }, [tag]);

  const pinned = pins.value.includes(tag);
  const log = logs.value.has(tag);
  const cut = tag.lastIndexOf("/") + 1;
  const empty = c.curves && c.series().every((each) => !each.x.length || each.last.every(Number.isNaN));
  return html`<section class=${`card ${big ? "card-big" : ""}`} aria-label=${tag} data-tag=${tag}>
    <header class="card-head">
      <h3 class="card-title" title=${description || tag}><span class="dim">${tag.slice(0, cut)}</span>${tag.slice(cut)}</h3>
      <span class="card-tools">
        <button type="button" class="text-button" aria-pressed=${log} title="Logarithmic y axis" onClick=${() => (logs.value = toggled(logs.value, tag))}>log</button>
        <${IconButton} name="pin" label=${pinned ? "Unpin" : "Pin to the top"} pressed=${pinned} onClick=${() => (pins.value = pinned ? pins.value.filter((each) => each !== tag) : [...pins.value, tag])} />
        <${IconButton} name=${big ? "close" : "full"} label=${big ? "Close" : "Full screen"} onClick=${() => (full.value = big ? "" : tag)} />
        <${CardMenu} chart=${c} />
      </span>
    </header>
    <div class="plot" ref=${frame} tabindex="0" role="group" aria-label=${`Chart of ${tag}. Arrow keys move, plus and minus zoom, 0 shows all.`}
      onPointerDown=${(/** @type {PointerEvent} */ e) => press(c, e)} onPointerMove=${(/** @type {PointerEvent} */ e) => move(c, e)} onPointerLeave=${() => leave(c)}
      onDblClick=${() => reset(c)} onWheel=${(/** @type {WheelEvent} */ e) => wheel(c, e)} onKeyDown=${(/** @type {KeyboardEvent} */ e) => key(c, e)}>
      <canvas ref=${base} class="plot-base" role="img" aria-label=${said(c)}></canvas>
      <canvas ref=${over} class="plot-over" aria-hidden="true"></canvas>
      ${c.loading && html`<div class="plot-note loading" aria-hidden="true"></div>`}
      ${c.error && html`<div class="plot-note" role="status">${c.error}</div>`}
      ${!c.error && empty && html`<div class="plot-note">No points of the shown runs${zoom.value ? " in this range" : ""}.</div>`}
      <${Tooltip} chart=${c} tag=${tag} />
    </div>
  </section>`;
}

/** What the picture shows, for those who cannot see it. @param {Chart} c */
function said(c) {
  if (!c.curves) return `${c.tag}: loading`;
  const n = c.curves.series.length;
  return `${c.tag}: ${count(n)} ${banded.peek() ? (n === 1 ? "group" : "groups") : n === 1 ? "run" : "runs"}, ${count(c.curves.points)} points`;
}

// The mouse and the keyboard.

/** @param {Chart} c @param {PointerEvent | WheelEvent} event */
function place(c, event) {
  const box = /** @type {HTMLElement} */ (event.currentTarget ?? c.base).getBoundingClientRect();
  return { px: event.clientX - box.left, py: event.clientY - box.top };
}

/** @param {Chart} c @param {PointerEvent} event */
function press(c, event) {
  const l = c.layout;
  if (!l || event.button !== 0 || /** @type {Element} */ (event.target).closest(".tooltip")) return;
  const { px, py } = place(c, event);
  const pan = event.altKey || py > l.bottom;
  const node = /** @type {HTMLElement} */ (event.currentTarget);
  const y = event.shiftKey;
  const begin = { ...l.xs };
  if (event.pointerType === "touch" && !pan) return; // a finger scrolls the page; two zoom the axis
  node.setPointerCapture(event.pointerId);
  const drag = (/** @type {PointerEvent} */ e) => {
    const now = place(c, /** @type {any} */ ({ clientX: e.clientX, clientY: e.clientY, currentTarget: node }));
    if (pan) {
      const a = toValue(begin, begin.from + px - now.px);
      const b = toValue(begin, begin.to + px - now.px);
      zoom.value = [a, b];
      return;
    }
    if (Math.abs(now.px - px) + Math.abs(now.py - py) < 4 && !c.brush) return;
    c.brush = y ? { from: py, to: clip(now.py, l.top, l.bottom), y } : { from: px, to: clip(now.px, l.left, l.right), y };
    c.drawOver();
  };
  const end = () => {
    node.removeEventListener("pointermove", drag);
    node.removeEventListener("pointerup", end);
    node.removeEventListener("pointercancel", end);
    const brush = c.brush;
    c.brush = null;
    if (brush && Math.abs(brush.to - brush.from) > 4) {
      const [a, b] = [Math.min(brush.from, brush.to), Math.max(brush.from, brush.to)];
      if (brush.y) {
        c.yZoom = [toValue(l.ys, b), toValue(l.ys, a)];
        c.draw();
      } else zoom.value = [toValue(l.xs, a), toValue(l.xs, b)];
    } else if (!pan) fixed.value = fixed.value ? null : hover.value;
    c.drawOver();
  };
  node.addEventListener("pointermove", drag);
  node.addEventListener("pointerup", end);
  node.addEventListener("pointercancel", end);
}

/** @param {number} v @param {number} low @param {number} high */
const clip = (v, low, high) => Math.min(Math.max(v, low), high);

/** @param {Chart} c @param {PointerEvent} event */
function move(c, event) {
  const l = c.layout;
  if (!l || !c.curves) return;
  const { px, py } = place(c, event);
  if (px < l.left - 4 || px > l.right + 8) return leave(c);
  hover.value = { x: toValue(l.xs, clip(px, l.left, l.right)), tag: c.tag, px, py };
  const near = readings({ ...c.curves, series: c.series() }, l, hover.value.x, py).find((each) => each.nearest);
  const close = near && Math.abs(near.y - py) < 40;
  hot.value = close ? near.series.id : null;
  hotGroup.value = close ? near.series.group : null;
}

/** @param {Chart} c */
function leave(c) {
  if (hover.value?.tag !== c.tag) return;
  hover.value = null;
  hot.value = null;
  hotGroup.value = null;
}

/** @param {Chart} c */
function reset(c) {
  c.yZoom = null;
  zoom.value = null;
  fixed.value = null;
  c.draw();
}

/** Zoom by a factor around a share of the axis, or move by a share. @param {Chart} c @param {number} factor @param {number} share @param {number} shift */
function rescale(c, factor, share, shift = 0) {
  const l = c.layout;
  if (!l) return;
  const { from, to } = l.xs;
  const middle = from + (to - from) * share;
  const a = toValue(l.xs, middle - (middle - from) * factor + shift * (to - from));
  const b = toValue(l.xs, middle + (to - middle) * factor + shift * (to - from));
  const whole = c.domain;
  if (whole && a <= whole[0] && b >= whole[1]) zoom.value = null;
  else if (b > a) zoom.value = [a, b];
}

/** @param {Chart} c @param {WheelEvent} event */
function wheel(c, event) {
  const l = c.layout;
  if (!l) return;
  if (event.ctrlKey || event.metaKey) {
    event.preventDefault();
    const { px } = place(c, event);
    rescale(c, Math.exp(clip(event.deltaY, -100, 100) * 0.005), clip((px - l.left) / (l.right - l.left), 0, 1));
  } else if (zoom.value && Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
    event.preventDefault();
    rescale(c, 1, 0.5, event.deltaX / (l.right - l.left));
  }
}

/** @param {Chart} c @param {KeyboardEvent} event */
function key(c, event) {
  if (event.target !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "ArrowLeft") rescale(c, 1, 0.5, -0.1);
  else if (event.key === "ArrowRight") rescale(c, 1, 0.5, 0.1);
  else if (event.key === "+" || event.key === "=") rescale(c, 0.5, 0.5);
  else if (event.key === "-") rescale(c, 2, 0.5);
  else if (event.key === "0") reset(c);
  else if (event.key === "Enter") full.value = c.tag;
  else return;
  event.preventDefault();
  event.stopPropagation();
}

/** @param {{ chart: Chart }} props */
function CardMenu({ chart: c }) {
  const save = (/** @type {string} */ type) => async () => {
    const picture = c.picture();
    if (!picture) return;
    const name = fileName(c.tag);
    if (type === "svg") download(svgOf(picture, c.tag, nameOf), `${name}.svg`, "image/svg+xml");
    else download(await pngOf(picture, c.tag, nameOf), `${name}.png`);
  };
  const { tag } = c;
  const csv = () => {
    const anchor = document.createElement("a");
    anchor.href = link("points", { tag, runs: ranges(shown.value), format: "csv" });
    anchor.download = `${fileName(tag)}.csv`;
    anchor.click();
  };
  const command = async () => {
    const { runs: ids, smooth: s, log, group: g, band: b, low, high, x } = question(tag, 600);
    try {
      await copy(await fetchText("command", { tag, runs: ids, smooth: s, log, group: g, band: b, low, high, x }), "the command");
    } catch (error) {
      say(/** @type {Error} */ (error).message);
    }
  };
  return html`<${Menu} icon="more" title=${`More for ${tag}`} align="right">${(/** @type {() => void} */ close) => {
    const then = (/** @type {() => any} */ job) => () => (close(), job());
    return html`
      <${Item} onClick=${then(save("png"))}>Download PNG<//>
      <${Item} onClick=${then(save("svg"))}>Download SVG<//>
      ${report === null && html`<${Item} onClick=${then(csv)} hint="all points">Download CSV<//>`}
      ${report === null && html`<${Item} onClick=${then(command)}>Copy the tbq plot command<//>`}
      <hr />
      <${Item} onClick=${then(() => reset(c))} disabled=${!zoom.value && !c.yZoom}>Reset zoom<//>
      <${Item} onClick=${then(() => (axis.value = axis.value === `tag:${tag}` ? "step" : `tag:${tag}`))}>Use as the x axis<//>`;
  }}<//>`;
}
