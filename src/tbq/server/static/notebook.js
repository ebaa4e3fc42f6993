// The live chart of a notebook: draws what tbq.live sends, with the page's own charts.

import { emptied, inkOf, sharpness } from "./chart/canvas.js";
import { crosshair, dots } from "./chart/over.js";
import { paint } from "./chart/paint.js";
import { beside, mostIn, readings } from "./chart/readings.js";
import { toValue } from "./chart/scale.js";
import { curvesOf, leaving, nearest, rangeOf } from "./chart/series.js";
import { count, counted, far, number, numberTo } from "./format.js";
import { decode } from "./frame.js";
import { labels } from "./labels.js";
import { STATES } from "./words.js";

const FEW = 8; // runs that a legend names
/** The tags with a logarithmic axis, also in the next view. @type {Set<string>} */
const logs = new Set();

/** @typedef {import("./types.js").Series} Series */
/** @typedef {{ name: string, state: string | null, colours: [string, string] }} Run */
/** @typedef {{ runs: Record<string, Run>, note: string, smooth: number, pictured: boolean }} Facts */
/** @typedef {{ get(name: string): any, on(name: string, call: () => void): void, off(name: string, call: () => void):
 * void }} Model */

/** @param {string} name @param {string} kind its class @param {string} text */
function node(name, kind, text = "") {
  const element = document.createElement(name);
  element.className = kind;
  element.textContent = text; // names come from logs: never as HTML
  return element;
}

/** The colours of the notebook's theme, each as #rrggbb: themes also write them as names and as rgb().
 * @param {Element} element @returns {import("./chart/canvas.js").Ink} */
function themeOf(element) {
  const pen = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));
  const spelled = Object.entries(inkOf(element)).map(([name, colour]) => {
    pen.fillStyle = "#888888";
    pen.fillStyle = colour;
    return [name, pen.fillStyle];
  });
  return Object.fromEntries(spelled);
}

/** Whether a colour #rrggbb is dark. @param {string} colour */
const isDark = (colour) => [1, 3, 5].reduce((sum, at) => sum + parseInt(colour.slice(at, at + 2), 16), 0) < 384;

/** The bytes of a compressed frame. @param {DataView} view @returns {Promise<ArrayBuffer>} */
function bytesOf(view) {
  const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength).slice();
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

/** The chart of one tag. */
class Card {
  /** @param {View} view @param {string} tag */
  constructor(view, tag) {
    this.view = view;
    this.tag = tag;
    /** @type {DataView | null} */ this.sent = null;
    /** @type {import("./types.js").Curves | null} */ this.curves = null;
    /** @type {import("./chart/paint.js").Layout | null} */ this.layout = null;
    this.element = node("section", "tbq-card");
    const head = node("header", "tbq-head");
    const title = node("span", "tbq-title", tag);
    title.title = tag;
    const button = node("button", "tbq-log", "log");
    button.title = "Logarithmic y axis";
    button.setAttribute("aria-pressed", String(logs.has(tag)));
    button.onclick = () => {
      if (!logs.delete(tag)) logs.add(tag);
      button.setAttribute("aria-pressed", String(logs.has(tag)));
      this.draw();
    };
    head.append(title, button);
    this.plot = node("div", "tbq-plot");
    this.base = document.createElement("canvas");
    this.base.setAttribute("role", "img");
    this.over = document.createElement("canvas");
    this.over.setAttribute("aria-hidden", "true");
    this.tip = node("div", "tbq-tip");
    this.plot.append(this.base, this.over, this.tip);
    this.plot.onpointermove = (event) => this.point(event);
    this.plot.onpointerleave = () => this.view.hover(null, null);
    this.legend = node("div", "tbq-legend");
    this.element.append(head, this.plot, this.legend);
  }

  /** @param {DataView} view the frame of this tag */
  async take(view) {
    if (view === this.sent) return;
    this.sent = view;
    const curves = curvesOf(decode(await bytesOf(view)));
    if (view === this.sent) this.curves = curves; // otherwise a newer frame came meanwhile
  }

