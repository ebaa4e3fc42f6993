// The curves under the mouse, and where a tooltip with their values goes.

import { toPixels } from "./scale.js";
import { nearest } from "./series.js";

const MOST = 8; // curves in a tooltip

/**
 * @typedef {{ series: import("../types.js").Series, value: number, at: number, x: number, y: number, nearest: boolean
 * }} Reading
 */

/**
 * The curves nearest to the mouse, highest value first. @param {Pick<import("../types.js").Curves, "series">} curves
 * @param {import("./paint.js").Layout} layout @param {number} x @param {number} py @param {number} most
 * @returns {Reading[]}
 */
export function readings(curves, layout, x, py, most = MOST) {
  const toX = toPixels(layout.xs);
  const toY = toPixels(layout.ys);
  const px = toX(x);
  /** @type {(Reading & { far: number })[]} */
  const best = []; // nearest first
  for (const series of curves.series) {
    const k = nearest(series, x);
    if (k < 0) continue;
    const value = series.last[k];
    const at = toX(series.x[k]);
    if (at < layout.left - 2 || at > layout.right + 2) continue;
    const y = toY(value);
    // A curve is near if the mouse is inside its envelope; one that ended far from here comes last.
    const [high, low] = series.max[k] > series.min[k] ? [toY(series.max[k]), toY(series.min[k])] : [y, y];
    const far =
      (py >= high && py <= low ? Math.abs(py - y) * 0.01 : Math.min(Math.abs(py - high), Math.abs(py - low))) +
      Math.max(0, Math.abs(at - px) - 30) * 4;
    if (best.length === most && far >= best[most - 1].far) continue;
    let place = best.length;
    while (place > 0 && best[place - 1].far > far) place--;
    best.splice(place, 0, { series, value, at: series.x[k], x: at, y, nearest: false, far });
    if (best.length > most) best.pop();
  }
  if (best[0]) best[0].nearest = true;
  return best.sort((a, b) => b.value - a.value);
}

const GAP = 12; // between the crosshair and the tooltip
const OVER = 30; // pixels right of the axes, up to the next card

/** The largest width at which a tooltip fits right or left of the crosshair.
 * @param {{ left: number, right: number }} area inside the axes @param {number} px of the crosshair */
export const roomAt = ({ left, right }, px) => Math.max(right + OVER - px, px - left) - GAP;

/** The most curves that a tooltip can name without being higher than its chart. @param {number} high of the chart */
export const mostIn = (high) => Math.max(1, Math.min(MOST, Math.floor((high - 62) / 18)));

/**
 * Where a tooltip of w × h pixels goes, on the screen: right of the crosshair, else left of it. If both sides
 * are too narrow for it, above or below the curve. It covers no axis.
 * @param {{ left: number, top: number, right: number, bottom: number }} area inside the axes, on the screen
 * @param {number} w @param {number} h @param {number} px @param {number} py of the nearest curve, on the screen
 * @returns {{ x: number, y: number }}
 */
export function beside(area, w, h, px, py) {
  const within = (/** @type {number} */ v, /** @type {number} */ low, /** @type {number} */ high) =>
    Math.max(Math.min(v, high), low);
  const y = within(py - h / 2, area.top, area.bottom - h - 4);
  if (px + GAP + w <= area.right + OVER) return { x: px + GAP, y };
  if (px - GAP - w >= area.left) return { x: px - GAP - w, y };
  const x = within(px - w / 2, area.left + 2, area.right + 8 - w);
  return { x, y: py - GAP - h >= area.top - 8 ? py - GAP - h : within(py + GAP, area.top, area.bottom - h - 4) };
}
