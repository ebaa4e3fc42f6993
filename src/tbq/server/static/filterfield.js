// The field that filters the runs, with a list that completes names of columns.

import { html, useRef, useSignal } from "./ui.js";
import { filter } from "./state.js";
import { filterError, groupError, hparams, isReport, scalarTags } from "./runs.js";
import { columnsOf, completions } from "./complete.js";
import { fetchJson } from "./api.js";
import { Icon } from "./menu.js";

let prepared = false;

export function FilterField() {
  const input = useRef(/** @type {HTMLInputElement | null} */ (null));
  const options = useSignal(/** @type {{ from: number, list: string[] }} */ ({ from: 0, list: [] }));
  const active = useSignal(-1);
  const { list } = options.value;
  // The process that evaluates conditions starts while the user types the first one.
  const prepare = () => {
    if (!prepared && !isReport) fetchJson("filter", { where: "true" }).catch(() => undefined);
    prepared = true;
  };
  const close = () => {
    options.value = { from: 0, list: [] };
    active.value = -1;
  };
  const complete = (/** @type {boolean} */ all) => {
    const node = input.current;
    if (!node || isReport) return; // a report filters by name only
    const columns = columnsOf(
      hparams.value.map((each) => each.name),
      scalarTags.value.map((each) => each.tag),
    );
    options.value = completions(node.value, node.selectionStart ?? 0, columns, all);
    active.value = -1;
  };
  const accept = (/** @type {string} */ name) => {
    const node = /** @type {HTMLInputElement} */ (input.current);
    const { from } = options.value;
    // The closing quote of the name may already follow the caret.
    const rest = node.value.slice(node.selectionStart ?? 0).replace(name.endsWith('"') ? /^"/ : /^$/, "");
    node.value = `${node.value.slice(0, from)}${name}${rest}`;
    node.setSelectionRange(from + name.length, from + name.length);
    filter.value = node.value;
    close();
    node.focus();
  };
  const key = (/** @type {KeyboardEvent} */ event) => {
    const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (by === 1 && !list.length) complete(true);
    else if (by && list.length)
      active.value = (active.value + by + list.length + (active.value < 0 && by < 0 ? 1 : 0)) % list.length;
    else if (event.key === "Escape" && list.length) close();
    else if ((event.key === "Enter" || event.key === "Tab") && list[active.value]) accept(list[active.value]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const wrong = Boolean(filterError.value || groupError.value);
  return html`<div class="filter">
    <label class=${`field ${filterError.value ? "wrong" : ""}`}>
      <${Icon} name="search" />
      <span class="sr">Filter runs</span>
      <input
        id="filter" type="search" spellcheck="false" autocomplete="off" ref=${input} role="combobox"
        placeholder=${isReport ? "Filter: lr=0.1, */seed=?" : 'Filter: lr=0.1, */seed=?, "val/loss" < 0.3'}
        value=${filter.value} aria-invalid=${wrong} aria-describedby="filter-error" aria-autocomplete="list"
        aria-expanded=${list.length > 0} aria-controls="filter-names"
        aria-activedescendant=${list[active.value] ? `filter-name-${active.value}` : undefined}
        onInput=${(/** @type {any} */ e) => {
          filter.value = e.target.value;
          complete(false);
        }}
        onKeyDown=${key} onFocus=${prepare} onBlur=${close}
      />
    </label>
    <ul id="filter-names" class="completions" role="listbox" aria-label="Columns" hidden=${!list.length}>
      ${list.map(
        (name, i) => html`<li
          key=${name} id=${`filter-name-${i}`} role="option" aria-selected=${i === active.value} title=${name}
          onMouseDown=${(/** @type {Event} */ e) => {
            e.preventDefault(); // the field keeps the focus
            accept(name);
          }}
        >
          ${name}
        </li>`,
      )}
    </ul>
  </div>`;
}
