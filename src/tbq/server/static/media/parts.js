// Shared by the cards of all kinds of media: the step that they show, and the label of their run.

import { html } from "../ui.js";
import { colourOf, legendLabels } from "../runs.js";
import { mediaStep } from "../state.js";

/**
 * The index of the step that a run shows: the last one up to the slider's, or else its first.
 * @param {import("../steps.js").Step[]} list
 */
export function stepAt(list) {
  if (!list.length) return -1;
  const wanted = mediaStep.value;
  if (wanted === null) return list.length - 1;
  const at = list.findLastIndex((step) => step <= wanted);
  return Math.max(at, 0);
}

/** The name of a run with its colour, above a card. @param {any} props */
export function RunLabel({ run, children }) {
  return html`<div class="run-label">
    <span class="swatch dot" style=${{ background: colourOf(run.id) }}></span>
    <span class="run-name" title=${run.name}>${legendLabels.value.get(run.name) ?? run.name}</span>
    <span class="dim">${children}</span>
  </div>`;
}
