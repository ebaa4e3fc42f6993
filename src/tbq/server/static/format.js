// Numbers, sizes, durations and times as people read them. Python has the same rules in numbers.py;
// tests/fixtures/rules/numbers.json tests both.

const UNITS = ["", "k", "M", "G", "T", "P", "E"];

/**
 * A value with `digits` significant digits; without `trim` zeros at the end stay, so that a column aligns on the
 * point. @param {number} value @param {number} digits @param {boolean} trim
 */
export function number(value, digits = 4, trim = true) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
  if (value === 0) return "0";
  const [mantissa, exponent] = value.toExponential(digits - 1).split("e");
  const size = Number(exponent); // after rounding
  if (size < -4 || size >= Math.max(9, Math.min(digits, 15))) {
    return `${trimmed(mantissa)}e${size < 0 ? "-" : "+"}${String(Math.abs(size)).padStart(2, "0")}`;
  }
  const text = grouped(value.toFixed(Math.max(digits - 1 - size, 0)));
  return trim ? trimmed(text) : text;
}

/** A name on the screen: signs that are invisible, or that turn what follows around, are marked.
 * @param {string} name */
export const printable = (name) => name.replace(/[\p{Cc}\p{Zl}\p{Zp}]|(?![\u200c\u200d])\p{Cf}/gu, "\ufffd");

/** A value far outside a chart, in few characters. @param {number} value */
export const far = (value) =>
  Math.abs(value) < 1e5 || !Number.isFinite(value) ? number(value, 3) : value.toExponential(1).replace("e+", "e");

/** The difference between two values, with its sign; empty if it is not finite.
 * @param {number} value @param {number} from */
export function delta(value, from) {
  const by = value - from;
  if (!Number.isFinite(by)) return "";
  return by === 0 ? "±0" : `${by > 0 ? "+" : ""}${Math.abs(by) < 1e5 ? number(by, 3) : far(by)}`;
}

/**
 * A value with enough digits to distinguish it from another one `unit` away, but at least `least`.
 * @param {number} value @param {number} unit @param {number} least
 */
export function numberTo(value, unit, least = 4) {
  const digits = Math.ceil(Math.log10(Math.abs(value) / unit)) + 1;
  return number(value, Number.isFinite(digits) ? Math.min(Math.max(digits, least), 17) : least);
}

/**
 * Pads the numbers of a right-aligned column, so that their decimal points align: with spaces as wide as a digit or
 * a point. @param {string[]} texts
 * @returns {(text: string) => string}
 */
export function onPoint(texts) {
  const places = (/** @type {string} */ text) => (text.includes(".") ? text.length - 1 - text.indexOf(".") : 0);
  const most = Math.max(0, ...texts.filter((text) => !text.includes("e")).map(places));
  return (text) => {
    const own = places(text);
    return own >= most || text.includes("e") ? text : `${text}${own ? "" : "\u2008"}${"\u2007".repeat(most - own)}`;
  };
}

/** @param {string} text */
function trimmed(text) {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/** With thousands separators. @param {string} text */
export function grouped(text) {
  const [integer, rest] = text.split(".");
  const marked = integer.replace(/\B(?=(\d{3})+$)/g, ",");
  return rest === undefined ? marked : `${marked}.${rest}`;
}

/** A whole number with thousands separators. @param {number | bigint} value */
export const count = (value) => (value === null || value === undefined ? "" : grouped(integerText(value)));

/** A count with its noun: 3 runs, 1 run. @param {number} n @param {string} one the noun for one of them */
export const counted = (n, one) => `${count(n)} ${one}${n === 1 ? "" : "s"}`;

/** @param {number | bigint} value */
const integerText = (value) =>
  typeof value === "bigint" ? String(value) : Math.abs(value) < 1e21 ? String(Math.round(value)) : number(value);

/** A count or a tick in few characters. @param {number} value @param {number} [digits] */
export function compact(value, digits) {
  if (!(Math.abs(value) < 999.5e18)) return number(value, digits ?? 3); // beyond the last unit, or NaN
  let size = 0;
  while (Math.abs(value) >= 999.5) {
    value /= 1000;
    size++;
  }
  return `${number(value, digits ?? (Math.abs(value) < 10 ? 2 : 3))}${UNITS[size]}`;
}

/** Bytes with a unit. @param {number} bytes */
export function sized(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  let size = 0;
  while (bytes >= 999.95 && size < UNITS.length - 1) {
    bytes /= 1000;
    size++;
  }
  return `${grouped(bytes.toFixed(1))} ${UNITS[size]}B`;
}

export const DURATIONS = /** @type {const} */ ([
  [86400, "d"],
  [3600, "h"],
  [60, "m"],
  [1, "s"],
]);

/** How long something took, in at most two units; empty if that is unknown. @param {number} seconds */
export function duration(seconds) {
  if (!Number.isFinite(seconds)) return "";
  const sign = seconds <= -1 ? "-" : "";
  let rest = Math.floor(Math.abs(seconds));
  if (rest >= 1000 * 86400) return `${sign}${number(Math.floor(rest / 86400))}d`;
  const parts = [];
  for (const [size, letter] of DURATIONS) {
    const part = Math.floor(rest / size);
    rest %= size;
    if (parts.length || part) parts.push(part ? `${part}${letter}` : "");
  }
  return sign + (parts.slice(0, 2).filter(Boolean).join(" ") || "0s");
}

/** @param {number} seconds since 1970 */
export function time(seconds) {
  if (!Number.isFinite(seconds)) return "";
  const date = new Date(seconds * 1000);
  if (Number.isNaN(date.getTime())) return "";
  const pad = (/** @type {number} */ n) => String(n).padStart(2, "0");
  const day = [date.getFullYear(), pad(date.getMonth() + 1), pad(date.getDate())];
  const clock = [date.getHours(), date.getMinutes(), date.getSeconds()].map(pad);
  return `${day.join("-")} ${clock.join(":")}`;
}

/** A hyperparameter or a cell as text. @param {unknown} value */
export function cell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return number(value);
  if (typeof value === "boolean") return value ? "true" : "false";
  return String(value);
}
