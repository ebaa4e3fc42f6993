// Steps: whole numbers of 64 bits, always exact. Below 2^53 they are numbers; beyond, the server sends texts, which
// become BigInts.

/** @typedef {number | bigint} Step */

/**
 * @param {number | string | bigint} value as JSON or an address has it
 * @returns {Step | null} null if it is not a whole number
 */
export function stepOf(value) {
  if (typeof value === "string" && !/^-?\d{1,20}$/.test(value)) return null;
  const step = Number(value);
  return Number.isSafeInteger(step) ? step : typeof value === "number" ? null : BigInt(value);
}

/** Lists of steps of an answer. @param {(number | string)[]} list @returns {Step[]} */
export const stepsOf = (list) => list.flatMap((each) => stepOf(each) ?? []);

/** The order of steps; numbers and BigInts compare exactly. @param {Step} a @param {Step} b */
export const ascending = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
