// Decodes what packed.py encodes: many curves in few bytes become one Float64Array per column.

/**
 * @param {{width: number, series: {length: number}, columns: {name: string, offset: number, length: number}[],
 * packed: {middle: number, spread: number, step: number, log: boolean, ways: number}}} header
 * @param {ArrayBuffer} buffer the frame @param {number} start where its columns begin: 4 + the length of the header
 * @returns {{first: Float64Array, last: Float64Array, min: Float64Array, max: Float64Array}} series by series, NaN
 * for none
 */
export function unpack(header, buffer, start) {
  /** @param {string} name */
  const bytes = (name) => {
    const column = header.columns.find((each) => each.name === name);
    return column ? new Uint8Array(buffer, start + column.offset, column.length) : new Uint8Array(0);
  };
  const { middle, spread, step, log, ways } = header.packed;
  // Without "there" every column has points; without "low3" all steps are small.
  const [there, low, low2, low3] = ["there", "low", "low2", "low3"].map(bytes);
  const [span, span2, ends] = ["span", "span2", "ends"].map(bytes);
  const width = header.width;
  const count = header.series.length * width;
  /** @param {number} code */
  const value = (code) => {
    const level = middle + spread * Math.sinh(code * step);
    return Math.min(log ? 10 ** level : Math.max(level, -Number.MAX_VALUE), Number.MAX_VALUE);
  };
  // A table of the value of each code is faster than a million hyperbolic sines.
  const half = 30_002;
  const values = new Float64Array(2 * half + 1);
  for (let i = 0; i < values.length; i++) values[i] = value(i - half);
  if (log) values[0] = 0; // the code of values that are not positive
  const parts = Float64Array.from({ length: 16 }, (_, i) => i / ways);
  const curves = {
    first: new Float64Array(count),
    last: new Float64Array(count),
    min: new Float64Array(count),
    max: new Float64Array(count),
  };
  const { first, last, min, max } = curves;
  let next = 0;
  for (let begin = 0; begin < count; begin += width) {
    let code = 0;
    for (let i = begin; i < begin + width; i++) {
      if (there.length && !((there[i >> 3] >> (7 - (i & 7))) & 1)) {
        first[i] = last[i] = min[i] = max[i] = NaN;
        continue;
      }
      const signed = low[next] | (low2[next] << 8) | (low3.length ? low3[next] << 16 : 0);
      code += (signed >>> 1) ^ -(signed & 1);
      const distance = span[next] | (span2[next] << 8);
      const bottom = values[code + half];
      const top = distance ? values[code + distance + half] : bottom;
      const both = ends[next++];
      min[i] = bottom;
      max[i] = top;
      if (log) {
        first[i] = both >> 4 ? value(code + distance * parts[both >> 4]) : bottom;
        last[i] = both & 15 ? value(code + distance * parts[both & 15]) : bottom;
      } else {
        // The distance between two finite numbers may be infinite.
        first[i] = bottom * (1 - parts[both >> 4]) + top * parts[both >> 4];
        last[i] = bottom * (1 - parts[both & 15]) + top * parts[both & 15];
      }
    }
  }
  return curves;
}
