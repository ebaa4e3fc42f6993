// The values under the crosshair: at most eight runs, exact as soon as the server has answered.

import { html, useEffect, useState } from "./ui.js";
import { hover, fixed, readings, exact, MOST } from "./hover.js";
import { axis } from "./state.js";
import { byId, groupColour, colourOf } from "./runs.js";
import { report } from "./api.js";
import { nearest } from "./chart/series.js";
import { count, duration, number, time } from "./format.js";

/** @param {number} x @param {string} kind */
function xText(x, kind) {
  if (kind === "relative") return duration(x);
  if (kind === "wall") return time(x);
  return kind === "step" ? `step ${count(x)}` : `${kind.slice(4)} ${number(x)}`;
}

/** @param {{ chart: any, tag: string }} props */
export function Tooltip({ chart, tag }) {
  const at = hover.value?.tag === tag ? hover.value : fixed.value?.tag === tag && !hover.value ? fixed.value : null;
  const [found, setFound] = useState(/** @type {{ key: string, values: Map<number, any> } | null} */ (null));
  const list = at && chart.curves && chart.layout ? readings({ ...chart.curves, series: chart.series() }, chart.layout, at.x, at.py) : [];
  const ids = list.filter((each) => each.series.id !== null).map((each) => /** @type {number} */ (each.series.id)).sort((a, b) => a - b);
  const best = list.find((each) => each.nearest);
  // Exact values are asked for at the nearest column, not at each pixel of the way.
  const key = best && ids.length && report === null ? `${ids.join()} ${best.at} ${axis.value}` : "";
  useEffect(() => {
    if (!key || !best) return undefined;
    const abort = new AbortController();
    const timer = setTimeout(() => exact(tag, ids, best.at, axis.value, abort.signal).then((values) => setFound({ key, values }), () => undefined), 40);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [key]);
  if (!at || !list.length) return null;
  const sure = found?.key === key ? found.values : null;
  if (sure) list.sort((a, b) => (sure.get(b.series.id ?? -1)?.value ?? b.value) - (sure.get(a.series.id ?? -1)?.value ?? a.value));
  const more = chart.series().length - list.length;
  const right = at.px > chart.width / 2;
  const style = { [right ? "right" : "left"]: `${right ? chart.width - at.px + 14 : at.px + 14}px` };
  const steps = new Set(sure ? [...sure.values()].map((each) => each.step) : []);
  const head = steps.size === 1 && axis.value === "step" ? `step ${count([...steps][0])}` : xText(best ? best.at : at.x, axis.value);
  return html`<div class="tooltip" style=${style} role="status">
    <div class="tooltip-head">${head}</div>
    <table><tbody>${list.map((each) => {
      const { series } = each;
      const point = series.id === null ? null : sure?.get(series.id);
      const name = series.group ?? byId.value.get(/** @type {number} */ (series.id))?.name ?? "";
      const tint = series.group !== null ? groupColour(series.group) : colourOf(/** @type {number} */ (series.id));
      const k = series.lower ? nearest(series, each.at) : -1;
      const spread = k >= 0 && series.lower && series.upper ? `${number(series.lower[k])} – ${number(series.upper[k])}` : "";
      return html`<tr key=${series.key} class=${each.nearest ? "near" : ""}>
        <td><span class="swatch" style=${{ background: tint }}></span></td>
        <td class="tooltip-name"><bdi dir="ltr">${name}</bdi></td>
        <td class="num">${point ? point.text : number(each.value)}</td>
        ${(spread || steps.size > 1) && html`<td class="num dim">${point && steps.size > 1 ? count(point.step) : spread}</td>`}
      </tr>`;
    })}</tbody></table>
    ${more > 0 && list.length >= MOST && html`<div class="tooltip-more">nearest ${list.length} of ${count(chart.series().length)}</div>`}
  </div>`;
}
