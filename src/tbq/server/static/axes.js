// The axes of parallel coordinates: from values to places on an axis, its ticks, and the colours of a metric.

import { number, numberTo } from "./format.js";
import { natural } from "./order.js";
import { scale, ticks } from "./chart/scale.js";

/**
 * `values` are words; `ticks` are the numbers that occur, if these are few. Values outside of `low` to `high` are
 * drawn at the end.
 * @typedef {{ key: string, values: string[] | null, ticks: number[] | null, low: number, high: number, log: boolean,
 *   cut: boolean }} Axis
 */

const FEW = 12; // different numbers that an axis marks one by one

/** @param {any} value */
export const isMissing = (value) =>
  value === undefined || value === null || (typeof value === "number" && !Number.isFinite(value));

/** The axis of these values; the axis of a metric leaves out extremes. @param {string} key @param {any[]} all
 * @param {boolean} metric @returns {Axis} */
export function axisOf(key, all, metric) {
  const values = all.filter((value) => !isMissing(value));
  if (!values.length || !values.every((value) => typeof value === "number")) {
    const words = [...new Set(values.map(String))].sort(natural);
    return { key, values: words, ticks: null, low: 0, high: Math.max(words.length - 1, 1), log: false, cut: false };
  }
  const order = Float64Array.from(values).sort();
  const distinct = [...new Set(order)];
  let [low, high] = metric ? usual(order, 3) : [order[0], order[order.length - 1]];
  const cut = low > order[0] || high < order[order.length - 1];
  const few = !metric && distinct.length <= FEW;
  if (low === high) [low, high] = [low - Math.abs(low) * 0.1 - 1e-9, high + Math.abs(high) * 0.1 + 1e-9];
  // Doublings and decades are evenly spaced on a logarithmic axis.
  const log = low > 0 && (high / low >= 30 || (few && distinct.length > 2 && high / low >= 8));
  return { key, values: null, ticks: few ? distinct : null, low, high, log, cut };
}

/** The range of sorted values without what is far from their quartiles. @param {Float64Array} order
 * @param {number} times the distance of the quartiles @returns {[number, number]} */
export function usual(order, times) {
  const at = (/** @type {number} */ q) => order[Math.round(q * (order.length - 1))];
  const reach = Math.min(times * (at(0.75) / 2 - at(0.25) / 2) * 2, Number.MAX_VALUE / 4);
  const [least, most] = [order[0], order[order.length - 1]];
  if (!(reach > 0) || order.length < 8) return [least, most];
  const inside = order.filter((value) => value >= at(0.25) - reach && value <= at(0.75) + reach);
  return [inside[0], inside[inside.length - 1]];
}

/** The place of a value, as a share of the axis from its bottom. @param {Axis} axis @param {any} value
 * @returns {number | null} */
export function share(axis, value) {
  if (isMissing(value)) return null;
  if (axis.values) return axis.values.length === 1 ? 0.5 : shareOf(axis, axis.values.indexOf(String(value)));
  return Math.min(Math.max(shareOf(axis, value), 0), 1);
}

/** @param {Axis} axis @param {number} v */
export function shareOf(axis, v) {
  if (axis.log) return v > 0 ? (Math.log(v) - Math.log(axis.low)) / (Math.log(axis.high) - Math.log(axis.low)) : 0;
  // Halves, since the span of two finite numbers may be infinite.
  return (v / 2 - axis.low / 2) / (axis.high / 2 - axis.low / 2);
}

/** @param {Axis} axis @param {number} part */
export function valueAt(axis, part) {
  if (axis.log) return Math.exp(Math.log(axis.low) + part * (Math.log(axis.high) - Math.log(axis.low)));
  return axis.low * (1 - part) + axis.high * part;
}

/** How far apart the values of an axis are at least, as a share; 0 if there are many. @param {Axis} axis */
export function gap(axis) {
  if (axis.values) return axis.values.length > FEW ? 0 : 1 / Math.max(axis.values.length - 1, 2);
  if (!axis.ticks) return 0;
  const parts = axis.ticks.map((value) => shareOf(axis, value));
  return Math.min(0.5, ...parts.slice(1).map((part, i) => part - parts[i]));
}

/** An end of a brush in few digits, moved outward by a part of a pixel: rounding never excludes a run inside it.
 * @param {Axis} axis @param {number} end @param {1 | -1} way */
