// The legend of a card: short names, with the values at the crosshair or the last ones.

import { html } from "./ui.js";
import { hover, fixed } from "./hover.js";
import { banded, hot, hotGroup, isBase, shownSet } from "./runs.js";
import { nearest } from "./chart/series.js";
import { colour } from "./plot.js";
import { DASHES, tagLabels, tagsOn } from "./together.js";
import { count, counted, delta, far, number } from "./format.js";

const FEW = 8; // curves that a card names
const MOST = 300; // names in full screen

/** @typedef {import("./types.js").Series} Series */

/** The value at x, or the last one. @param {Series | undefined} series @param {number | null} x */
function valueAt(series, x) {
  if (!series) return NaN;
  const k = nearest(series, x ?? Infinity);
  return k < 0 ? NaN : series.last[k];
}

/** A sample of a curve, in its colour and dashes. @param {{ colour?: string, dash: number[] }} props */
export function Sample({ colour: tint = "currentColor", dash }) {
  const wide = dash.length ? 22 : 10;
  return html`<svg class="sample" width=${wide} height="4" aria-hidden="true">
    <line
      x1="0" x2=${wide} y1="2" y2="2" stroke=${tint} stroke-width="3" stroke-dasharray=${dash.join(" ") || "none"}
    />
  </svg>`;
}

/** Says which dashes stand for which tag, if a chart has several tags. @param {{ tag: string }} props */
function Tags({ tag }) {
  const tags = tagsOn(tag);
  if (tags.length < 2) return null;
  const short = tagLabels(tags);
  return tags.map(
    (each, i) => html`<li key=${each} title=${each} class="dim">
      <${Sample} dash=${DASHES[i]} /><span class="legend-name">${short.get(each)}</span>
    </li>`,
  );
}

/** Explains dotted vertical lines, if the chart has any. @param {{ series: Series[] }} props */
function Resumed({ series }) {
  const n = new Set(series.filter((each) => each.takeovers.length).map((each) => each.id)).size;
  if (!n) return null;
  return html`<li class="dim" title="Where a later session of a run took over; Health lists them">
    <svg class="sample" width="4" height="12" aria-hidden="true">
      <line x1="2" x2="2" y1="0" y2="12" stroke="currentColor" stroke-dasharray="2 3" />
    </svg>
    ${n} resumed
  </li>`;
}

/** How many runs a mean is over, and how many of them are not finite or diverged. @param {Series} series */
const membersOf = ({ runs, notFinite, diverged }) =>
  [`n=${runs}`, notFinite && `${notFinite} not finite`, diverged && `${diverged} diverged`].filter(Boolean).join(", ");

/** @param {{ chart: any, curves: import("./types.js").Curves | null, tag: string, big: boolean }} props */
export function Legend({ chart, curves, tag, big }) {
  if (!curves || !shownSet.value) return null;
  const all = /** @type {Series[]} */ (chart.series());
  if (all.length > FEW && !big)
    return html`<ul class="legend" aria-label=${`Legend of ${tag}`}>
      <${Tags} tag=${tag} />
      <li class="dim">${counted(all.length, tagsOn(tag).length > 1 ? "curve" : banded.value ? "group" : "run")}</li>
      ${
        banded.value &&
        all
          .filter((each) => each.diverged)
          .slice(0, 2)
          .map((each) => html`<li key=${each.key} class="dim">${chart.label(each)}: ${membersOf(each)}</li>`)
      }
      <${Resumed} series=${all} />
    </ul>`;
  const at = hover.value ?? fixed.value;
  const x = at && !Number.isNaN(at.x) ? at.x : null;
  // In full screen, values come in order at the crosshair.
  const bases = chart.bases();
  const rows = all.slice(0, MOST).map((series) => ({ series, value: valueAt(series, x) }));
  if (big) rows.sort((a, b) => (Number.isNaN(a.value) ? 1 : Number.isNaN(b.value) ? -1 : b.value - a.value));
  const point = (/** @type {Series | null} */ series) => {
    hot.value = series?.id ?? null;
    hotGroup.value = series?.group ?? null;
  };
  return html`<ul class=${`legend ${big ? "legend-big" : ""}`} aria-label=${`Legend of ${tag}`}>
    <${Tags} tag=${tag} />
    ${rows.map(
      ({ series, value }) => html`<li
        key=${series.key} title=${chart.label(series, true)}
        onMouseEnter=${() => point(series)} onMouseLeave=${() => point(null)}
      >
        <${Sample} colour=${colour(series)} dash=${chart.dash(series)} />
        <span class=${`legend-name ${isBase(series) ? "strong" : ""}`}>${chart.label(series)}</span>
        ${series.group !== null && html`<span class="dim">${membersOf(series)}</span>`}
        <span class="legend-value num">
          ${Number.isNaN(value) ? "" : Math.abs(value) < 1e5 ? number(value, 4, false) : far(value)}
        </span>
        ${
          bases.size > 0 &&
          html`<span class="delta">
            ${isBase(series) ? "baseline" : delta(value, valueAt(bases.get(series.tag), x))}
          </span>`
        }
      </li>`,
    )}
    <${Resumed} series=${all} />
    ${all.length > MOST && html`<li class="dim">and ${count(all.length - MOST)} more</li>`}
  </ul>`;
}
