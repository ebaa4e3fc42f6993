// The left side: filter, group, top N and columns above the table of runs.

import { html, useSignal } from "./ui.js";
import { group, band, top, columns, solo, baseline, differing, wide } from "./state.js";
import {
  runs,
  listed,
  shown,
  hparams,
  scalarTags,
  shownColumns,
  tableColumns,
  baseRun,
  runLabels,
  filterError,
  filterNote,
  groupError,
  labelOf,
  metricOf,
  mainTag,
  higherIsBetter,
  STATS,
  FACTS,
  isReport,
} from "./runs.js";
import { groupedBy, written } from "./grouping.js";
import { Verdict } from "./decisions.js";
import { FilterField } from "./filterfield.js";
import { RunsTable, show } from "./table.js";
import { Menu, Item, Icon, IconButton, save } from "./menu.js";
import { count, counted } from "./format.js";
import { link, ranges } from "./api.js";
import { matcher } from "./match.js";
import { BANDS, STATES } from "./words.js";

/** @param {{ children?: any }} props */
export function Pane({ children }) {
  const error = filterError.value || groupError.value;
  const all = listed.value;
  const every = all.length > 0 && shown.value.length === all.length && !solo.value;
  return html`<${wide.value ? "main" : "aside"} class="pane" aria-label="Runs">
    <div class="pane-tools">
      <${FilterField} />
      <div id="filter-error" class="field-error" role="status">
        ${error}
        ${!error && filterNote.value && html`<span class="dim">${filterNote.value}</span>`}
      </div>
      <div class="pane-row">
        <${GroupMenu} />
        <${TopMenu} />
        <span class="spring"></span>
        ${html`<${ColumnsMenu} />`}
        <${IconButton}
          name="download" label=${isReport ? "Download all runs as CSV" : "Download the table as CSV"}
          onClick=${saveTable}
        />
        <${IconButton}
          name="wide" label=${wide.value ? "Show the curves beside the table" : "Show the table at full width (w)"}
          pressed=${wide.value} onClick=${() => (wide.value = !wide.value)}
        />
      </div>
      <div class="pane-row pane-count">
        <button
          type="button" class="toggle" id="toggle-all" aria-label=${every ? "Hide all runs" : "Show all runs"}
          onClick=${() => show(all, !every)}
        >
          <span class=${`box all ${every ? "on" : shown.value.length ? "some on" : ""}`}></span>
        </button>
        <span id="count">${summary(all.length)}</span>
        ${
          solo.value &&
          html`<button type="button" class="chip" onClick=${() => (solo.value = "")} title="Show all runs">
            only ${solo.value} ✕
          </button>`
        }
        ${
          baseRun.value &&
          html`<button
            type="button" class="chip" id="baseline" onClick=${() => (baseline.value = "")}
            title=${`Differences from ${baseline.value}; click to end the comparison`}
          >
            <${Icon} name="flag" /> ${runLabels.value.get(baseline.value)} ✕
          </button>`
        }
        ${
          differing.value &&
          html`<button
            type="button" class="chip" onClick=${() => (differing.value = false)}
            title="Columns that are equal in all shown runs are hidden; click to show them"
          >
            ${counted(shownColumns.value.length - tableColumns.value.length, "equal column")} hidden ✕
          </button>`
        }
      </div>
      <${Verdict} />
    </div>
    <${RunsTable} />
    ${children}
  <//>`;
}

/** @param {number} list */
function summary(list) {
  const all = runs.value.length;
  const on = shown.value.length;
  const parts = [list === all ? counted(all, "run") : `${count(list)} of ${counted(all, "run")}`];
  if (on !== list) parts.push(`${count(on)} shown`);
  /** @type {Record<string, number>} */
  const states = {};
  for (const run of listed.value) states[run.state] = (states[run.state] ?? 0) + 1;
  for (const state of Object.keys(STATES).filter((each) => each !== "finished"))
    if (states[state]) parts.push(`${count(states[state])} ${state}`);
  return parts.join(" · ");
}

function GroupMenu() {
  const pattern = useSignal(group.value.startsWith("re:") ? group.value.slice(3) : "");
  const chosen = groupedBy.value;
  const name = chosen.length ? chosen.join(", ") : group.value ? "pattern" : "none";
  const toggle = (/** @type {string} */ each) =>
    (group.value = written(chosen.includes(each) ? chosen.filter((other) => other !== each) : [...chosen, each]));
  return html`<${Menu} label=${`Group: ${name}`} title="Group runs (g)" id="group">
    ${(/** @type {() => void} */ close) => {
      const set = (/** @type {string} */ value) => () => {
        group.value = value;
        close();
      };
      return html`<div class="menu-list">
        <${Item} checked=${!group.value} onClick=${set("")}>No groups<//>
        ${hparams.value.length > 0 && html`<div class="menu-title">Hyperparameters, one or several</div>`}
        ${hparams.value.slice(0, 60).map(
          (each) => html`<${Item}
            key=${each.name} checked=${chosen.includes(each.name)} onClick=${() => toggle(each.name)}
            hint=${each.differ ? counted(each.values.length, "value") : "same in all"}
          >
            ${each.name}
          <//>`,
        )}
        <div class="menu-title">Pattern of the name</div>
        <form
          class="menu-form"
          onSubmit=${(/** @type {Event} */ e) => {
            e.preventDefault();
            set(pattern.value ? `re:${pattern.value}` : "")();
          }}
        >
          <input
            aria-label="Regular expression for the full name; its group in parentheses names the group of runs"
            placeholder="(lr=.*)/seed=.*" value=${pattern.value}
            onInput=${(/** @type {any} */ e) => (pattern.value = e.target.value)}
          />
          <button type="submit" class="button">Group</button>
        </form>
        <div class="menu-title">Drawn as</div>
        ${Object.entries(BANDS).map(
          ([value, text]) =>
            html`<${Item} key=${value} checked=${band.value === value} onClick=${() => (band.value = value)}>
              ${text}
            <//>`,
        )}
      </div>`;
    }}
  <//>`;
}

