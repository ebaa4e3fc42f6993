// Decodes frames: columns of numbers from the server, with a header in JSON.

import { unpack } from "./packed.js";

/** @typedef {Float64Array | Float32Array | Uint32Array | Uint16Array | Uint8Array} Column */
/** @typedef {{ header: any, columns: Record<string, Column>, bytes: number }} Frame */

/** The columns of a frame, which is the length of the header, the header, then each column at its offset.
 * @param {ArrayBuffer} buffer @returns {Frame} */
export function decode(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const begin = 4 + length;
  /** @type {Record<string, Column>} */
  const columns = {};
  for (const each of header.columns) columns[each.name] = column(buffer, begin, each);
  if (header.packed) Object.assign(columns, unpack(header, buffer, begin));
  return { header, columns, bytes: buffer.byteLength };
}

/** @param {ArrayBuffer} buffer @param {number} begin @param {any} each @returns {Column} */
function column(buffer, begin, each) {
  const at = begin + each.offset;
  switch (each.type) {
    case "f64":
      return new Float64Array(buffer, at, each.length);
    case "f32":
      return new Float32Array(buffer, at, each.length);
    case "u32":
      return new Uint32Array(buffer, at, each.length);
    case "u16":
      return new Uint16Array(buffer, at, each.length);
    case "u8":
      return new Uint8Array(buffer, at, each.length);
    default:
      return /** @type {any} */ (each.values ?? []);
  }
}
