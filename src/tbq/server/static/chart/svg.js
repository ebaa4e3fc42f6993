// A chart as a file: SVG with real lines and text, PNG at twice the size, both with a title and a legend.

import { edgeMarks, layout, paint } from "./paint.js";
import { toHeights, toPixels } from "./scale.js";

/** @typedef {import("./paint.js").Picture} Picture */

const NAMESPACE = "http://www.w3.org/2000/svg";
const MOST_NAMES = 12;

/** @param {string} name @param {Record<string, string | number>} attributes @param {string} text */
function node(name, attributes, text = "") {
  const element = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  if (text) element.textContent = text;
  return element;
}

/** @param {number} value */
const short = (value) => Math.round(value * 100) / 100;

/** @param {Picture} p @param {string} title @param {(series: import("../types.js").Series) => string} nameOf */
export function svgOf(p, title, nameOf) {
  const context = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));
  const l = layout(p, context);
  const names = p.series.slice(0, MOST_NAMES);
  const legend = 18 * names.length + (p.series.length > MOST_NAMES ? 18 : 0);
  const head = 28;
  const root = node("svg", {
    xmlns: NAMESPACE,
    viewBox: `0 0 ${p.width} ${p.height + head + legend + 8}`,
    width: p.width,
    height: p.height + head + legend + 8,
    "font-family": "system-ui, sans-serif",
    "font-size": 11,
  });
  root.append(node("rect", { width: "100%", height: "100%", fill: p.ink.ground }));
  root.append(node("text", { x: 12, y: 19, "font-size": 13, "font-weight": 600, fill: p.ink.strong }, title));
  const body = node("g", { transform: `translate(0 ${head})` });
  const toX = toPixels(l.xs);
  const toY = toHeights(l.ys);
  for (const { at, label } of l.yt) {
    if (!label) continue;
    const y = short(toY(at));
    body.append(node("line", { x1: l.left, x2: l.right, y1: y, y2: y, stroke: p.ink.grid }));
    body.append(node("text", { x: l.left - 7, y: y + 4, "text-anchor": "end", fill: p.ink.text }, label));
  }
  for (const { at, label } of l.xt)
    if (label)
      body.append(
        node("text", { x: short(toX(at)), y: l.bottom + 16, "text-anchor": "middle", fill: p.ink.text }, label),
      );
  body.append(node("line", { x1: l.left, x2: l.right, y1: l.bottom, y2: l.bottom, stroke: p.ink.axis }));
  const inside = node("svg", {
    x: l.left,
    y: l.top - 4,
    width: l.right - l.left + 4,
    height: l.bottom - l.top + 6,
    viewBox: `${l.left} ${l.top - 4} ${l.right - l.left + 4} ${l.bottom - l.top + 6}`,
  });
  for (const each of p.series) {
    const colour = p.colour(each);
    if (each.lower && each.upper)
      inside.append(
        node("path", { d: areaPath(each.x, each.lower, each.upper, toX, toY), fill: colour, "fill-opacity": 0.18 }),
      );
    else if (p.smoothed && each.rawMin && each.rawMax) {
      const raw = { x: each.x, first: each.rawMin, last: each.rawMax, min: each.rawMin, max: each.rawMax };
      inside.append(node("path", { d: linePath(raw, toX, toY), fill: "none", stroke: colour, "stroke-opacity": 0.3 }));
    }
  }
  for (const each of p.series)
    inside.append(
      node("path", {
        d: linePath(each, toX, toY),
        fill: "none",
        stroke: p.colour(each),
        "stroke-width": single(each) ? 4 : p.front?.includes(each) ? 2.6 : 1.5,
        "stroke-linecap": single(each) ? "round" : "butt",
        "stroke-dasharray": (p.dash?.(each) ?? []).join(" ") || "none",
        "stroke-opacity": p.series.length > 200 ? 0.2 : 1, // otherwise the last curves hide the others
        "stroke-linejoin": "round",
      }),
    );
  body.append(inside);
  for (const { x, y, way, colour, text } of edgeMarks(p, l)) {
    const d = `M${short(x)} ${y}l-4.5 ${way * 8}h9Z`;
    body.append(node("path", { d, fill: colour }));
    if (text) body.append(node("text", { x: short(x) - 8, y: y + 10, "text-anchor": "end", fill: p.ink.strong }, text));
  }
  root.append(body);
  names.forEach((each, i) => {
    const y = head + p.height + 14 + 18 * i;
    const dash = (p.dash?.(each) ?? []).join(" ") || "none";
    const stroke = { stroke: p.colour(each), "stroke-width": 3, "stroke-dasharray": dash };
    root.append(node("line", { x1: 8, x2: 26, y1: y - 6.5, y2: y - 6.5, ...stroke }));
    root.append(node("text", { x: 32, y: y - 3, fill: p.ink.text }, nameOf(each)));
  });
  if (p.series.length > MOST_NAMES)
    root.append(
      node(
        "text",
        { x: 32, y: head + p.height + 11 + 18 * names.length, fill: p.ink.text },
        `and ${p.series.length - MOST_NAMES} more`,
      ),
    );
  return new XMLSerializer().serializeToString(root);
}