function TopMenu() {
  const [, n, key] = top.value.match(/^(\d+) (.+)$/) ?? [];
  const metrics = [
    ...new Set([
      ...shownColumns.value.filter(metricOf),
      ...(mainTag.value ? [`${mainTag.value}:min`, `${mainTag.value}:max`] : []),
    ]),
  ];
  const by = key ?? metrics[0];
  const set = (/** @type {() => void} */ close, /** @type {string} */ value) => () => {
    top.value = value;
    close();
  };
  return html`<${Menu}
    label=${n ? `Top ${n}` : "Top: all"}
    title=${n ? `The best ${n} by ${labelOf(key)}` : "Keep only the best runs"} id="top"
  >
    ${(/** @type {() => void} */ close) => html`<div class="menu-list">
      <${Item} checked=${!n} onClick=${set(close, "")}>All runs<//>
      ${[3, 5, 10, 25, 100].map(
        (each) => html`<${Item}
          key=${each} checked=${n === String(each)} disabled=${!by}
          onClick=${set(close, `${each} ${by}`)} hint=${by ? labelOf(by) : ""}
        >
          Top ${each}
        <//>`,
      )}
      <div class="menu-title">By</div>
      ${metrics.map(
        (each) => html`<${Item}
          key=${each} checked=${by === each}
          hint=${higherIsBetter(metricOf(each)?.tag ?? "") ? "highest" : "lowest"}
          onClick=${() => (top.value = `${n ?? 5} ${each}`)}
        >
          ${labelOf(each)}
        <//>`,
      )}
    </div>`}
  <//>`;
}

function ColumnsMenu() {
  const typed = useSignal("");
  const { test } = matcher(typed.value);
  const now = shownColumns.value;
  const set = (/** @type {string} */ key) =>
    (columns.value = now.includes(key) ? now.filter((each) => each !== key) : [...now, key]);
  const tags = scalarTags.value.filter((each) => test(each.tag)).slice(0, 40);
  return html`<${Menu} icon="columns" title="Columns" align="right">
    <div class="menu-list columns-menu">
      <input
        class="menu-search" aria-label="Find a column" placeholder="Find a column" value=${typed.value}
        onInput=${(/** @type {any} */ e) => (typed.value = e.target.value)}
      />
      <${Item} checked=${differing.value} onClick=${() => (differing.value = !differing.value)}>
        Hide what is equal in all shown runs
      <//>
      ${columns.value && html`<${Item} onClick=${() => (columns.value = null)}>Back to the usual columns<//>`}
      ${Object.entries(FACTS)
        .filter(([, label]) => test(label))
        .map(
          ([key, label]) =>
            html`<${Item} key=${key} checked=${now.includes(key)} onClick=${() => set(key)}>${label}<//>`,
        )}
      ${hparams.value.length > 0 && html`<div class="menu-title">Hyperparameters</div>`}
      ${hparams.value
        .filter((each) => test(each.name))
        .slice(0, 60)
        .map(
          (each) =>
            html`<${Item}
              key=${each.name} checked=${now.includes(`hparam.${each.name}`)}
              onClick=${() => set(`hparam.${each.name}`)}
            >
              ${each.name}
            <//>`,
        )}
      <div class="menu-title">Metrics</div>
      ${tags.map(
        (each) => html`<div class="menu-metric" key=${each.tag}>
          <span class="menu-text" title=${each.tag}>${each.tag}</span>
          ${STATS.map(
            (stat) => html`<button
              type="button" key=${stat} class="chip" aria-pressed=${now.includes(`${each.tag}:${stat}`)}
              aria-label=${`${each.tag} ${stat}`} onClick=${() => set(`${each.tag}:${stat}`)}
            >
              ${stat}
            </button>`,
          )}
        </div>`,
      )}
    </div>
  <//>`;
}

const LONGEST = 30_000; // characters of an address that servers and proxies accept

/** The runs of the table as the server's CSV file; a report has one file of all its runs. */
function saveTable() {
  if (isReport) return save(link("summary.csv"), "runs.csv");
  const ids = listed.value.map((run) => run.id);
  const inOrder = ranges(ids);
  const wanted = shownColumns.value.flatMap((key) => metricOf(key) ?? []).map(({ tag, stat }) => [tag, stat]);
  const url = link("summary.csv", {
    runs: inOrder.length < LONGEST ? inOrder : ranges(ids.sort((a, b) => a - b)),
    columns: JSON.stringify(wanted),
    group: group.value,
  });
  save(url, "runs.csv");
}
