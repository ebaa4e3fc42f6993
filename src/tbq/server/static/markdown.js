// Markdown as elements: headings, lists, quotes, code, tables, emphasis and safe links. Text stays text:
// nothing here writes markup, and links lead to http, https or mail only.

import { h } from "./ui.js";
import { count } from "./format.js";

const LONGEST = 200000; // characters that become elements; the rest is shown as plain text
const DEEPEST = 12; // quotes within quotes; a text of many ">" must not exhaust the stack

/** @param {string} text @param {number} [depth] @returns {any[]} */
export function markdown(text, depth = 0) {
  const end = text.length > LONGEST ? text.lastIndexOf("\n", LONGEST) + 1 || LONGEST : text.length;
  const lines = text.slice(0, end).replace(/\r\n?/g, "\n").split("\n");
  /** @type {any[]} */
  const elements = [];
  let i = 0;
  while (i < lines.length) {
    const line = lines[i];
    const fence = /^\s*(```|~~~)/.exec(line)?.[1];
    const heading = /^(#{1,6})\s+(.*)$/.exec(line);
    if (!line.trim()) i++;
    else if (fence) {
      const code = [];
      i++;
      while (i < lines.length && !lines[i].trim().startsWith(fence)) code.push(lines[i++]);
      i++;
      elements.push(h("pre", { tabindex: 0 }, h("code", null, code.join("\n"))));
    } else if (heading) {
      elements.push(h(`h${Math.min(6, heading[1].length + 2)}`, null, inline(heading[2])));
      i++;
    } else if (/^\s*([-*_])(\s*\1){2,}\s*$/.test(line)) {
      elements.push(h("hr", null));
      i++;
    } else if (/^\s*>/.test(line)) {
      const quoted = [];
      while (i < lines.length && /^\s*>/.test(lines[i])) quoted.push(lines[i++].replace(/^\s*> ?/, ""));
      elements.push(
        h(
          "blockquote",
          null,
          quoted.length < 500 && depth < DEEPEST ? markdown(quoted.join("\n"), depth + 1) : quoted.join("\n"),
        ),
      );
    } else if (line.includes("|") && i + 1 < lines.length && isRule(lines[i + 1])) {
      const head = cells(line);
      i += 2;
      const body = [];
      while (i < lines.length && lines[i].includes("|") && lines[i].trim()) body.push(cells(lines[i++]));
      elements.push(
        h(
          "div",
          { class: "scroll", tabindex: 0 },
          h(
            "table",
            null,
            h(
              "thead",
              null,
              h(
                "tr",
                null,
                head.map((each) => h("th", { scope: "col" }, inline(each))),
              ),
            ),
            h(
              "tbody",
              null,
              body.map((row) =>
                h(
                  "tr",
                  null,
                  row.map((each) => h("td", null, inline(each))),
                ),
              ),
            ),
          ),
        ),
      );
    } else if (/^\s*([-*+]|\d{1,9}[.)])\s+/.test(line)) {
      const ordered = /^\s*\d/.test(line);
      const items = [];
      while (i < lines.length && /^\s*([-*+]|\d{1,9}[.)])\s+/.test(lines[i])) {
        let item = lines[i++].replace(/^\s*([-*+]|\d{1,9}[.)])\s+/, "");
        while (i < lines.length && /^\s{2,}\S/.test(lines[i]) && !/^\s*([-*+]|\d{1,9}[.)])\s+/.test(lines[i]))
          item += ` ${lines[i++].trim()}`;
        items.push(h("li", null, inline(item)));
      }
      elements.push(h(ordered ? "ol" : "ul", null, items));
    } else if (/^( {4}|\t)/.test(line)) {
      const code = [];
      while (i < lines.length && (/^( {4}|\t)/.test(lines[i]) || !lines[i].trim()))
        code.push(lines[i++].replace(/^( {4}|\t)/, ""));
      while (code.length && !code[code.length - 1]) code.pop();
      elements.push(h("pre", { tabindex: 0 }, h("code", null, code.join("\n"))));
    } else {
      const words = [];
      while (i < lines.length && lines[i].trim() && !/^\s*(```|~~~|>|#{1,6}\s|([-*+]|\d{1,9}[.)])\s)/.test(lines[i]))
        words.push(lines[i++]);
      if (!words.length) words.push(lines[i++]);
      elements.push(h("p", null, inline(words.join("\n"))));
    }
  }
  if (end < text.length)
    elements.push(
      h(
        "p",
        { class: "dim" },
        `The first ${count(end)} of ${count(text.length)} characters are shown as Markdown, the rest as it is.`,
      ),
      h("pre", { tabindex: 0 }, text.slice(end)),
    );
  return elements;
}

/** @param {string} line */
const cells = (line) =>
  line
    .trim()
    .replace(/^\||\|$/g, "")
    .split(/(?<!\\)\|/)
    .map((each) => each.trim().replaceAll("\\|", "|"));

/**
 * Whether a line separates the head of a table from its body. Each cell is tested by itself, because one pattern for
 * the line could take exponential time. @param {string} line
 */
const isRule = (line) =>
  line.includes("-") && cells(line).every((each, place) => (place ? /^:?-*:?$/ : /^:?-+:?$/).test(each));

const INLINE = new RegExp(
  [
    /(?<!`)(`+)([^`]+)\1/, // code
    /\*\*([^*\n]+)\*\*|__([^_\n]+)__/, // strong
    /\*([^*\s][^*\n]*)\*|(?<![\w])_([^_\s][^_\n]*)_(?![\w])/, // emphasis
    /~~([^~\n]+)~~/, // struck out
    /\[([^\]\n]{1,500})\]\(([^)\s]{1,2000})\)|(https?:\/\/[^\s<>"')\]]{1,2000})/, // links
  ]
    .map((each) => each.source)
    .join("|"),
);

/** @param {string} text @returns {any[]} */
function inline(text) {
  const elements = [];
  let rest = text;
  for (let turn = 0; turn < 2000; turn++) {
    const match = INLINE.exec(rest);
    if (!match) break;
    if (match.index) elements.push(rest.slice(0, match.index));
    const [whole, , code, strong, strong2, soft, soft2, struck, label, target, url] = match;
    if (code !== undefined) elements.push(h("code", null, code));
    else if (strong ?? strong2) elements.push(h("strong", null, strong ?? strong2));
    else if (soft ?? soft2) elements.push(h("em", null, soft ?? soft2));
    else if (struck) elements.push(h("del", null, struck));
    else elements.push(anchor(label ?? url, target ?? url, whole));
    rest = rest.slice(match.index + whole.length);
  }
  elements.push(rest);
  return elements;
}

/** @param {string} label @param {string} target @param {string} whole */
function anchor(label, target, whole) {
  return /^(https?:\/\/|mailto:)/i.test(target)
    ? h("a", { href: target, rel: "noopener noreferrer nofollow", target: "_blank" }, label)
    : whole;
}
