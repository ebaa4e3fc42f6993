// From runs to a decision: how much each hyperparameter decides, and configurations from the best to the worst.

import { html, computed } from "./ui.js";
import { useAsk } from "./ask.js";
import { ranges } from "./api.js";
import { differing, group } from "./state.js";
import { groups, hparams, metricOf, rankedBy, runs, shown, shownColumns, sortedBy, groupColour } from "./runs.js";
import { counted, number, onPoint } from "./format.js";
import { tellsRepeats } from "./words.js";

const MOST = 4; // parameters of a configuration, if the user chose none

/** What defines a configuration: the groups of the table, or all parameters that differ but for seeds. */
const by = computed(() => {
  if (group.value) return group.value;
  const names = hparams.value.filter((each) => each.differ && !tellsRepeats(each.name)).slice(0, MOST);
  return names.map((each) => `hparam.${each.name}`).join(",");
});

/** @param {string | undefined} metric */
function question(metric) {
  const of = metric && metricOf(metric);
  return of && { ...of, runs: shown.value.length === runs.value.length ? "*" : ranges(shown.value) };
}

/** Says whether the best two groups differ beyond chance, by the metric that sorts the table, or its first metric. */
export function Verdict() {
  const metric = [sortedBy.value.replace(/^-/, ""), ...shownColumns.value].find(metricOf);
  const asked = question(metric);
  const wanted = asked && groups.value.length > 1 ? { ...asked, by: group.value } : null;
  const { data, error } = useAsk("configurations", wanted, { live: true });
  if (!wanted || error || data?.by !== group.value) return null;
  return html`<p class="pane-verdict" role="status">By ${rankedBy(`${data.tag}:${data.stat}`)}: ${data.verdict}</p>`;
}

/** @param {{ metric: string }} props */
export function Decisions({ metric }) {
  const asked = question(metric);
  if (!asked) return null;
  return html`
    <${Importance} metric=${metric} asked=${asked} />
    ${by.value && html`<${Configurations} metric=${metric} asked=${{ ...asked, by: by.value }} />`}
  `;
}

/** @param {any} props */
function Importance({ metric, asked }) {
  const { data, error } = useAsk("importance", asked, { live: true });
  if (error) return html`<p class="dim">${error}</p>`;
  if (!data?.hparams.length) return null;
  const rows = /** @type {any[]} */ (data.hparams).filter((each) => !differing.value || each.values > 1);
  return html`<section class="part">
    <h2 class="part-head plain"><span>What decides ${rankedBy(metric)}</span><span class="rule"></span></h2>
    <div class="card media-card scroll" tabindex="0">
      <p class="dim">
        The share of the variance (of ranks) that each hyperparameter
        predicts${data.not_finite > 0 && `; ${counted(data.not_finite, "run")} without a finite value ranked last`}
      </p>
      <table class="plain-table importance">
        <thead>
          <tr>
            <th>hyperparameter</th><th colspan="2">share</th><th>best at</th><th>direction</th>
            <th class="num">values</th>
            <th class="num">runs</th></tr>
        </thead>
        <tbody>
          ${rows.map(
            (each) => html`<tr key=${each.name} title=${each.note ?? undefined}>
              <th scope="row" class="strong">${each.name}</th>
              <td class="num">${each.importance === null ? "–" : `${Math.round(each.importance * 100)} %`}</td>
              <td>
                <span class="share" aria-hidden="true">
                  <i style=${{ width: `${(each.importance ?? 0) * 100}%` }}></i>
                </span>
              </td>
              <td>${each.best ?? ""}</td>
              <td class="dim">${directionOf(each)}</td>
              <td class="num dim">${each.values}</td>
              <td class="num dim">${each.n}</td>
            </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </section>`;
}

/** @param {{ direction: number | null, importance: number | null, note: string | null }} each */
function directionOf({ direction, importance, note }) {
  if (importance === null) return note ?? "";
  if (direction === null) return "";
  return direction > 0 ? "rises with it" : "falls with it";
}

/** @param {any} props */
function Configurations({ metric, asked }) {
  const { data, error } = useAsk("configurations", asked, { live: true });
  if (error) return html`<p class="dim">${error}</p>`;
  if (!data?.groups.length) return null;
  const rows = /** @type {any[]} */ (data.groups);
  const names = ["mean", "std", "ci95", "best", "worst"];
  const text = (/** @type {number | null} */ value) => (value === null ? "" : number(value, 4, false));
  const aligned = names.map((name) => onPoint(rows.map((row) => text(row[name]))));
  return html`<section class="part">
    <h2 class="part-head plain">
      <span>Configurations by ${rankedBy(metric)}, best first</span><span class="rule"></span>
    </h2>
    <div class="card media-card scroll" tabindex="0">
      ${data.verdict && html`<p class="verdict">${data.verdict}</p>`}
      <table class="plain-table board">
        <thead>
          <tr>
            <th class="num">#</th><th>configuration</th><th class="num">n</th>
            ${names.map((name) => html`<th key=${name} class="num">${name === "ci95" ? "± ci95" : name}</th>`)}
            <th class="num"
              title="The probability of so large a difference by chance (Welch’s test)">p</th>
          </tr>
        </thead>
        <tbody>
          ${rows.map(
            (row, i) => html`<tr key=${row.name}>
              <td class="num dim">${i + 1}</td>
              <th scope="row">
                ${group.value && html`<span class="swatch" style=${{ background: groupColour(row.name) }}></span> `}
                ${row.name}
              </th>
              <td class="num">
                ${row.n}${row.left_out ? html`<span class="dim"> of ${row.n + row.left_out}</span>` : ""}
              </td>
              ${names.map((name, k) => html`<td key=${name} class="num">${aligned[k](text(row[name]))}</td>`)}
              <td class="num dim">${row.p === null ? "" : row.p < 0.001 ? "< 0.001" : number(row.p, 2)}</td>
            </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </section>`;
}
