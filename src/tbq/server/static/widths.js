// How wide texts are in the font of the page.

const pen = document.createElement("canvas").getContext("2d");

/** The widths of texts, in pixels. @param {string[]} texts @param {number} size @param {number} weight */
function widthsOf(texts, size, weight) {
  if (!pen) return texts.map(() => 0);
  pen.font = `${weight} ${size}px ${getComputedStyle(document.body).fontFamily}`;
  return texts.map((text) => pen.measureText(text).width);
}

/** The width of the widest text, in pixels. @param {string[]} texts @param {number} size @param {number} weight */
export const widestOf = (texts, size, weight) => Math.max(0, ...widthsOf(texts, size, weight));

const MOST = 1000; // names that are measured; more would take too long

/** The width of the widest name; estimated if there are many. @param {string[]} names @param {number} letter
 * @param {number} weight */
export const widthOfNames = (names, letter, weight) =>
  names.length <= MOST ? Math.ceil(widestOf(names, 13, weight)) : lettersOf(names) * letter;

/** How many letters of names fit into these pixels: all, if the names fit. Names that do not fit decide, by their
 * average letter: a name in wide letters must not lose its end. @param {string[]} names @param {number} pixels
 * @param {number} letter pixels of a letter, if there are too many names to measure them @param {number} weight */
export function lettersWithin(names, pixels, letter, weight) {
  const most = lettersOf(names);
  if (names.length > MOST) return most * letter <= pixels ? most : Math.max(4, Math.floor(pixels / letter));
  const long = widthsOf(names, 13, weight).flatMap((width, i) =>
    Math.ceil(width) > pixels ? [width / names[i].length] : [],
  );
  const gap = widestOf(["…"], 13, weight);
  return Math.max(4, long.length ? Math.floor((pixels - gap) / Math.max(...long)) + 1 : most);
}

/** The letters of the longest name. @param {string[]} names */
const lettersOf = (names) => names.reduce((most, name) => Math.max(most, name.length), 0);