  /** @param {Series} series */
  run(series) {
    return this.view.facts.runs[String(series.id)];
  }

  /** @param {Series} series */
  colour(series) {
    return this.run(series)?.colours[this.view.dark ? 0 : 1] ?? "#8a8a8a";
  }

  /** @param {Series} series */
  name(series) {
    return this.view.names.get(this.run(series)?.name ?? "") ?? "";
  }

  draw() {
    const [width, height] = [this.plot.clientWidth, this.plot.clientHeight];
    if (!this.curves || !width || !height) return;
    const { curves, view } = this;
    const x = /** @type {[number, number]} */ ([curves.low, curves.high]);
    const log = logs.has(this.tag);
    const y = rangeOf(curves, x, log, curves.usual[log ? "log" : "linear"]);
    this.layout = paint(this.base, {
      series: curves.series,
      leaving: leaving(curves.series, x, y, log),
      colour: (series) => this.colour(series),
      x,
      y,
      logX: false,
      logY: log,
      axis: "step",
      ink: view.ink,
      width,
      height,
      ratio: sharpness(),
      smoothed: view.facts.smooth > 0,
    });
    const what = `${counted(curves.series.length, "run")}, ${counted(curves.points, "point")}`;
    this.base.setAttribute("aria-label", `${this.tag}: ${what}`);
    this.drawOver();
  }

  /** @param {PointerEvent} event */
  point(event) {
    const box = this.plot.getBoundingClientRect();
    if (!this.layout) return;
    const x = toValue(this.layout.xs, event.clientX - box.left);
    this.view.hover(x, { card: this, px: event.clientX - box.left, py: event.clientY - box.top });
  }

  /** The crosshair of all cards, the values of the one under the mouse, and the legend. */
  drawOver() {
    const { layout: l, curves, view } = this;
    if (!l || !curves) return;
    const { context } = emptied(this.over);
    const mouse = view.mouse?.card === this ? view.mouse : null;
    const list = mouse && view.x !== null ? readings(curves, l, view.x, mouse.py, mostIn(l.bottom - l.top)) : [];
    if (view.x !== null) crosshair(context, l, view.x, view.ink);
    dots(
      context,
      l,
      list.map(({ series, at, value }) => ({ x: at, y: value, colour: this.colour(series) })),
      view.ink,
    );
    this.tip.style.display = list.length ? "block" : "none";
    if (mouse && list.length) this.tooltip(mouse, list);
    this.names();
  }

  /** @param {{ px: number, py: number }} mouse @param {import("./chart/readings.js").Reading[]} list */
  tooltip({ px, py }, list) {
    const l = /** @type {import("./chart/paint.js").Layout} */ (this.layout);
    const best = list.find((each) => each.nearest) ?? list[0];
    const unit = Math.abs(toValue(l.ys, 1) - toValue(l.ys, 0));
    const rows = list.map(({ series, value, nearest: near }) => {
      const row = node("div", near ? "tbq-row tbq-near" : "tbq-row");
      row.append(this.sample(series), node("span", "tbq-name", this.name(series)));
      row.append(node("span", "tbq-value", value > l.ys.high || value < l.ys.low ? far(value) : numberTo(value, unit)));
      return row;
    });
    this.tip.replaceChildren(node("div", "tbq-muted", `step ${count(Math.round(best.at))}`), ...rows);
    const place = beside(l, this.tip.offsetWidth, this.tip.offsetHeight, px, best.y || py);
    this.tip.style.left = `${place.x}px`;
    this.tip.style.top = `${place.y}px`;
  }

  /** @param {Series} series */
  sample(series) {
    const sample = node("span", "tbq-sample");
    sample.style.background = this.colour(series);
    return sample;
  }

