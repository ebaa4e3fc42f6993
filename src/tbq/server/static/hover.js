// The crosshair that all cards share, and the exact values under it.

import { signal } from "./ui.js";
import { fetchJson } from "./api.js";
import { stepOf } from "./steps.js";

/** The position of the mouse: x on the axis that all cards share, and the card under it.
 * @type {import("./types.js").Signal<{ x: number, tag: string, px: number, py: number } | null>} */
export const hover = signal(null);
/**
 * A crosshair that stays after a click.
 * @type {import("./types.js").Signal<{ x: number, tag: string, px: number, py: number } | null>}
 */
export const fixed = signal(null);

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
