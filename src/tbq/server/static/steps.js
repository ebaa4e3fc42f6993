// Steps are 64-bit integers, always exact: numbers up to 2^53; larger ones arrive as text and become BigInts.

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

/** The steps of an answer. @param {(number | string)[]} list @returns {Step[]} */
export const stepsOf = (list) => list.flatMap((each) => stepOf(each) ?? []);

/** The order of steps; numbers and BigInts compare exactly. @param {Step} a @param {Step} b */
export const ascending = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
