// Draws many curves into an image, pixel column by pixel column: a thousand take milliseconds, where canvas strokes
// take seconds. Front curves are drawn first, so that each hidden pixel costs one comparison; of a thousand curves
// most are hidden. The ends of a vertical stretch cover their pixels in part.

import { hasSlope, toPixels } from "./scale.js";

/**
 * Pixels are stored by column, premultiplied. The rows `from` to `to` of each column are opaque. @typedef {{ width:
 * number, height: number, pixels: Uint32Array, from: Int32Array, to: Int32Array, left: number, right: number }}
 * Raster
 */

/** An empty image of columns. @param {number} width @param {number} height @returns {Raster} */
export function emptyRaster(width, height) {
  return {
    width,
    height,
    pixels: new Uint32Array(width * height),
    from: new Int32Array(width),
    to: new Int32Array(width),
    left: 0,
    right: width,
  };
}

/**
 * Copies the columns into the rows of an image, over the background. @param {Raster} r @param {ImageData} image
 * @param {Uint32Array} ground the colour of each row
 */
export function intoImage({ width, height, pixels }, image, ground) {
  const rows = new Uint32Array(image.data.buffer);
  for (let y = 0; y < height; y++) {
    const below = ground[y];
    const [red, green, blue] = [below & 255, (below >> 8) & 255, (below >> 16) & 255];
    for (let x = 0, at = y, to = y * width; x < width; x++, at += height, to++) {
      const front = pixels[at];
      const rest = (255 - (front >>> 24)) / 255;
      if (rest === 0) rows[to] = front;
      else if (front === 0) rows[to] = below;
      else
        rows[to] =
          0xff000000 |
          ((((front >> 16) & 255) + blue * rest) << 16) |
          ((((front >> 8) & 255) + green * rest) << 8) |
          ((front & 255) + red * rest);
    }
  }
}

/**
 * Blends a colour under the content of a pixel. All parts are rounded down, so that none exceeds the opacity.
 * @param {Uint32Array} pixels @param {number} at @param {number} red @param {number} green @param {number} blue
 * @param {number} share
 */
function under(pixels, at, red, green, blue, share) {
  const front = pixels[at];
  const opacity = front >>> 24;
  if (opacity === 255) return;
  const more = share * (255 - opacity);
  const part = more / 255;
  pixels[at] =
    ((opacity + more) << 24) |
    ((((front >> 16) & 255) + blue * part) << 16) |
    ((((front >> 8) & 255) + green * part) << 8) |
    ((front & 255) + red * part);
}

/**
 * @param {Raster} r @param {number} column @param {number} high @param {number} low from top to bottom, in pixels
 * @param {number} red @param {number} green @param {number} blue @param {number} alpha
 */
function span(r, column, high, low, red, green, blue, alpha) {
  if (high < 0) high = 0;
  if (low > r.height) low = r.height;
  if (!(low > high)) return;
  const { pixels } = r;
  const begin = column * r.height;
  const row = high | 0;
  const end = low | 0;
  const from = r.from[column];
  const to = r.to[column];
  if (row >= from && (low > end ? end : end - 1) < to) return;
  if (row === end) {
    under(pixels, begin + row, red, green, blue, (low - high) * alpha);
    return;
  }
  under(pixels, begin + row, red, green, blue, (row + 1 - high) * alpha);
  if (low > end) under(pixels, begin + end, red, green, blue, (low - end) * alpha);
  const word = 0xff000000 | (blue << 16) | (green << 8) | red;
  for (let y = row + 1; y < end; y++) {
    if (y >= from && y < to) {
      y = to - 1;
      continue;
    }
    if (alpha === 1 && pixels[begin + y] === 0) pixels[begin + y] = word;
    else under(pixels, begin + y, red, green, blue, alpha);
  }
  if (alpha !== 1 || end <= row + 1) return;
  if (to > from && row + 1 <= to && end >= from) {
    if (row + 1 < from) r.from[column] = row + 1;
    if (end > to) r.to[column] = end;
  } else if (end - row - 1 > to - from) {
    r.from[column] = row + 1;
    r.to[column] = end;
  }
}

