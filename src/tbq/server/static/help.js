// The help: keys, mouse and filters.

import { html, signal } from "./ui.js";
import { Dialog } from "./menu.js";
import { shortcuts } from "./state.js";
import { TABS } from "./words.js";

export const help = signal(false);

const KEYS = [
  ["/", "search tags"],
  ["f", "filter runs"],
  ["g", "group runs"],
  ["j k", "next, previous run"],
  ["space", "show or hide the run"],
  ["s", "show only the run"],
  ["p", "pin the run"],
  ["b", "compare the other runs with this run"],
  ["w", "show the table at full width"],
  [`1 … ${TABS.length}`, TABS.map(([, label]) => label).join(", ")],
  ["d", "dark or light"],
  ["esc", "close, unpin, zoom out"],
  ["?", "this help"],
];
const MOUSE = [
  ["drag", "zoom x on all cards"],
  ["shift + drag", "zoom y of the card"],
  ["alt + drag", "pan (or drag the axis)"],
  ["ctrl + wheel", "zoom at the pointer"],
  ["double click", "show all"],
  ["click", "pin the crosshair"],
  ["alt + click", "on a run’s box: show only this run"],
];
const FILTERS = [
  ["lr=0.1 seed", "names that contain all of these words"],
  ["lr -seed=1", "names with lr but without seed=1"],
  ["*/seed=?", "a glob for the full name"],
  ["re:.*seed=[01]", "a regular expression for the full name"],
  ["/seed=[01]/", "a regular expression for a part of the name"],
  ['"val/loss" < 0.3', 'the last value; also "val/loss.min" and "val/loss.max"'],
  ["hparam.lr > 0.01 and state = 'running'", "any SQL condition"],
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
    <${List} title="Filters" rows=${FILTERS} />
  <//>`;
}
