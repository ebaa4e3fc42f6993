// Completes the names of columns while the user types a condition: loss becomes "val/loss".

const FACTS = ["run", "state", "step", "started", "duration", "events"];
const STATISTICS = ["min", "max", "best", "first"];
const MOST = 8;
const PLAIN = /^[A-Za-z_]\w*$/;

/** A name in quotes, as SQL needs it. @param {string} name */
export const quoted = (name) => `"${name.replaceAll('"', '""')}"`;

/** The columns that a condition can use, and how it writes them. @param {string[]} hparams @param {string[]} tags
 * @returns {{ name: string, text: string }[]} */
export const columnsOf = (hparams, tags) => [
  ...tags.map((name) => ({ name, text: quoted(name) })),
  ...hparams.map((name) => ({
    name: `hparam.${name}`,
    text: PLAIN.test(name) ? `hparam.${name}` : quoted(`hparam.${name}`),
  })),
  ...FACTS.map((name) => ({ name, text: name })),
];

/** The name before the caret: where it begins, and what was typed of it. Null inside single quotes and in a pattern,
 * where no name can be. @param {string} before the text up to the caret */
function nameAt(before) {
  if (/^\s*(re:|\/)/.test(before) || (before.match(/'/g) ?? []).length % 2) return null;
  const open = (before.match(/"/g) ?? []).length % 2 ? before.lastIndexOf('"') : -1;
  const from = open >= 0 ? open : before.length - (before.match(/[\p{L}_][\p{L}\p{N}_./-]*$/u)?.[0].length ?? 0);
  return { from, typed: before.slice(open >= 0 ? open + 1 : from).toLowerCase() };
}

/** The names that complete the one before the caret; if nothing was typed, none, or with `all` every name.
 * @param {string} text @param {number} caret @param {{ name: string, text: string }[]} columns @param {boolean} all
 * @returns {{ from: number, list: string[] }} */
export function completions(text, caret, columns, all = false) {
  const at = nameAt(text.slice(0, caret));
  if (!at || (!at.typed && !all)) return { from: caret, list: [] };
  const { from, typed } = at;
  /** @type {[number, string][]} */
  const found = [];
  for (const { name, text: written } of columns) {
    const small = name.toLowerCase();
    const place = small.indexOf(typed);
    // Names that begin with the typed text come first, then names with a word that begins with it.
    if (place >= 0) found.push([place === 0 ? 0 : /[/_.: -]/.test(small[place - 1]) ? 1 : 2, written]);
    else if (written.startsWith('"') && typed.startsWith(`${small}.`))
      for (const each of STATISTICS)
        if (each.startsWith(typed.slice(small.length + 1))) found.push([0, quoted(`${name}.${each}`)]);
  }
  const list = found.sort(([a], [b]) => a - b).map(([, written]) => written);
  // A complete name needs no list.
  return { from, list: list[0] === text.slice(from, caret) ? [] : list.slice(0, MOST) };
}
