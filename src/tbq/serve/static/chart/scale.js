// From values to pixels: linear and logarithmic scales, and ticks at 1, 2, 5 × 10ⁿ.

import { compact, duration, number } from "../format.js";

/** @typedef {{ low: number, high: number, log: boolean, from: number, to: number }} Scale */

/** A scale from a range of values to pixels. @param {number} low @param {number} high @param {boolean} log @param {number} from @param {number} to @returns {Scale} */
export function scale(low, high, log, from, to) {
  if (log && !(low > 0)) low = high > 0 ? Math.min(high / 1e4, 1e-3) : 1e-3;
  if (log && !(high > low)) high = low * 10;
  if (!log && !(high > low)) [low, high] = [low - (Math.abs(low) * 0.05 || 0.5), high + (Math.abs(high) * 0.05 || 0.5)];
  return { low, high, log, from, to };
}

/** @param {Scale} s @returns {(value: number) => number} */
export function toPixels({ low, high, log, from, to }) {
  if (log) {
    const base = Math.log(low);
    const slope = (to - from) / (Math.log(high) - base);
    return (value) => from + (value > 0 ? Math.log(value) - base : -1e9) * slope;
  }
  const slope = (to - from) / (high - low);
  return (value) => from + (value - low) * slope;
}

/** @param {Scale} s @param {number} pixel */
export function toValue({ low, high, log, from, to }, pixel) {
  const share = (pixel - from) / (to - from);
  return log ? Math.exp(Math.log(low) + share * (Math.log(high) - Math.log(low))) : low + share * (high - low);
}

/** @typedef {{ at: number, label: string }} Tick */

/** Ticks for a scale; a logarithmic one has minor ticks without a label.
 * @param {Scale} s @param {number} most @param {string} kind @returns {Tick[]} */
export function ticks(s, most, kind) {
  if (s.log) return logTicks(s, most);
  const steps = kind === "relative" || kind === "wall" ? clockStep(s.high - s.low, most) : niceStep((s.high - s.low) / most);
  const offset = kind === "wall" ? new Date(s.low * 1000).getTimezoneOffset() * 60 : 0;
  const list = [];
  for (let n = Math.ceil((s.low - offset) / steps - 1e-9); n * steps <= s.high - offset + steps * 1e-9 && list.length < 50; n++) {
    const at = n * steps + offset;
    list.push({ at, label: label(at, steps, kind) });
  }
  return list;
}

/** @param {number} rough */
function niceStep(rough) {
  if (!(rough > 0) || !Number.isFinite(rough)) return 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const share = rough / power;
  return (share <= 1 ? 1 : share <= 2 ? 2 : share <= 5 ? 5 : 10) * power;
}

const CLOCK = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800];
/** @param {number} span @param {number} most */
function clockStep(span, most) {
  const rough = span / most;
  return rough < 1 ? niceStep(rough) : (CLOCK.find((each) => each >= rough) ?? Math.ceil(rough / 604800) * 604800);
}

/** @param {number} at @param {number} step @param {string} kind */
function label(at, step, kind) {
  if (kind === "relative") return step < 1 ? `${number(at, 3)}s` : duration(at);
  if (kind === "wall") {
    const date = new Date(at * 1000);
    const pad = (/** @type {number} */ n) => String(n).padStart(2, "0");
    if (step >= 86400) return `${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
    return `${pad(date.getHours())}:${pad(date.getMinutes())}${step < 60 ? `:${pad(date.getSeconds())}` : ""}`;
  }
  if (Math.abs(at) < step * 1e-6) return "0";
  if (kind === "step") return tidy(at, step, compact(at));
  const size = Math.abs(at);
  return size >= 1e5 ? tidy(at, step, compact(at)) : size < 1e-4 ? number(at, 3) : at.toFixed(Math.max(0, Math.min(8, -Math.floor(Math.log10(step) + 1e-9))));
}

/** The short form, unless ticks so close would read alike. @param {number} at @param {number} step @param {string} short */
function tidy(at, step, short) {
  return step / Math.max(Math.abs(at), 1e-300) >= 0.01 || Math.abs(at) < 1000 ? short : Math.round(at).toLocaleString("en");
}

/** @param {Scale} s @param {number} most @returns {Tick[]} */
function logTicks({ low, high }, most) {
  const begin = Math.floor(Math.log10(low));
  const end = Math.ceil(Math.log10(high));
  const decades = Math.log10(high / low);
  const every = Math.max(1, Math.ceil(decades / most));
  const list = [];
  for (let power = begin; power <= end; power++)
    for (let digit = 1; digit < 10; digit++) {
      const at = digit * 10 ** power;
      if (at < low * 0.9999 || at > high * 1.0001) continue;
      if (digit > 1 && (decades > 4 || every > 1)) continue;
      const labelled = digit === 1 ? power % every === 0 : decades < 1.3 ? true : decades < 2.5 && (digit === 2 || digit === 5);
      list.push({ at, label: labelled ? logLabel(at) : "" });
    }
  return list;
}

/** @param {number} at */
function logLabel(at) {
  const size = Math.abs(at);
  return size >= 1e5 ? compact(at) : size < 1e-3 ? number(at, 2).replace("e-0", "e-") : String(Number(at.toPrecision(3)));
}