  /** The legend: the value of each run at the crosshair, or its last. */
  names() {
    const series = this.curves?.series ?? [];
    if (series.length > FEW) {
      this.legend.replaceChildren(node("span", "tbq-muted", counted(series.length, "run")));
      return;
    }
    this.legend.replaceChildren(
      ...series.map((each) => {
        const k = nearest(each, this.view.x ?? Infinity);
        const value = k < 0 ? NaN : each.last[k];
        const item = node("span", "tbq-item");
        item.title = this.run(each)?.name ?? "";
        const text = Number.isNaN(value) ? "" : Math.abs(value) < 1e5 ? number(value, 4, false) : far(value);
        const name = node("span", "tbq-name", this.name(each));
        item.append(this.sample(each), name, node("span", "tbq-value", text));
        return item;
      }),
    );
  }
}

/** One view of a live chart. */
class View {
  /** @param {Model} model @param {HTMLElement} el */
  constructor(model, el) {
    this.model = model;
    /** @type {Map<string, Card>} */ this.cards = new Map();
    /** @type {Map<string, string>} */ this.names = new Map(); // short names by name
    /** @type {number | null} */ this.x = null; // of the crosshair
    /** @type {{ card: Card, px: number, py: number } | null} */ this.mouse = null;
    this.root = node("div", model.get("facts").pictured ? "tbq-live tbq-pictured" : "tbq-live");
    this.grid = node("div", "tbq-cards");
    this.note = node("div", "tbq-note tbq-muted");
    this.note.setAttribute("role", "status");
    this.root.append(this.grid, this.note);
    el.append(this.root);
    /** @type {Facts} */ this.facts = model.get("facts");
    this.ink = themeOf(this.root);
    this.dark = isDark(this.ink.ground);
  }

  async update() {
    this.facts = this.model.get("facts");
    const runs = Object.values(this.facts.runs);
    const short = labels(runs.map((run) => run.name));
    this.names = new Map(runs.map((run, i) => [run.name, short[i]]));
    /** @type {[string, DataView][]} */
    const frames = Object.entries(this.model.get("frames"));
    for (const [tag, view] of frames) {
      if (!this.cards.has(tag)) this.cards.set(tag, new Card(this, tag));
      await this.cards.get(tag)?.take(view);
    }
    const tags = new Set(frames.map(([tag]) => tag));
    for (const tag of this.cards.keys()) if (!tags.has(tag)) this.cards.delete(tag);
    const elements = frames.map(([tag]) => /** @type {Card} */ (this.cards.get(tag)).element);
    if (elements.some((each, i) => this.grid.children[i] !== each) || elements.length !== this.grid.children.length)
      this.grid.replaceChildren(...elements);
    const states = Object.entries(STATES).map(([state, glyph]) => {
      const n = runs.filter((run) => run.state === state).length;
      return n ? `${glyph} ${count(n)} ${state}` : "";
    });
    this.note.textContent = [...states, this.facts.note].filter(Boolean).join(" · ");
    this.draw();
  }

  draw() {
    this.ink = themeOf(this.root);
    this.dark = isDark(this.ink.ground);
    for (const card of this.cards.values()) card.draw();
  }

  /** @param {number | null} x @param {View["mouse"]} mouse */
  hover(x, mouse) {
    [this.x, this.mouse] = [x, mouse];
    for (const card of this.cards.values()) card.drawOver();
  }
}

/** Draws the chart into a cell's output; the result ends that. @param {{ model: Model, el: HTMLElement }} context */
export function render({ model, el }) {
  const view = new View(model, el);
  let frame = 0;
  const soon = () => {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => view.update());
  };
  model.on("change:frames", soon);
  model.on("change:facts", soon);
  const sized = new ResizeObserver(() => view.draw());
  sized.observe(view.root);
  // Notebooks mark their theme on the body.
  const themed = new MutationObserver(() => view.draw());
  themed.observe(document.body, { attributes: true });
  view.update();
  return () => {
    cancelAnimationFrame(frame);
    model.off("change:frames", soon);
    model.off("change:facts", soon);
    sized.disconnect();
    themed.disconnect();
  };
}
