// The crosshair that all cards share, and the values under it.

import { signal } from "./ui.js";
import { fetchJson } from "./api.js";
import { nearest } from "./chart/series.js";
import { toPixels } from "./chart/scale.js";
import { stepOf } from "./steps.js";

/** The position of the mouse: x on the axis that all cards share, and the card under it.
 * @type {import("./types.js").Signal<{ x: number, tag: string, px: number, py: number } | null>} */
export const hover = signal(null);
/**
 * A crosshair that stays after a click.
 * @type {import("./types.js").Signal<{ x: number, tag: string, px: number, py: number } | null>}
 */
export const fixed = signal(null);

export const MOST = 8;

/**
 * @typedef {{ series: import("./types.js").Series, value: number, at: number, x: number, y: number, nearest: boolean
 * }} Reading
 */

/**
 * The eight curves nearest to the mouse, highest value first. @param {import("./types.js").Curves} curves
 * @param {import("./chart/paint.js").Layout} layout @param {number} x @param {number} py @returns {Reading[]}
 */
export function readings(curves, layout, x, py) {
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
    if (best.length === MOST && far >= best[MOST - 1].far) continue;
    let place = best.length;
    while (place > 0 && best[place - 1].far > far) place--;
    best.splice(place, 0, { series, value, at: series.x[k], x: at, y, nearest: false, far });
    if (best.length > MOST) best.pop();
  }
  if (best[0]) best[0].nearest = true;
  return best.sort((a, b) => b.value - a.value);
}

/**
 * A point as it was logged; `smoothed` exists if the request asked for it, and is null if it is not finite. @typedef
 * {{ x: number, step: import("./steps.js").Step, value: number | null, wall_time: number, text: string, smoothed?:
 * number | null }} Point
 */

/**
 * Exact values for the tooltip, by run. @param {import("./api.js").Params} question @param {AbortSignal} signal
 * @returns {Promise<Map<number, Point>>}
 */
export async function exact(question, signal) {
  const answer = await fetchJson("nearest", question, { signal });
  return new Map(answer.points.map((/** @type {any} */ each) => [each.id, { ...each, step: stepOf(each.step) }]));
}

/**
 * Where a tooltip of w × h pixels goes, on the screen: right of the crosshair, else left of it within the chart, else
 * right of it beyond the chart, else above the curve. So it covers no axis of its chart.
 * @param {{ left: number, top: number, right: number, bottom: number }} area inside of the axes, on the screen
 * @param {number} w @param {number} h @param {number} px @param {number} py of the nearest curve, on the screen
 * @param {number} screen the width of the screen @returns {{ x: number, y: number }}
 */
export function beside(area, w, h, px, py, screen) {
  const y = Math.max(4, Math.min(Math.max(py - h / 2, area.top), area.bottom - h - 4));
  if (px + 14 + w <= area.right + 8) return { x: px + 14, y };
  if (px - 14 - w >= area.left) return { x: px - 14 - w, y };
  if (px + 14 + w <= screen - 4) return { x: px + 14, y };
  const x = Math.max(4, Math.min(Math.max(px - w / 2, area.left), screen - w - 4));
  return { x, y: Math.max(4, py - h - 14) };
}
