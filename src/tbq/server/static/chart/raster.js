// Draws many curves into an image, pixel column by pixel column: a thousand take milliseconds, where canvas strokes
// take seconds. Each curve covers a stretch of a column, and only the ends of the stretch are stored. Sums along the
// column then give the number of curves that cover each pixel, and their mean colour. So no curve hides another: where
// many overlap, the picture shows how many.

import { hasSlope, toPixels } from "./scale.js";

/**
 * `sums` has two numbers for each pixel, column by column: the change from the pixel above. The first number holds the
 * count of curves and the sum of their red; the second, the sums of their green and blue. Two sums share one number,
 * because that takes half the time.
 * Stretches wait in `ends`, by column and curve, until BATCH curves are there. They are then added column by column:
 * adding each curve at once would jump through all sums, which takes most of the time.
 * @typedef {{ width: number, height: number, sums: Float64Array, unit: number, ends: Float32Array, waiting: number,
 * colours: Float64Array }} Raster
 */
/** @typedef {[number, number, number]} Colour */

const BATCH = 128;
const PAIR = 2 ** 26; // the factor of the first sum of a pair
const DENSEST = 0.55; // how far the colour of the densest pixel goes towards the ink

/** An empty raster for this many curves. @param {number} width @param {number} height @param {number} curves
 * @returns {Raster} */
export function emptyRaster(width, height, curves) {
  // The count of a covered pixel. Parts of it are integers, which cancel exactly; sums stay below PAIR.
  const unit = curves > 16_000 ? 1 : 16;
  return {
    width,
    height,
    sums: new Float64Array(width * (height + 2) * 2),
    unit,
    ends: new Float32Array(width * BATCH * 2),
    waiting: 0,
    colours: new Float64Array(BATCH * 3),
  };
}

/**
 * Draws the columns into an image, over the background: one curve in its colour; the more curves overlap, the nearer
 * their mean colour is to the ink. @param {Raster} r @param {ImageData} image
 * @param {Uint32Array} ground the colour of each row @param {Colour} ink
 */
export function intoImage(r, image, ground, ink) {
  addWaiting(r);
  const { width, height, sums, unit } = r;
  const rows = new Uint32Array(image.data.buffer);
  let most = 0;
  for (let x = 0, at = 0; x < width; x++)
    for (let y = 0, sum = 0; y < height + 2; y++, at += 2) {
      sum += sums[at];
      if (sum > most) most = sum;
    }
  most = Math.max(Math.floor(most / PAIR), 2 * unit);
  for (let x = 0, at = 0; x < width; x++, at += 4) {
    let [one, two] = [0, 0];
    for (let y = 0, to = x; y < height; y++, at += 2, to += width) {
      one += sums[at];
      two += sums[at + 1];
      const below = ground[y];
      if (one < PAIR) {
        rows[to] = below;
        continue;
      }
      const n = Math.floor(one / PAIR);
      const green = Math.floor(two / PAIR);
      const dark = n > unit ? DENSEST * Math.sqrt((n - unit) / most) : 0;
      const front = n < unit ? n / unit : 1;
      const own = (front * (1 - dark)) / n;
      const inked = front * dark;
      const back = 1 - front;
      rows[to] =
        0xff000000 |
        (((two - green * PAIR) * own + ink[2] * inked + ((below >> 16) & 255) * back) << 16) |
        ((green * own + ink[1] * inked + ((below >> 8) & 255) * back) << 8) |
        ((one - n * PAIR) * own + ink[0] * inked + (below & 255) * back);
    }
  }
}

/** Adds a waiting curve; returns its place. @param {Raster} r @param {Colour} colour @param {number} alpha */
function placeOf(r, [red, green, blue], alpha) {
  if (r.waiting === BATCH) addWaiting(r);
  // What a covered pixel adds to its two sums, and how much of it one curve covers.
  r.colours.set([PAIR + red, green * PAIR + blue, (r.unit * alpha + 0.5) | 0], r.waiting * 3);
  return r.waiting++;
}

/**
 * Stores the stretch that a curve covers in a column.
 * @param {Raster} r @param {number} place of the curve @param {number} column
 * @param {number} high @param {number} low from top to bottom, in pixels
 */
function span(r, place, column, high, low) {
  const at = (column * BATCH + place) * 2;
  r.ends[at] = high;
  r.ends[at + 1] = low;
}

/** @param {Raster} r */
function addWaiting(r) {
  const { width, ends, waiting, colours } = r;
  for (let column = 0; column < width; column++)
    for (let place = 0, at = column * BATCH * 2; place < waiting; place++, at += 2)
      add(r, column, ends[at], ends[at + 1], colours[place * 3], colours[place * 3 + 1], colours[place * 3 + 2]);
  ends.fill(0);
  r.waiting = 0;
}

/**
 * Adds a stretch of a column to the sums; it covers the pixels at its ends partly.
 * @param {Raster} r @param {number} column @param {number} high @param {number} low
 * @param {number} one @param {number} two the pairs of the colour @param {number} whole
 */
function add({ height, sums }, column, high, low, one, two, whole) {
  if (high < 0) high = 0;
  if (low > height) low = height;
  if (!(low > high)) return;
  const top = high | 0;
  const first = ((top + 1 - high) * whole) | 0;
  let at = (column * (height + 2) + top) * 2;
  sums[at] += one * first;
  sums[at + 1] += two * first;
  sums[at + 2] += one * (whole - first);
  sums[at + 3] += two * (whole - first);
  const end = low | 0;
  const rest = ((end + 1 - low) * whole) | 0;
  at += (end - top) * 2;
  sums[at] -= one * rest;
  sums[at + 1] -= two * rest;
  sums[at + 2] -= one * (whole - rest);
  sums[at + 3] -= two * (whole - rest);
}

