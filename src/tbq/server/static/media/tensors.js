// Tensors and meshes: shape, type, statistics and distribution.

import { html } from "../ui.js";
import { useAsk } from "../ask.js";
import { cell, count, number } from "../format.js";
import { colourOf } from "../runs.js";
import { stepAt, RunLabel } from "./parts.js";

/** @param {{ tag: string, list: any[] }} props */
export function Tensors({ tag, list }) {
  return html`<div class="media-grid">
    ${list.map((each) => html`<${Tensor} key=${each.id} tag=${tag} each=${each} />`)}
  </div>`;
}

/** @param {any} props */
function Tensor({ tag, each }) {
  const at = stepAt(each.steps);
  const step = each.steps[at];
  const { data, error } = useAsk("tensor", { run: each.id, tag, step, mark: each.marks?.[at] });
  return html`<div class="card media-card">
    <${RunLabel} run=${each.run}>step ${count(step)}<//>
    ${(error || data?.error) && html`<p class="failed">${error || data.error}</p>`}
    ${data && html`<${Facts} data=${data} tint=${colourOf(each.id)} />`}
    ${
      Array.isArray(data?.corner) &&
      data.corner.length > 0 &&
      html`<${Corner} corner=${data.corner} shape=${data.shape} />`
    }
  </div>`;
}

/** @param {any} props */
function Facts({ data, tint }) {
  const facts = [
    ["shape", data.shape ? `${data.shape.join(" × ") || "scalar"}` : ""],
    ["type", data.dtype],
    ["elements", data.elements === undefined ? "" : count(data.elements)],
    ["min", data.min],
    ["max", data.max],
    ["mean", data.mean],
    ["std", data.std],
    ["NaN", data.nan || ""],
    ["inf", data.inf || ""],
    ["zeros", data.zeros || ""],
  ];
  return html`
    <dl class="facts">
      ${facts
        .filter(([, value]) => value !== undefined && value !== null && value !== "")
        .map(
          ([name, value]) =>
            html`<div key=${name}><dt>${name}</dt><dd>${typeof value === "number" ? number(value) : value}</dd></div>`,
        )}
    </dl>
    ${data.histogram && html`<${Bars} histogram=${data.histogram} tint=${tint} />`}
  `;
}

/** @param {any} props */
function Bars({ histogram, tint }) {
  const most = Math.max(...histogram.counts, 1);
  return html`
    <div
      class="bars" role="img"
      aria-label=${`Values from ${number(histogram.edges[0])} to ${number(histogram.edges.at(-1))}`}
    >
      ${histogram.counts.map(
        (/** @type {number} */ n, /** @type {number} */ i) => html`<span
          key=${i} title=${`${number(histogram.edges[i])} to ${number(histogram.edges[i + 1])}: ${count(n)}`}
          style=${{ height: `${Math.max(n ? 2 : 0, (n / most) * 100)}%`, background: tint }}
        ></span>`,
      )}
    </div>
    <div class="bars-axis dim">
      <span>${number(histogram.edges[0])}</span>
      <span>${number(histogram.edges.at(-1))}</span>
    </div>
  `;
}

/** The first elements. @param {any} props */
function Corner({ corner, shape }) {
  const rows = (Array.isArray(corner[0]) ? corner : [corner]).slice(0, 8);
  const flat = (/** @type {any} */ row) => (Array.isArray(row) ? row.flat(9).slice(0, 8) : [row]);
  return html`<details>
    <summary>First elements${shape?.length > 2 ? " (flattened rows)" : ""}</summary>
    <div class="scroll" tabindex="0">
      <table class="plain-table">
        <tbody>
          ${rows.map(
            (/** @type {any} */ row, /** @type {number} */ i) => html`<tr key=${i}>
              ${flat(row).map(
                (/** @type {any} */ value, /** @type {number} */ k) =>
                  html`<td class="num" key=${k}>${cell(value)}</td>`,
              )}
            </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </details>`;
}

/** @param {{ tag: string, list: any[] }} props */
export function Meshes({ tag, list }) {
  return html`<div class="media-grid">
    ${list.map((each) => html`<${Mesh} key=${each.id} tag=${tag} each=${each} />`)}
  </div>`;
}

/** @param {any} props */
function Mesh({ tag, each }) {
  const at = stepAt(each.steps);
  const step = each.steps[at];
  const { data, error } = useAsk("mesh", { run: each.id, tag, step, mark: each.marks?.[at] });
  return html`<div class="card media-card">
    <${RunLabel} run=${each.run}>step ${count(step)}<//>
    ${error && html`<p class="failed">${error}</p>`}
    ${data?.parts?.map(
      (/** @type {any} */ part, /** @type {number} */ i) =>
        html`<div key=${i}><strong>${part.component}</strong><${Facts} data=${part} tint=${colourOf(each.id)} /></div>`,
    )}
  </div>`;
}
