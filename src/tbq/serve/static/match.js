// Names that fit what a person typed: words, a glob, or re: and a regular expression.

/** A test for names, or what is wrong with the pattern; for words also a test for each, without the minus before it.
 * @param {string} text @returns {{ test: (name: string) => boolean, error: string, words: ((name: string) => boolean)[] | null }} */
export function matcher(text) {
  const typed = text.trim();
  if (!typed) return { test: () => true, error: "", words: [] };
  // re: must match the full name, as in tbq's options; between slashes a part of it is enough.
  const expression = typed.startsWith("re:") ? `^(?:${typed.slice(3)})$` : /^\/.+\/$/.test(typed) ? typed.slice(1, -1) : null;
  if (expression !== null) {
    try {
      const compiled = new RegExp(expression, "s");
      return { test: (name) => compiled.test(name.slice(0, 2000)), error: "", words: null };
    } catch (error) {
      return { test: () => false, error: `Not a regular expression: ${/** @type {Error} */ (error).message.split(": ").pop()}`, words: null };
    }
  }
  const words = typed.split(/\s+/).map((word) => ({ without: word.startsWith("-") && word.length > 1, word }));
  const tests = words.map(({ without, word }) => plain(without ? word.slice(1) : word));
  return { test: (name) => tests.every((each, i) => each(name) !== words[i].without), error: "", words: tests };
}

/** @param {string} word @returns {(name: string) => boolean} */
function plain(word) {
  if (!/[*?]/.test(word)) {
    const small = word.toLowerCase();
    return (name) => name.toLowerCase().includes(small);
  }
  // Whatever else means something to RegExp is escaped; runs of * are one, so that a name cannot make it slow.
  const source = word.replace(/[.+^${}()|[\]\\]/g, "\\$&").replace(/\*+/g, ".*").replace(/\?/g, ".");
  const compiled = new RegExp(`^${source}$`, "is");
  return (name) => compiled.test(name);
}
