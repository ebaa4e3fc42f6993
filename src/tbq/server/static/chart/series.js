// Turns a frame of curves from the server into series to draw, and finds the range of their values.

/** @typedef {import("../types.js").Series} Series */
/** @typedef {import("../types.js").Curves} Curves */

const EMPTY = new Float64Array(0);

/** @param {import("../frame.js").Frame} frame @param {boolean} logX columns are even on a logarithmic axis
 * @returns {Curves} */
export function curvesOf({ header, columns, bytes }, logX = false) {
  const { low, high, width } = header;
  // The distance between two finite numbers may be infinite.
  const space = high - low < Infinity ? (high - low) / width : high / width - low / width;
  const log = logX && low > 0;
  // All series have the same columns, and share one array of x.
  const x = new Float64Array(width);
  for (let k = 0; k < width; k++) x[k] = log ? low * (high / low) ** ((k + 0.5) / width) : low + (k + 0.5) * space;
  /** @type {Series[]} */
  const series = [];
  let points = 0;
  header.series.forEach((/** @type {any} */ each, /** @type {number} */ i) => {
    const begin = i * width;
    const length = width;
    const take = (/** @type {string} */ name) => part(columns[name], begin, begin + length);
    const min = take("min") ?? take("mean") ?? EMPTY;
    const max = take("max") ?? min;
    points += each.points ?? 0;
    series.push({
      key: `${each.ids ? `group ${each.group}` : each.id}\0${header.tag}`,
      tag: header.tag,
      id: each.id ?? null,
      group: each.ids ? each.group : null,
      n: each.points ?? 0,
      runs: each.ids?.length ?? 1,
      notFinite: each.not_finite ?? 0,
      diverged: each.diverged ?? 0,
      broken: list(each.broken),
      takeovers: each.takeovers ?? [],
      x,
      min,
      max,
      first: take("first") ?? min,
      last: take("last") ?? max,
      rawMin: take("raw_min"),
      rawMax: take("raw_max"),
      lower: take("lower"),
      upper: take("upper"),
    });
  });
  return { low, high, width, series, bytes, points, usual: header.usual ?? {} };
}

/** Joins the curves of several tags for one chart. @param {Curves[]} all @returns {Curves} */
export function merged(all) {
  const some = all.filter((each) => each.series.length);
  if (some.length < 2) return some[0] ?? all[0];
  const over = (/** @type {(each: Curves) => [number, number] | null | undefined} */ of) => {
    const ends = some.flatMap((each) => [of(each) ?? []]).filter((each) => each.length);
    return /** @type {[number, number]} */ ([
      Math.min(...ends.map(([low]) => low)),
      Math.max(...ends.map(([, high]) => high)),
    ]);
  };
  const usual = (/** @type {"linear" | "log"} */ kind) =>
    over((each) => each.usual[kind] ?? extent(each, -Infinity, Infinity, kind === "log"));
  const [low, high] = over((each) => [each.low, each.high]);
  const sum = (/** @type {"bytes" | "points"} */ name) => some.reduce((total, each) => total + each[name], 0);
  return {
    ...some[0],
    low,
    high,
    series: some.flatMap((each) => each.series),
    bytes: sum("bytes"),
    points: sum("points"),
    usual: { linear: usual("linear"), log: usual("log") },
  };
}

/** Turns curves of one point each into dots side by side, from the lowest to the highest; x is the place in this order.
 * @param {Curves} curves @returns {Curves} */
