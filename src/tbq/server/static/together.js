// Puts several tags on one chart, such as a loss in training and in validation; dashes tell them apart.

import { labels } from "./labels.js";
import { scalarTags } from "./runs.js";
import { joined } from "./state.js";
import { computed } from "./ui.js";

/** The dashes of a chart's tags, in order; more could not be told apart. @type {number[][]} */
export const DASHES = [[], [6, 4], [2, 3], [10, 3, 2, 3]];

// A link may come from another log: tags that this one lacks are left out, once its tags are known.
const known = computed(() => new Set(scalarTags.value.map((each) => each.tag)));
const together = computed(
  () =>
    new Map(
      joined.value.map(([own, ...others]) => [
        own,
        [own, ...others.filter((each) => !known.value.size || known.value.has(each))].slice(0, DASHES.length),
      ]),
    ),
);

/** The tags on the card of a tag. @param {string} tag */
export const tagsOn = (tag) => together.value.get(tag) ?? [tag];

/** Add a tag to the card of another, or remove it. @param {string} tag @param {string} other */
export function join(tag, other) {
  const now = tagsOn(tag);
  const next = now.includes(other) ? now.filter((each) => each !== other) : [...now, other];
  joined.value = [...joined.value.filter(([own]) => own !== tag), ...(next.length > 1 ? [next] : [])];
}

/** Labels with the parts in which tags differ. @param {string[]} tags */
export const tagLabels = (tags) => new Map(labels(tags, 24).map((label, i) => [tags[i], label]));

/** The tags of the same quantity in the other split (training or evaluation): they differ in one word.
 * @param {string} tag @param {import("./types.js").Tag[]} all @returns {string[]} */
export function partners(tag, all) {
  const words = (/** @type {string} */ name) => name.split(/[/_.: -]/);
  const own = words(tag);
  const split = all.find((each) => each.tag === tag)?.split;
  if (!split) return [];
  return all
    .filter((each) => each.split && each.split !== split)
    .map((each) => each.tag)
    .filter((name) => {
      const other = words(name);
      return other.length === own.length && other.filter((word, i) => word !== own[i]).length === 1;
    });
}
