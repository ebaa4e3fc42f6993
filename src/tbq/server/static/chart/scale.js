// From values to pixels: linear and logarithmic scales, and ticks at 1, 2, 5 × 10ⁿ.

import { compact, DURATIONS, grouped, number } from "../format.js";

/** @typedef {{ low: number, high: number, log: boolean, from: number, to: number }} Scale */

/**
 * A scale from a range of values to pixels. @param {number} low @param {number} high @param {boolean} log
 * @param {number} from @param {number} to @returns {Scale}
 */
export function scale(low, high, log, from, to) {
  if (log && !(low > 0)) low = high > 0 ? Math.min(high / 1e4, 1e-3) : 1e-3;
  if (log && !(high > low)) high = low * 10;
  if (!log && !(high > low)) [low, high] = [low - (Math.abs(low) * 0.05 || 0.5), high + (Math.abs(high) * 0.05 || 0.5)];
  return { low: Math.max(low, -Number.MAX_VALUE), high: Math.min(high, Number.MAX_VALUE), log, from, to };
}

/**
 * Whether one factor converts values to pixels: the span of two finite numbers may be infinite, and the smallest
 * numbers have no inverse. @param {number} slope pixels per value
 */
export const hasSlope = (slope) => Number.isFinite(slope) && slope !== 0;

/** @param {Scale} s @returns {(value: number) => number} */
export function toPixels({ low, high, log, from, to }) {
  if (log) {
    const base = Math.log(low);
    const slope = (to - from) / (Math.log(high) - base);
    return (value) => from + (value > 0 ? Math.log(value) - base : -1e9) * slope;
  }
  const slope = (to - from) / (high - low);
  if (hasSlope(slope)) return (value) => from + (value - low) * slope;
  const half = high - low === Infinity ? 0.5 : 1;
  const span = high * half - low * half;
  return (value) => from + ((value * half - low * half) / span) * (to - from);
}

const FAR = 1e6; // pixels: canvases and SVG files leave out points much farther away

/** `toPixels` for the values of curves, which may leave the range by any factor. @param {Scale} s
 * @returns {(value: number) => number} */
export function toHeights(s) {
  const toY = toPixels(s);
  return (value) => Math.min(Math.max(toY(value), -FAR), FAR);
}

/** @param {Scale} s @param {number} pixel */
export function toValue({ low, high, log, from, to }, pixel) {
  const share = (pixel - from) / (to - from);
  if (log) return Math.exp(Math.log(low) + share * (Math.log(high) - Math.log(low)));
  return high - low < Infinity ? low + share * (high - low) : low * (1 - share) + high * share;
}

/** @typedef {{ at: number, label: string }} Tick */

/** The ticks of a scale; minor ticks of a logarithmic scale have no label.
 * @param {Scale} s @param {number} most @param {string} kind @returns {Tick[]} */
export function ticks(s, most, kind) {
  if (s.log) {
    const list = logTicks(s, most);
    // Within one digit of a decade, ticks are evenly spaced.
    if (list.filter((each) => each.label).length > 1 || s.high / s.low > 10) return list;
  }
  // Ticks closer than neighbouring floats would be equal.
  const rough = Math.max(s.high / most - s.low / most, Math.max(Math.abs(s.low), Math.abs(s.high)) * 4e-16);
  const steps = kind === "relative" || kind === "wall" ? clockStep(rough) : niceStep(rough);
  const offset = kind === "wall" ? new Date(s.low * 1000).getTimezoneOffset() * 60 : 0;
  const list = [];
  for (
    let n = Math.ceil((s.low - offset) / steps - 1e-9);
    n * steps <= s.high - offset + steps * 1e-9 && Number.isFinite(n * steps) && list.length < 50;
    n++
  ) {
    const at = n * steps + offset;
    list.push({ at, label: label(at, steps, kind) });
  }
  return list;
}

/** @param {number} rough */
function niceStep(rough) {
  if (!(rough > 0) || !Number.isFinite(rough)) return 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  if (power === 0) return rough;
  const share = rough / power;
  return (share <= 1 ? 1 : share <= 2 ? 2 : share <= 5 ? 5 : 10) * power;
}

const CLOCK = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800,
];
/** @param {number} rough */
function clockStep(rough) {
  return rough < 1 ? niceStep(rough) : (CLOCK.find((each) => each >= rough) ?? Math.ceil(rough / 604800) * 604800);
}

/**
 * The shortest text that distinguishes a tick from its neighbours. @param {number} at
 * @param {number} step between two ticks @param {string} kind
 */
export function label(at, step, kind) {
  const decimals = Math.min(Math.max(-Math.floor(Math.log10(step) + 1e-9), 0), 20);
  if (kind === "relative") return step < 1 ? `${at.toFixed(decimals)}s` : since(at, step);
  if (kind === "wall") return clock(at, step, decimals);
  const size = Math.abs(at);
  if (size < step * 1e-6) return "0";
  const digits = Math.ceil(Math.log10(size / step) - 1e-9) + 1;
  if ((kind === "step" || size >= 1e5) && digits < 4) return compact(at, Math.max(digits, 2));
  if (size >= 1e-4 && size < 1e15) return size < 1e5 ? at.toFixed(decimals) : grouped(at.toFixed(decimals));
  return number(at, Math.max(digits, 3));
}

/** A duration down to the unit in which the ticks differ. @param {number} at @param {number} step */
function since(at, step) {
  let seconds = Math.round(Math.abs(at));
  const parts = [];
  for (const [size, letter] of DURATIONS) {
    const n = Math.floor(seconds / size);
    seconds -= n * size;
    if (n && (size * 60 > step || !parts.length)) parts.push(`${n}${letter}`);
  }
  return `${at < 0 ? "-" : ""}${parts.join(" ") || "0s"}`;
}

/** A time of day, or a date. @param {number} at @param {number} step @param {number} decimals of seconds */
function clock(at, step, decimals) {
  const date = new Date(at * 1000);
  const pad = (/** @type {number | string} */ n, /** @type {number} */ width = 2) => String(n).padStart(width, "0");
  if (step >= 86400) return `${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
  const minute = `${pad(date.getHours())}:${pad(date.getMinutes())}`;
  if (step >= 60) return minute;
  return `${minute}:${pad((((at % 60) + 60) % 60).toFixed(decimals), decimals ? decimals + 3 : 2)}`;
}

/** @param {Scale} s @param {number} most @returns {Tick[]} */
function logTicks({ low, high }, most) {
  const begin = Math.floor(Math.log10(low));
  const end = Math.ceil(Math.log10(high));
  const decades = Math.log10(high) - Math.log10(low);
  const every = Math.max(1, Math.ceil(decades / most));
  const list = [];
  for (let power = begin; power <= end; power++)
    for (let digit = 1; digit < 10; digit++) {
      const at = digit * 10 ** power;
      if (at < low * 0.9999 || at > high * 1.0001 || !Number.isFinite(at)) continue;
      if (digit > 1 && (decades > 4 || every > 1)) continue;
      const labelled =
        digit === 1 ? power % every === 0 : decades < 1.3 ? true : decades < 2.5 && (digit === 2 || digit === 5);
      list.push({ at, label: labelled ? logLabel(at) : "" });
    }
  return list;
}

/** @param {number} at */
function logLabel(at) {
  const size = Math.abs(at);
  return size >= 1e5
    ? compact(at)
    : size < 1e-3
      ? number(at, 2).replace("e-0", "e-")
      : String(Number(at.toPrecision(3)));
}
