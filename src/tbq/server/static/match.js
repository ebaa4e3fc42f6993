// Names that match what the user typed: words, a glob, or re: and a regular expression. `tbq watch` has the same rule
// in select.py; tests/fixtures/rules/filters.json tests both.

const SPACES = /[ \t\n\r\f\v]+/; // between words
const EDGES = /^[ \t\n\r\f\v]+|[ \t\n\r\f\v]+$/g;
const LONGEST = 2000; // characters of a name that a regular expression sees

/**
 * The test for names, and the error of a wrong pattern. If the text is words, `words` has a test for each of them,
 * without its minus.
 * @param {string} text
 * @returns {{ test: (name: string) => boolean, error: string, words: ((name: string) => boolean)[] | null }}
 */
export function matcher(text) {
  const typed = text.replace(EDGES, "");
  if (!typed) return { test: () => true, error: "", words: [] };
  // re: matches the full name, as in tbq's options; slashes match a part of it.
  const full = typed.startsWith("re:");
  const expression = full ? typed.slice(3) : /^\/.+\/$/s.test(typed) ? typed.slice(1, -1) : null;
  if (expression !== null) {
    try {
      const compiled = compile(expression, full);
      return { test: (name) => compiled.test(name.slice(0, LONGEST)), error: "", words: null };
    } catch (error) {
      return {
        test: () => false,
        error: `Not a regular expression: ${/** @type {Error} */ (error).message.split(": ").pop()}`,
        words: null,
      };
    }
  }
  const words = typed.split(SPACES).map((word) => ({ without: word.startsWith("-") && word.length > 1, word }));
  const tests = words.map(({ without, word }) => plain(without ? word.slice(1) : word));
  return { test: (name) => tests.every((each, i) => each(name) !== words[i].without), error: "", words: tests };
}

const LETTERS = String.raw`\p{L}\p{N}_`; // what \w is in Python
const [AFTER, NOT_AFTER] = [`(?<=[${LETTERS}])`, `(?<![${LETTERS}])`];
const [BEFORE, NOT_BEFORE] = [`(?=[${LETTERS}])`, `(?![${LETTERS}])`];

/** A regular expression, as Python would read it. @param {string} source @param {boolean} full */
function compile(source, full) {
  const ignored = /^\(\?([isu]+)\)/.exec(source)?.[1] ?? "";
  const rest = ignored ? source.slice(ignored.length + 3) : source;
  const flags = ignored.includes("i") ? "isu" : "su";
  const part = new RegExp(asPython(rest), flags); // by itself: in brackets, "a)(b" would be an expression
  return full ? new RegExp(`^(?:${part.source})$`, flags) : part;
}

/** Python's spelling, where JavaScript has another. @param {string} source */
function asPython(source) {
  let inside = false; // a class
  return source.replace(/\\.|\[\^?\]?|\]|\(\?P<|\(\?P=\w+\)|\{[0-9]*,?[0-9]*\}|[{}]/gsu, (part) => {
    if (part[0] === "[") {
      const first = !inside;
      inside = first || !part.endsWith("]");
      return first && part.endsWith("]") ? `${part.slice(0, -1)}\\]` : part;
    }
    if (part === "]") {
      const closes = inside;
      inside = false;
      return closes ? part : "\\]";
    }
    if (part === "\\w") return inside ? LETTERS : `[${LETTERS}]`;
    if (part === "\\d") return "\\p{Nd}";
    if (part === "\\D") return "\\P{Nd}";
    if (inside) return /^\\[^a-zA-Z0-9^$\\.*+?()[\]{}|/-]/u.test(part) ? part.slice(1) : part;
    if (part === "\\W") return `[^${LETTERS}]`;
    if (part === "\\A") return "^";
    if (part === "\\Z") return "$";
    if (part === "\\b") return `(?:${AFTER}${NOT_BEFORE}|${NOT_AFTER}${BEFORE})`;
    if (part === "\\B") return `(?:${AFTER}${BEFORE}|${NOT_AFTER}${NOT_BEFORE})`;
    if (part === "(?P<") return "(?<";
    if (part.startsWith("(?P=")) return `\\k<${part.slice(4, -1)}>`;
    if (/^\{.*[0-9,]/.test(part)) return part.replace("{,", "{0,");
    if (/^[{}]/.test(part)) return part.replace(/[{}]/g, "\\$&"); // braces that repeat nothing are themselves
    return /^\\[^a-zA-Z0-9^$\\.*+?()[\]{}|/]/u.test(part) ? part.slice(1) : part;
  });
}

/** @param {string} word @returns {(name: string) => boolean} */
function plain(word) {
  const small = word.toLowerCase();
  if (!/[*?]/.test(small)) return (name) => name.toLowerCase().includes(small);
  const letters = [...small];
  return (name) => fits(letters, [...name.toLowerCase()]);
}

/**
 * Whether a glob matches the full name. Only the last star is retried, so that no pattern is slow.
 * @param {string[]} glob @param {string[]} name
 */
function fits(glob, name) {
  let [at, place, star, after] = [0, 0, -1, 0];
  while (place < name.length) {
    if (glob[at] === "*") [star, after] = [at++, place];
    else if (at < glob.length && (glob[at] === "?" || glob[at] === name[place])) [at, place] = [at + 1, place + 1];
    else if (star >= 0) [at, place] = [star + 1, ++after];
    else return false;
  }
  while (glob[at] === "*") at++;
  return at === glob.length;
}

/** The filter that matches exactly one name, whatever characters it contains. @param {string} name */
export function exactly(name) {
  const source = name.slice(0, LONGEST).replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return `re:${source.replace(/^\s|\s$/g, "\\s")}`; // because filters are trimmed
}