export function outward(axis, end, way) {
  const limit = valueAt(axis, shareOf(axis, end) + way * 0.001);
  for (let digits = 2; digits < 17; digits++) {
    const rounded = Number(end.toPrecision(digits));
    if ((rounded - end) * way >= 0 && (limit - rounded) * way >= 0) return rounded;
  }
  return end;
}

const MARKS = [0, 0.25, 0.5, 0.75, 1]; // where an axis has labels if round numbers do not fit, as shares of its length

/** The labels of an axis and their places: the values that occur if these are few, `least` apart; else round numbers
 * if they fit. Other labels have as many digits as there is room for, but enough to tell them apart. @param {Axis} axis
 * @param {(text: string) => number} wide @param {number} room @param {number} least @returns {[string, number][]} */
export function marksOf(axis, wide, room, least) {
  if (axis.values) {
    const parts = axis.values.map((_, k) =>
      axis.values && axis.values.length > 1 ? k / (axis.values.length - 1) : 0.5,
    );
    return apart(
      axis.values.map((text, k) => [text, parts[k]]),
      least,
    );
  }
  if (axis.ticks) {
    const texts = plain(axis.ticks);
    return apart(
      axis.ticks.map((value, i) => [texts[i], shareOf(axis, value)]),
      least,
    );
  }
  if (!axis.log) {
    const round = [5, 8]
      .map((most) => ticks(scale(axis.low, axis.high, false, 0, 1), most, "value"))
      .find((list) => list.length > 2 && list.every(({ label }) => wide(label) <= room));
    if (round) return round.map(({ at, label }) => [label, shareOf(axis, at)]);
  }
  const values = MARKS.map((part) => valueAt(axis, part));
  const spelled = (/** @type {number} */ digits, /** @type {number} */ part) =>
    values.map((value) =>
      axis.log ? number(value, digits) : numberTo(value, (axis.high / 4 - axis.low / 4) * part, digits),
    );
  const first = spelled(3, 0.1);
  const all = [first, spelled(2, 0.5), spelled(1, 1)].flatMap((texts) => [
    texts,
    texts.map((text) => text.replace(/^(-?)0\./, "$1.")),
  ]);
  const within = (/** @type {number} */ most) =>
    all.find((texts) => texts.every((text) => wide(text) <= most) && new Set(texts).size === new Set(values).size);
  const found = within(room) ?? within(room + 14); // overlapping the next axis is better than losing the first digits
  return (found ?? first.map((text) => ending(wide, text, room))).map((text, i) => [text, MARKS[i]]);
}

/** Numbers that occur as people write them, in enough digits to tell them apart. @param {number[]} values */
function plain(values) {
  const spelled = [3, 6, 9, 17].map((digits) =>
    values.map((value) => (Number.isInteger(value) && Math.abs(value) < 1e6 ? String(value) : number(value, digits))),
  );
  return spelled.find((texts) => new Set(texts).size === texts.length) ?? spelled[spelled.length - 1];
}

/** Labels that do not overlap, from the bottom. @param {[string, number][]} marks @param {number} least
 * @returns {[string, number][]} */
function apart(marks, least) {
  let end = -Infinity;
  return marks.filter(([, part]) => {
    if (part < end + least) return false;
    end = part;
    return true;
  });
}

/** Cuts the first digits of a number that does not fit: the labels of one axis differ in their last digits.
 * @param {(text: string) => number} wide @param {string} text @param {number} room */
function ending(wide, text, room) {
  let from = 0;
  const cut = () => (from ? `…${text.slice(from)}` : text);
  while (from < text.length - 4 && wide(cut()) > room) from++;
  return cut();
}

const VIRIDIS = ["#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b"];

/** The colour of a share from 0 to 1; the ends of viridis that a ground would hide are left out.
 * @param {number} part @param {boolean} onDark @returns {string} */
export function viridis(part, onDark) {
  const [begin, end] = onDark ? [2, VIRIDIS.length - 1] : [0, VIRIDIS.length - 2];
  const at = begin + Math.min(Math.max(part, 0), 1) * (end - begin);
  const k = Math.min(Math.floor(at), end - 1);
  const channel = (/** @type {number} */ i) => {
    const [a, b] = [VIRIDIS[k], VIRIDIS[k + 1]].map((each) => Number.parseInt(each.slice(i, i + 2), 16));
    return Math.round(a + (b - a) * (at - k));
  };
  return `rgb(${channel(1)} ${channel(3)} ${channel(5)})`;
}
