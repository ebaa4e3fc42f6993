// The legend of a card: short names, with the values at the crosshair or the last ones.

import { html } from "./ui.js";
import { hover, fixed } from "./hover.js";
import { banded, legendOf, hot, hotGroup, shownSet } from "./runs.js";
import { nearest } from "./chart/series.js";
import { colour, nameOf } from "./plot.js";
import { count, number } from "./format.js";

const FEW = 8; // curves that a card names
const MOST = 300; // names in full screen

/** @typedef {import("./types.js").Series} Series */

/** The value at x, or the last one. @param {Series} series @param {number | null} x */
function valueAt(series, x) {
  const k = nearest(series, x ?? Infinity);
  return k < 0 ? NaN : series.last[k];
}

/** @param {{ chart: any, curves: import("./types.js").Curves | null, tag: string, big: boolean }} props */
export function Legend({ chart, curves, tag, big }) {
  if (!curves || !shownSet.value) return null;
  const all = /** @type {Series[]} */ (chart.series());
  if (all.length > FEW && !big)
    return html`<span class="dim legend-note">${count(all.length)} ${banded.value ? "groups" : "runs"}</span>`;
  const at = hover.value ?? fixed.value;
  const x = at ? at.x : null;
  // In full screen, values come in order at the crosshair.
  const rows = all.slice(0, MOST).map((series) => ({ series, value: valueAt(series, x) }));
  if (big) rows.sort((a, b) => (Number.isNaN(a.value) ? 1 : Number.isNaN(b.value) ? -1 : b.value - a.value));
  const point = (/** @type {Series | null} */ series) => {
    hot.value = series?.id ?? null;
    hotGroup.value = series?.group ?? null;
  };
  return html`<ul class=${`legend ${big ? "legend-big" : ""}`} aria-label=${`Legend of ${tag}`}>
    ${rows.map(
      ({ series, value }) => html`<li
        key=${series.key} title=${nameOf(series)} onMouseEnter=${() => point(series)} onMouseLeave=${() => point(null)}
      >
        <span class="swatch" style=${{ background: colour(series) }}></span>
        <span class="legend-name">${legendOf(series)}</span>
        ${
          series.group !== null &&
          html`<span class="dim">n=${series.runs}${series.notFinite ? `, ${series.notFinite} not finite` : ""}</span>`
        }
        <span class="legend-value num">${Number.isNaN(value) ? "" : number(value, 4, false)}</span>
      </li>`,
    )}
    ${all.length > MOST && html`<li class="dim">and ${count(all.length - MOST)} more</li>`}
  </ul>`;
}
