// Short labels for a set of names that can be told apart: what all names share goes, long labels lose their middle.
// labels.py is the same rule, and says why; tests/fixtures/rules/labels.json tests both.

const GAP = "…";
// One part of a name: key=value, whose key may contain _, and any separator in quotes; or a word, with
// the number after it (lr_0.1, run 3); separators are / , ; _ and spaces.
const PART = /'[^'=]+'=[^/,; _]*|[^/,; =_][^/,; =]*=[^/,; _]*|[^/,; _]+(?:[_ ]-?[.]?[0-9][^/,; _]*)?/gu;
// The key of a part: lr= of lr=0.1, lr of lr0.1, "run " of "run 3".
const KEY = /^(?:[^=]*=(?=[^=])|[^0-9.=-]+(?=-?[.]?[0-9]))/u;

/** The letters of a text. @param {string} text */
const size = (text) => {
  let n = 0;
  for (const _ of text) n++;
  return n;
};

/** A label for each name; different names have different labels. @param {string[]} names @param {number | null} room
 * letters of a label @returns {string[]} */
export function labels(names, room = null) {
  const distinct = [...new Set(names)];
  let short = withoutShared(distinct);
  if (room !== null) short = within(short, Math.max(room, 1));
  const of = new Map(distinct.map((name, i) => [name, short[i]]));
  return names.map((name) => of.get(name) ?? name);
}

/** @param {string[]} names @returns {string[]} */
function withoutShared(names) {
  if (names.length < 2) return names;
  const split = names.map((name) => [...name.matchAll(PART)]);
  const texts = split.map((parts) => parts.map((part) => part[0]));
  const fewest = texts.reduce((least, parts) => Math.min(least, parts.length), Infinity);
  /** @type {(i: number, n: number) => boolean} */
  let keep;
  if (texts.every((parts) => parts.length === fewest)) {
    const differ = Array.from({ length: fewest }, (_, i) => texts.some((parts) => parts[i] !== texts[0][i]));
    keep = (i) => differ[i];
  } else {
    const first = texts[0];
    let begin = 0;
    let end = 0;
    while (begin < fewest - 1 && texts.every((parts) => parts[begin] === first[begin])) begin++;
    while (end < fewest - 1 - begin && texts.every((parts) => parts.at(-1 - end) === first.at(-1 - end))) end++;
    keep = (i, n) => i >= begin && i < n - end;
  }
  const short = names.map((name, n) => joined(name, split[n], keep));
  return short.every(Boolean) && new Set(short).size === names.length ? short : names;
}

/** @param {string} name @param {RegExpExecArray[]} parts @param {(i: number, n: number) => boolean} keep */
function joined(name, parts, keep) {
  let out = "";
  let end = 0; // of the part before
  parts.forEach((part, i) => {
    if (keep(i, parts.length)) out += (out || i === 0 ? name.slice(end, part.index) : "") + part[0];
    end = part.index + part[0].length;
  });
  return parts.length > 0 && keep(parts.length - 1, parts.length) ? out + name.slice(end) : out;
}

/** @param {string[]} names @param {number} room @returns {string[]} */
function within(names, room) {
  /** @param {string[]} texts */
  const fit = (texts) => texts.every((text) => size(text) <= room);
  if (fit(names)) return names;
  const bare = withoutKeys(names);
  for (const texts of fit(bare) ? [bare, names] : [names, bare]) {
    const short = allElided(texts, room);
    if (new Set(short).size === names.length) return short;
  }
  return numbered(allElided(names, room), room);
}

/** The names within the room, with as few equal ones as possible. @param {string[]} names @param {number} room
 * @returns {string[]} */
function allElided(names, room) {
  const letters = names.map((name) => (size(name) > room ? Array.from(name) : null));
  if (letters.every((each) => each === null)) return names;
  const third = room - 1 - Math.floor(((room - 1) * 2) / 3);
  const heads = [];
  for (let head = third; head < room; head++) heads.push(head);
  for (let head = third - 1; head >= 0; head--) heads.push(head);
  /** @type {string[]} */
  let best = [];
  let fewest = names.length + 1;
  for (const head of heads) {
    const short = letters.map((each, i) => (each ? elided(each, head, room) : names[i]));
    const equal = names.length - new Set(short).size;
    if (equal < fewest) [best, fewest] = [short, equal];
    if (!equal) break;
  }
  return best;
}

/** @param {string[]} names @returns {string[]} */
function withoutKeys(names) {
  const split = names.map((name) => [...name.matchAll(PART)]);
  if (split.some((parts) => parts.length !== split[0].length)) return names;
  const keys = split[0].map((first, i) => {
    const key = KEY.exec(first[0])?.[0] ?? "";
    return split.every((parts) => (KEY.exec(parts[i][0])?.[0] ?? "") === key) ? key : "";
  });
  return names.map((name, n) => {
    let end = 0;
    let out = "";
    split[n].forEach((part, i) => {
      out += name.slice(end, part.index);
      end = part.index + keys[i].length;
    });
    return out + name.slice(end);
  });
}

/** @param {string[]} letters @param {number} head @param {number} room */
const elided = (letters, head, room) =>
  letters.slice(0, head).join("") + GAP + letters.slice(letters.length - Math.max(room - 1 - head, 0)).join("");

/** @param {string[]} names @param {number} room @returns {string[]} */
function numbered(names, room) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  const taken = new Set(names.filter((name) => counts.get(name) === 1));
  /** @type {Map<string, number>} */
  const last = new Map();
  return names.map((name) => {
    let label = name;
    while ((counts.get(name) ?? 0) > 1 && (label === name || taken.has(label))) {
      const n = (last.get(name) ?? 0) + 1;
      last.set(name, n);
      label = `${Array.from(name)
        .slice(0, Math.max(room - 1 - String(n).length, 0))
        .join("")}#${n}`;
    }
    taken.add(label);
    return label;
  });
}