/**
 * Draw one curve: the envelope of each column, joined from last to first. @param {Raster} r
 * @param {import("../types.js").Series} series @param {ArrayLike<number>} pixels x of each column, in pixels
 * @param {import("./scale.js").Scale} scaleY @param {[number, number, number]} colour
 * @param {number} half half the line's width, in pixels @param {number} alpha
 */
export function line(r, { x, first, last, min, max }, pixels, scaleY, [red, green, blue], half, alpha) {
  // A linear scale is inlined here: calling a function per value takes a fifth of the time.
  const toY = toPixels(scaleY);
  const slopeY = (scaleY.to - scaleY.from) / (scaleY.high - scaleY.low);
  const log = scaleY.log || !hasSlope(slopeY);
  const [fromY, lowY] = [scaleY.from, scaleY.low];
  let beforeX = NaN;
  let beforeY = NaN;
  for (let k = 0; k < x.length; k++) {
    const value = last[k];
    if (Number.isNaN(value)) continue;
    const px = pixels[k];
    const fy = log ? toY(first[k]) : fromY + (first[k] - lowY) * slopeY;
    const column = px | 0;
    if (!Number.isNaN(beforeX) && column - (beforeX | 0) > 1) {
      // The straight line through the columns between two points.
      const slope = (fy - beforeY) / (px - beforeX);
      const begin = Math.max((beforeX | 0) + 1, r.left);
      const end = Math.min(column - 1, r.right - 1);
      const pad = half * Math.min(3, Math.sqrt(1 + slope * slope));
      for (let c = begin; c <= end; c++) {
        const a = beforeY + (c - beforeX) * slope;
        const b = a + slope;
        const middle = (a + b) / 2;
        // In each column, a steep line covers its rise, and a flat one its width.
        const reach = Math.max(pad, Math.abs(slope) / 2 + half * 0.3);
        span(r, c, middle - reach, middle + reach, red, green, blue, alpha);
      }
    }
    let high = fy;
    let low = fy;
    if (max[k] > min[k]) {
      high = log ? toY(max[k]) : fromY + (max[k] - lowY) * slopeY;
      low = log ? toY(min[k]) : fromY + (min[k] - lowY) * slopeY;
    }
    if (!Number.isNaN(beforeX) && column - (beforeX | 0) <= 1) {
      // This column draws half of the step from the previous one, so that the curve has no gap.
      const joint = (beforeY + fy) / 2;
      if (joint < high) high = joint;
      if (joint > low) low = joint;
    }
    if (column >= r.left && column < r.right) span(r, column, high - half, low + half, red, green, blue, alpha);
    beforeX = px;
    beforeY = log ? toY(value) : fromY + (value - lowY) * slopeY;
  }
}

/**
 * Fill between two edges. @param {Raster} r @param {Float64Array} x @param {import("../types.js").Values} lower
 * @param {import("../types.js").Values} upper @param {(v: number) => number} toX @param {(v: number) => number} toY
 * @param {[number, number, number]} colour @param {number} alpha
 */
export function area(r, x, lower, upper, toX, toY, [red, green, blue], alpha) {
  let bx = NaN;
  let bh = NaN;
  let bl = NaN;
  for (let k = 0; k < x.length; k++) {
    if (Number.isNaN(upper[k]) || Number.isNaN(lower[k])) continue;
    const px = toX(x[k]);
    const high = toY(upper[k]);
    const low = toY(lower[k]);
    const column = px | 0;
    const begin = !Number.isNaN(bx) ? Math.max((bx | 0) + 1, r.left) : Math.max(column, r.left);
    for (let c = begin; c <= column && c < r.right; c++) {
      const share = !Number.isNaN(bx) && px > bx ? (c + 0.5 - bx) / (px - bx) : 1;
      const t = Math.min(share, 1);
      span(
        r,
        c,
        !Number.isNaN(bx) ? bh + (high - bh) * t : high,
        !Number.isNaN(bx) ? bl + (low - bl) * t : low,
        red,
        green,
        blue,
        alpha,
      );
    }
    bx = px;
    bh = high;
    bl = low;
  }
}

/** @param {string} colour #rrggbb @returns {[number, number, number]} */
export function rgb(colour) {
  const code = parseInt(colour.slice(1), 16);
  return [(code >> 16) & 255, (code >> 8) & 255, code & 255];
}