export function inRow(curves) {
  const dots = curves.series.map((each) => ({ each, k: nearest(each, each.x[0]) }));
  const level = (/** @type {{ each: Series, k: number }} */ { each, k }) => (k < 0 ? Infinity : each.last[k]);
  dots.sort((a, b) => (level(a) < level(b) ? -1 : level(a) > level(b) ? 1 : 0));
  const series = dots.map(({ each, k }, place) => {
    const pick = (/** @type {any} */ column) => column?.subarray(k, k < 0 ? k : k + 1) ?? null;
    return {
      ...each,
      x: k < 0 ? EMPTY : Float64Array.of(place),
      first: pick(each.first),
      last: pick(each.last),
      min: pick(each.min),
      max: pick(each.max),
      rawMin: pick(each.rawMin),
      rawMax: pick(each.rawMax),
      lower: pick(each.lower),
      upper: pick(each.upper),
      broken: each.broken.length ? [place] : [],
      takeovers: [],
    };
  });
  return { ...curves, series, low: -0.5, high: Math.max(dots.length, 1) - 0.5 };
}

/** @param {any} value one number, several, or none @returns {number[]} */
const list = (value) =>
  (Array.isArray(value) ? value : [value]).filter((each) => typeof each === "number" && Number.isFinite(each));

/** @param {any} column @param {number} begin @param {number} end @returns {import("../types.js").Values | null} */
function part(column, begin, end) {
  return column ? column.subarray(begin, end) : null;
}

/** The lowest and highest value between two x.
 * @param {Pick<Curves, "series">} curves @param {number} low @param {number} high @param {boolean} log
 * @returns {[number, number] | null} */
export function extent({ series }, low, high, log) {
  let least = Infinity;
  let most = -Infinity;
  for (const { x, min, max, lower, upper } of series) {
    const bottom = lower ?? min;
    const ceiling = upper ?? max;
    for (let k = 0; k < x.length; k++) {
      if (x[k] < low || x[k] > high) continue;
      const b = bottom[k];
      const c = ceiling[k];
      if (b < least && b > -Infinity && (!log || b > 0)) least = b;
      if (c > most && c < Infinity) most = c;
      if (log && c > 0 && c < least) least = c;
    }
  }
  return least <= most ? [least, most] : null;
}

/** The part of the drawn range that is usual; all of it if no part is.
 * @param {[number, number]} drawn @param {[number, number] | undefined} usual @returns {[number, number]} */
export function within(drawn, usual) {
  if (!usual) return drawn;
  const [low, high] = [Math.max(drawn[0], usual[0]), Math.min(drawn[1], usual[1])];
  return low <= high ? [low, high] : drawn;
}

/** The range of values that a chart shows: the usual part of what is drawn between two x, with a margin.
 * @param {Pick<Curves, "series">} visible @param {[number, number]} x @param {boolean} log
 * @param {[number, number] | undefined} usual @returns {[number, number]} */
export function rangeOf(visible, x, log, usual) {
  const [low, high] = within(extent(visible, x[0], x[1], log) ?? [0, 1], usual);
  if (log) {
    // The same margin on a logarithmic axis, as a factor.
    const room = Math.min(Math.exp(0.04 * Math.log1p((high - low) / low)) || 1.1, 1.1);
    return [low / room, high * room];
  }
  const pad = Math.min((high - low) * 0.04, Number.MAX_VALUE / 10) || Math.abs(low) * 0.05 || 0.5;
  return [low - pad, high + pad];
}

/** The curves that leave a range between two x; on a logarithmic axis, values below 0 are not shown at all.
 * @param {Series[]} series @param {[number, number]} x @param {[number, number]} y @param {boolean} log
 * @returns {import("../types.js").Leaving[]} */
export function leaving(series, x, y, log) {
  const found = [];
  for (const each of series) {
    let at = NaN;
    let far = 0;
    for (let k = 0; k < each.x.length; k++) {
      if (each.x[k] < x[0] || each.x[k] > x[1]) continue;
      const [low, high] = [each.min[k], each.max[k]];
      const value = high > y[1] ? high : low < y[0] && (!log || low > 0) ? low : NaN;
      if (Number.isNaN(value)) continue;
      if (Number.isNaN(at)) [at, far] = [each.x[k], value];
      else if (far > y[1] === value > y[1] && (value > y[1] ? value > far : value < far)) far = value;
    }
    if (!Number.isNaN(at)) found.push({ series: each, x: at, value: far, above: far > y[1] });
  }
  return found;
}

