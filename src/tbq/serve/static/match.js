// Names that fit what a person typed: words, a glob, or re: and a regular expression.

/** A test for names, or what is wrong with the pattern.
 * @param {string} text @returns {{ test: (name: string) => boolean, error: string }} */
export function matcher(text) {
  const typed = text.trim();
  if (!typed) return { test: () => true, error: "" };
  // re: must match the full name, as in tbq's options; between slashes a part of it is enough.
  const expression = typed.startsWith("re:") ? `^(?:${typed.slice(3)})$` : /^\/.+\/$/.test(typed) ? typed.slice(1, -1) : null;
  if (expression !== null) {
    try {
      const compiled = new RegExp(expression, "s");
      return { test: (name) => compiled.test(name.slice(0, 2000)), error: "" };
    } catch (error) {
      return { test: () => false, error: `Not a regular expression: ${/** @type {Error} */ (error).message.split(": ").pop()}` };
    }
  }
  const tests = typed.split(/\s+/).map(word);
  return { test: (name) => tests.every((each) => each(name)), error: "" };
}

/** @param {string} word @returns {(name: string) => boolean} */
function word(word) {
  if (word.startsWith("-") && word.length > 1) {
    const without = plain(word.slice(1));
    return (name) => !without(name);
  }
  return plain(word);
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

/** A filter of runs that is an expression for the server, not a pattern of names. @param {string} text */
export function isExpression(text) {
  return !/^\s*(re:|\/.+\/\s*$)/.test(text) && (/[<>]|!=|\bis\s+(not\s+)?null\b|\b(like|between|in\s*\()/i.test(text) || /["\w.)]\s*=\s*['"\d]/.test(text) && /^\s*("|\(|not\b|hparam\.|state\b|step\b|run\b)/i.test(text));
}
