// What the keys and the mouse do.

import { html, signal } from "./ui.js";
import { Dialog } from "./menu.js";
import { shortcuts } from "./state.js";
import { TABS } from "./words.js";

export const help = signal(false);

const KEYS = [
  ["/", "search tags"],
  ["f", "filter runs"],
  ["g", "group runs"],
  ["j k", "through the runs"],
  ["space", "show or hide the run"],
  ["s", "show only the run"],
  ["p", "pin the run"],
  ["w", "table over the whole width"],
  [`1 … ${TABS.length}`, TABS.map(([, label]) => label).join(", ")],
  ["d", "dark or light"],
  ["esc", "close, unpin, zoom out"],
  ["?", "this page"],
];
const MOUSE = [
  ["drag", "zoom x on all cards"],
  ["shift + drag", "zoom y of the card"],
  ["alt + drag", "move; so does dragging the axis"],
  ["ctrl + wheel", "zoom at the mouse"],
  ["double click", "show all"],
  ["click", "keep the crosshair"],
  ["alt + click", "on a run’s box: only this run"],
];
const FILTERS = [
  ["lr=0.1 seed", "names with all these words; -word: without it"],
  ["*/seed=?", "a glob of the name"],
  ["re:.*seed=[01]", "a regular expression for the full name"],
  ["/seed=[01]/", "one for a part of it"],
  ['"val/loss" < 0.3', 'last value; "val/loss.min", "val/loss.max" too'],
  ["hparam.lr > 0.01 and state = 'running'", "any condition that SQL knows"],
];

/** @param {{ rows: string[][], title: string }} props */
function List({ rows, title }) {
  return html`<section>
    <h3>${title}</h3>
    <dl>${rows.map(([key, text]) => html`<div key=${key}><dt><kbd>${key}</kbd></dt><dd>${text}</dd></div>`)}</dl>
  </section>`;
}

export function Help() {
  if (!help.value) return null;
  return html`<${Dialog} title="Keys and mouse" onClose=${() => (help.value = false)} class="help">
    <label class="help-switch">
      <input
        type="checkbox" id="shortcuts" checked=${shortcuts.value}
        onChange=${(/** @type {any} */ e) => (shortcuts.value = e.target.checked)}
      />
      Single-key shortcuts. Turn them off if you use speech input, or press keys by accident; this browser remembers it.
    </label>
    <${List} title="Keys" rows=${KEYS} />
    <${List} title="Charts" rows=${MOUSE} />
    <${List} title="Filters of runs" rows=${FILTERS} />
  <//>`;
}
