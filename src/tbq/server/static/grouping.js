// The text that groups runs by hyperparameters: hparam.lr,hparam.batch_size.

import { computed } from "./ui.js";
import { group } from "./state.js";

/** The hyperparameters of a text that groups; none if it is a pattern of names. @param {string} text */
export function parsed(text) {
  if (!text.startsWith("hparam.")) return [];
  // A comma may be part of a name: only one before hparam. separates.
  return text.split(/,(?=hparam\.)/).map((each) => each.slice("hparam.".length));
}

/** @param {string[]} names */
export const written = (names) => names.map((each) => `hparam.${each}`).join(",");

export const groupedBy = computed(() => parsed(group.value));
