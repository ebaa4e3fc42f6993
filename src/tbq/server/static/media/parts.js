// What the cards of all media share: the step that they show, the label of their run, and buttons for how to draw them.

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

/**
 * Buttons that choose how media are drawn. `modes` maps the values of the signal to the words on the buttons.
 * @param {{ label: string, mode: { value: string }, modes: Record<string, string> }} props
 */
export function Modes({ label, mode, modes }) {
  return html`<div class="images-tools" role="group" aria-label=${label}>
    ${Object.entries(modes).map(
      ([name, words]) =>
        html`<button
          type="button" key=${name} class="chip" aria-pressed=${mode.value === name}
          onClick=${() => (mode.value = name)}
        >
          ${words}
        </button>`,
    )}
  </div>`;
}
