// The order of names, as people sort them. Python has the same rule in text.py (`natural`);
// tests/fixtures/rules/order.json tests both.

const EXPONENT = String.raw`(?:[eE][+-]?[0-9]+(?![\p{L}\p{N}]))?`;
const APART = String.raw`(?<![\p{L}\p{N}])`; // not right after a letter or a digit
const NUMBER = new RegExp(
  String.raw`([0-9]+(?:\.[0-9]+){2,}|(?:${APART}-)?[0-9]+(?:\.[0-9]+)?${EXPONENT}|${APART}-?\.[0-9]+${EXPONENT})`,
  "u",
);
const KEPT = 20_000; // cached keys of names

/**
 * A name in parts: texts at even indices, numbers with their values at odd ones.
 * @typedef {{ texts: string[], values: number[] }} Key
 */
/** @type {Map<string, Key>} */
const keys = new Map();

/** @param {string} name @returns {Key} */
function keyOf(name) {
  let key = keys.get(name);
  if (key) return key;
  // The numbers of a version are compared one by one.
  const texts = name
    .split(NUMBER)
    .flatMap((part, i) => (i % 2 && part.split(".").length > 2 ? part.split(/(\.)/) : [part]));
  key = {
    texts: texts.map((part, i) => (i % 2 ? part : part.toLowerCase())),
    values: texts.map((part, i) => (i % 2 ? Number(part) : 0)),
  };
  if (keys.size >= KEPT) keys.clear();
  keys.set(name, key);
  return key;
}

/** Names as people sort them: numbers by value, letters in either case alike. @param {string} a @param {string} b */
export function natural(a, b) {
  const [x, y] = [keyOf(a), keyOf(b)];
  const shared = Math.min(x.texts.length, y.texts.length);
  for (let i = 0; i < shared; i++) {
    if (x.values[i] !== y.values[i]) return x.values[i] < y.values[i] ? -1 : 1;
    const way = byLetter(x.texts[i], y.texts[i]);
    if (way) return way;
  }
  return x.texts.length - y.texts.length || byLetter(a, b);
}

/** Texts by their code points, as Python compares them. @param {string} a @param {string} b */
function byLetter(a, b) {
  if (a === b) return 0;
  let i = 0;
  while (i < a.length && i < b.length && a[i] === b[i]) i++;
  if (i === a.length || i === b.length) return a.length - b.length;
  return rank(a.charCodeAt(i)) - rank(b.charCodeAt(i));
}

/** Surrogates, the halves of characters beyond U+FFFF, come after all other code units. @param {number} code */
const rank = (code) => (code >= 0xe000 ? code - 0x800 : code >= 0xd800 ? code + 0x2000 : code);