/**
 * Draw one curve: the envelope of each column, joined from last to first. @param {Raster} r
 * @param {Pick<import("../types.js").Series, "x" | "first" | "last" | "min" | "max">} curve
 * @param {ArrayLike<number>} pixels x of each column, in pixels
 * @param {import("./scale.js").Scale} scaleY @param {Colour} colour
 * @param {number} half half the line's width, in pixels @param {number[]} dash columns that are drawn and left out
 * @param {number} phase of the dashes: with equal phases, curves would form stripes @param {number} alpha
 */
export function line(r, { x, first, last, min, max }, pixels, scaleY, colour, half, dash, phase = 0, alpha = 1) {
  // A linear scale is inlined here: calling a function per value takes a fifth of the time.
  const toY = toPixels(scaleY);
  const slopeY = (scaleY.to - scaleY.from) / (scaleY.high - scaleY.low);
  const log = scaleY.log || !hasSlope(slopeY);
  const [fromY, lowY] = [scaleY.from, scaleY.low];
  const place = placeOf(r, colour, alpha);
  const period = dash.reduce((sum, each) => sum + each, 0);
  const put = (/** @type {number} */ c, /** @type {number} */ high, /** @type {number} */ low) => {
    if (c < 0 || c >= r.width || (period && isGap(dash, (c + phase) % period))) return;
    span(r, place, c, high, low);
  };
  let beforeX = NaN;
  let beforeY = NaN;
  let begin = Infinity; // the column after that of the point before
  // If several points are in one column of pixels, the curve counts once there.
  let held = -1;
  let top = 0;
  let bottom = 0;
  for (let k = 0; k < x.length; k++) {
    const value = last[k];
    if (Number.isNaN(value)) continue;
    const px = pixels[k];
    const fy = log ? toY(first[k]) : fromY + (first[k] - lowY) * slopeY;
    const column = Math.floor(px);
    let high = fy;
    let low = fy;
    if (max[k] > min[k]) {
      high = log ? toY(max[k]) : fromY + (max[k] - lowY) * slopeY;
      low = log ? toY(min[k]) : fromY + (min[k] - lowY) * slopeY;
    }
    if (column >= begin) {
      // The straight line from the point before: in its column, in those between, and in this one.
      const slope = (fy - beforeY) / (px - beforeX);
      const exit = beforeY + (begin - beforeX) * slope;
      if (exit < top) top = exit;
      if (exit > bottom) bottom = exit;
      const enter = fy - (px - column) * slope;
      if (enter < high) high = enter;
      if (enter > low) low = enter;
      const pad = half * Math.min(3, Math.sqrt(1 + slope * slope));
      // In each column, a steep line covers its rise, and a flat one its width.
      const reach = Math.max(pad, Math.abs(slope) / 2 + half * 0.3);
      for (let c = Math.max(begin, 0); c < column && c < r.width; c++) {
        const middle = beforeY + (c + 0.5 - beforeX) * slope;
        put(c, middle - reach, middle + reach);
      }
    }
    if (column === held) {
      if (high < top) top = high;
      if (low > bottom) bottom = low;
    } else {
      put(held, top - half, bottom + half);
      held = column;
      top = high;
      bottom = low;
    }
    begin = column + 1;
    beforeX = px;
    beforeY = log ? toY(value) : fromY + (value - lowY) * slopeY;
  }
  put(held, top - half, bottom + half);
}

/** Whether `at` is in a gap of a dashed line. @param {number[]} dash @param {number} at */
function isGap(dash, at) {
  let part = 0;
  for (let end = dash[0]; at >= end && part < dash.length - 1; end += dash[++part]);
  return part % 2 === 1;
}

/**
 * Fill between two edges. @param {Raster} r @param {Float64Array} x @param {import("../types.js").Values} lower
 * @param {import("../types.js").Values} upper @param {(v: number) => number} toX @param {(v: number) => number} toY
 * @param {Colour} colour @param {number} alpha
 */
export function area(r, x, lower, upper, toX, toY, colour, alpha) {
  const place = placeOf(r, colour, alpha);
  let bx = NaN;
  let bh = NaN;
  let bl = NaN;
  for (let k = 0; k < x.length; k++) {
    if (Number.isNaN(upper[k]) || Number.isNaN(lower[k])) continue;
    const px = toX(x[k]);
    const high = toY(upper[k]);
    const low = toY(lower[k]);
    const column = px | 0;
    const begin = !Number.isNaN(bx) ? Math.max((bx | 0) + 1, 0) : Math.max(column, 0);
    for (let c = begin; c <= column && c < r.width; c++) {
      const share = !Number.isNaN(bx) && px > bx ? (c + 0.5 - bx) / (px - bx) : 1;
      const t = Math.min(share, 1);
      span(r, place, c, !Number.isNaN(bx) ? bh + (high - bh) * t : high, !Number.isNaN(bx) ? bl + (low - bl) * t : low);
    }
    bx = px;
    bh = high;
    bl = low;
  }
}

/** @param {string} colour #rrggbb @returns {Colour} */
export function rgb(colour) {
  const code = parseInt(colour.slice(1), 16);
  return [(code >> 16) & 255, (code >> 8) & 255, code & 255];
}
