// How wide texts are in the font of the page.

const pen = document.createElement("canvas").getContext("2d");

/** The width of the widest text, in pixels. @param {string[]} texts @param {number} size @param {number} weight */
export function widestOf(texts, size, weight) {
  if (!pen) return 0;
  pen.font = `${weight} ${size}px ${getComputedStyle(document.body).fontFamily}`;
  return Math.max(0, ...texts.map((text) => pen.measureText(text).width));
}

const MOST = 1000; // names that are measured; more would take too long

/** The width of the widest name; estimated if there are many. @param {string[]} names @param {number} letter
 * @param {number} weight */
export const widthOfNames = (names, letter, weight) =>
  names.length <= MOST ? Math.ceil(widestOf(names, 13, weight)) : lettersOf(names) * letter;

/** The letters of the longest name. @param {string[]} names */
export const lettersOf = (names) => names.reduce((most, name) => Math.max(most, name.length), 0);