/** @param {Pick<import("../types.js").Series, "x" | "first" | "last" | "min" | "max">} curve
 * @param {(v: number) => number} toX @param {(v: number) => number} toY */
function linePath({ x, first, last, min, max }, toX, toY) {
  const parts = [];
  for (let k = 0; k < x.length; k++) {
    if (Number.isNaN(last[k])) continue;
    const px = short(toX(x[k]));
    parts.push(`${parts.length ? "L" : "M"}${px} ${short(toY(first[k]))}`);
    if (max[k] > min[k]) parts.push(`V${short(toY(min[k]))}V${short(toY(max[k]))}V${short(toY(last[k]))}`);
  }
  return parts.length === 1 ? `${parts[0]}h0` : parts.join("");
}

/** Whether a curve is a single dot. @param {import("../types.js").Series} series */
const single = ({ last }) => Array.from(last).filter((value) => !Number.isNaN(value)).length === 1;

/**
 * @param {any} x @param {import("../types.js").Values} lower @param {import("../types.js").Values} upper
 * @param {(v: number) => number} toX @param {(v: number) => number} toY
 */
function areaPath(x, lower, upper, toX, toY) {
  const up = [];
  const down = [];
  for (let k = 0; k < x.length; k++) {
    if (Number.isNaN(lower[k]) || Number.isNaN(upper[k])) continue;
    up.push(`${short(toX(x[k]))} ${short(toY(upper[k]))}`);
    down.push(`${short(toX(x[k]))} ${short(toY(lower[k]))}`);
  }
  return up.length ? `M${up.join("L")}L${down.reverse().join("L")}Z` : "";
}

/**
 * @param {Picture} p @param {string} title @param {(series: import("../types.js").Series) => string} nameOf
 * @returns {Promise<Blob>}
 */
export function pngOf(p, title, nameOf) {
  const chart = document.createElement("canvas");
  paint(chart, { ...p, ratio: 2 });
  const names = p.series.slice(0, MOST_NAMES);
  const more = p.series.length - names.length;
  const sheet = document.createElement("canvas");
  const head = 28;
  const height = p.height + head + 18 * (names.length + (more > 0 ? 1 : 0)) + 8;
  sheet.width = p.width * 2;
  sheet.height = height * 2;
  const context = /** @type {CanvasRenderingContext2D} */ (sheet.getContext("2d"));
  context.scale(2, 2);
  context.fillStyle = p.ink.ground;
  context.fillRect(0, 0, p.width, height);
  context.drawImage(chart, 0, head, p.width, p.height);
  context.fillStyle = p.ink.strong;
  context.font = "600 13px system-ui, sans-serif";
  context.fillText(title, 12, 19, p.width - 24);
  context.font = "11px system-ui, sans-serif";
  names.forEach((each, i) => {
    const y = head + p.height + 14 + 18 * i;
    context.strokeStyle = p.colour(each);
    context.lineWidth = 3;
    context.setLineDash(p.dash?.(each) ?? []);
    context.beginPath();
    context.moveTo(8, y - 6.5);
    context.lineTo(26, y - 6.5);
    context.stroke();
    context.fillStyle = p.ink.text;
    context.fillText(nameOf(each), 32, y - 3, p.width - 44);
  });
  if (more > 0) context.fillText(`and ${more} more`, 32, head + p.height + 11 + 18 * names.length);
  return new Promise((resolve, reject) =>
    sheet.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("no picture"))), "image/png"),
  );
}