/** A curve whose band ends where the curve leaves the range: there, a band would only hide the other curves.
 * @param {Series} each @param {[number, number]} y @returns {Series} */
export function bandWithin(each, [low, high]) {
  if (!each.lower || !each.upper) return each;
  const isOutside = (/** @type {number} */ k) => each.last[k] < low || each.last[k] > high;
  const end = (/** @type {import("../types.js").Values} */ values) =>
    Float64Array.from(values, (value, k) => (isOutside(k) ? each.last[k] : value));
  return { ...each, lower: end(each.lower), upper: end(each.upper) };
}

/**
 * The last search: series share their columns, so the next search is usually the same.
 * @type {{ all: any, x: number, at: number }}
 */
let lastSearch = { all: null, x: NaN, at: 0 };

/** The first column at or after x, or the last column. @param {ArrayLike<number>} all @param {number} x */
function search(all, x) {
  let low = 0;
  let high = all.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (all[middle] < x) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The column of a series nearest to x, or -1. @param {Series} series @param {number} x */
export function nearest({ x: all, last }, x) {
  if (!all.length) return -1;
  if (lastSearch.all !== all || lastSearch.x !== x) lastSearch = { all, x, at: search(all, x) };
  const low = lastSearch.at;
  // Columns without a point are NaN: search in both directions for the nearest column with one.
  let before = low > 0 && Math.abs(all[low - 1] - x) <= Math.abs(all[low] - x) ? low - 1 : low;
  let after = before + 1;
  for (let tries = 0; tries < all.length; tries++) {
    if (before >= 0 && !Number.isNaN(last[before])) return before;
    if (after < all.length && !Number.isNaN(last[after])) return after;
    before--;
    after++;
  }
  return -1;
}

/** Adds the neighbouring points outside the range, so that lines continue to the edge of a zoomed chart.
 * @param {Curves} curves @param {Curves} whole the same curves over their full length @returns {Curves} */
export function withEdges(curves, whole) {
  const all = new Map(whole.series.map((each) => [each.key, each]));
  const series = curves.series.map((each) => {
    const other = all.get(each.key);
    if (!other) return each;
    // A column at the edge that has a point needs no neighbour.
    const before = Number.isNaN(each.last[0]) ? beside(other, curves.low, -1) : -1;
    const after = Number.isNaN(each.last[each.last.length - 1]) ? beside(other, curves.high, 1) : -1;
    if (before < 0 && after < 0) return each;
    const joined = (/** @type {any} */ inner, /** @type {any} */ outer) => {
      if (!inner || !outer) return inner;
      const extended = new Float64Array(inner.length + (before >= 0 ? 1 : 0) + (after >= 0 ? 1 : 0));
      extended.set(inner, before >= 0 ? 1 : 0);
      if (before >= 0) extended[0] = outer[before];
      if (after >= 0) extended[extended.length - 1] = outer[after];
      return extended;
    };
    const f = (/** @type {"first" | "last" | "min" | "max" | "rawMin" | "rawMax" | "lower" | "upper"} */ name) =>
      joined(each[name], other[name]);
    return {
      ...each,
      x: joined(each.x, other.x),
      first: f("first"),
      last: f("last"),
      min: f("min"),
      max: f("max"),
      rawMin: f("rawMin"),
      rawMax: f("rawMax"),
      lower: f("lower"),
      upper: f("upper"),
    };
  });
  return { ...curves, series };
}

/**
 * The column with a point that is nearest to an end of the range, outside it. @param {Series} series
 * @param {number} at @param {number} way
 */
function beside({ x, last }, at, way) {
  for (let k = way < 0 ? x.length - 1 : 0; k >= 0 && k < x.length; k += way)
    if ((way < 0 ? x[k] < at : x[k] > at) && !Number.isNaN(last[k])) return k;
  return -1;
}
