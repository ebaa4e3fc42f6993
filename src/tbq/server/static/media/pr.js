// Precision–recall curves of all shown runs at the slider's step.

import { html, useEffect, useRef, useState } from "../ui.js";
import { fetchFrame } from "../api.js";
import { paint } from "../chart/paint.js";
import { inkOf, sharpness } from "../chart/canvas.js";
import { byId, colourOf, version } from "../runs.js";
import { dark } from "../state.js";
import { count, number } from "../format.js";
import { stepOf } from "../steps.js";
import { stepAt } from "./parts.js";

/** @param {{ tag: string, list: any[] }} props */
export function PrCurves({ tag, list }) {
  const [found, setFound] = useState(/** @type {{ id: number, step: string, columns: any }[]} */ ([]));
  const canvas = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  const asked = JSON.stringify(
    list.map((each) => ({
      run: each.id,
      tag,
      step: String(each.steps[stepAt(each.steps)]),
      mark: each.marks?.[stepAt(each.steps)],
    })),
  );
  useEffect(() => {
    let live = true;
    const fetched = JSON.parse(asked).map(async (/** @type {any} */ params) => ({
      id: params.run,
      step: params.step,
      columns: (await fetchFrame("pr", params)).columns,
    }));
    Promise.allSettled(fetched).then((results) => {
      if (live) setFound(results.flatMap((each) => (each.status === "fulfilled" ? [each.value] : [])));
    });
    return () => {
      live = false;
    };
  }, [asked, version.value]);
  useEffect(() => {
    const node = canvas.current;
    if (!node || !found.length) return;
    const series = found.map(({ id, columns }) => {
      const order = [...columns.recall.keys()]
        .filter((i) => columns.precision[i] > 0 || columns.recall[i] > 0)
        .sort((a, b) => columns.recall[a] - columns.recall[b]);
      const x = Float64Array.from(order, (i) => columns.recall[i]);
      const y = Float64Array.from(order, (i) => columns.precision[i]);
      return /** @type {import("../types.js").Series} */ ({
        key: String(id),
        id,
        group: null,
        n: x.length,
        runs: 1,
        notFinite: 0,
        diverged: 0,
        tag: "",
        broken: [],
        takeovers: [],
        x,
        first: y,
        last: y,
        min: y,
        max: y,
        rawMin: null,
        rawMax: null,
        lower: null,
        upper: null,
      });
    });
    paint(node, {
      series,
      colour: (s) => colourOf(/** @type {number} */ (s.id)),
      x: [0, 1],
      y: [0, 1.02],
      logX: false,
      logY: false,
      axis: "tag:recall",
      ink: inkOf(node),
      width: node.clientWidth,
      height: node.clientHeight,
      ratio: sharpness(),
      smoothed: false,
    });
  }, [found, dark.value]);
  return html`<div class="media-grid">
    <div class="card media-card">
      <canvas
        ref=${canvas} class="histogram" role="img" aria-label=${`Precision and recall of ${tag}`}
        data-series=${found.length}
      ></canvas>
      <div class="dim axis-names">recall → · precision ↑</div>
    </div>
    <div class="card media-card scroll" tabindex="0">
      <table class="plain-table">
        <thead>
          <tr>
            <th scope="col">Run</th>
            <th scope="col" class="num">Step</th>
            <th scope="col" class="num">Average precision</th>
          </tr>
        </thead>
        <tbody>
          ${found.map(
            ({ id, step, columns }) => html`<tr key=${id}>
              <td>
                <span class="swatch dot" style=${{ background: colourOf(id) }}></span> ${byId.value.get(id)?.name}
              </td>
              <td class="num">${count(stepOf(step) ?? 0)}</td>
              <td class="num">${number(average(columns))}</td>
            </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </div>`;
}

/** The area below the curve. @param {any} columns */
function average({ precision, recall }) {
  const order = [...recall.keys()].sort((a, b) => recall[a] - recall[b]);
  let sum = 0;
  for (let i = 1; i < order.length; i++)
    sum += (recall[order[i]] - recall[order[i - 1]]) * Math.max(precision[order[i]], 0);
  return sum;
}
