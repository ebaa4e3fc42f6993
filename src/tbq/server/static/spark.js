// The small curve in a row of the table.

import { html, on, signal, useLayoutEffect, useRef } from "./ui.js";
import { fetchFrame, ranges, report } from "./api.js";
import { trace } from "./chart/paint.js";
import { scale, toPixels } from "./chart/scale.js";
import { curvesOf } from "./chart/series.js";
import { mainTag, version } from "./runs.js";

/** @type {Map<number, { version: number, series: import("./types.js").Series | null }>} */
const known = new Map();
const arrived = signal(0);
/** @type {Set<number>} */
let wanted = new Set();
let timer = 0;
let tag = "";

// Rows come and go while the table scrolls, so one request fetches the curves of all of them.
/** @param {number} id */
function want(id) {
  if (tag !== mainTag.peek()) {
    tag = mainTag.peek();
    known.clear();
  }
  const have = known.get(id);
  if (!tag || report !== null || (have && version.peek() - have.version < 8)) return;
  wanted.add(id);
  clearTimeout(timer);
  timer = window.setTimeout(async () => {
    const ids = [...wanted].sort((a, b) => a - b);
    wanted = new Set();
    const now = version.peek();
    try {
      const curves = curvesOf(await fetchFrame("curves", { tag, runs: ranges(ids), x: "step", width: 30 }));
      for (const each of ids)
        known.set(each, { version: now, series: curves.series.find((series) => series.id === each) ?? null });
      arrived.value++;
    } catch {
      // The row stays without a curve.
    }
  }, 120);
}

/** @param {{ run: import("./types.js").Run, tint: string }} props */
export function Spark({ run, tint }) {
  const canvas = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  useLayoutEffect(() => {
    let last = "";
    return on([arrived, version, mainTag], () => {
      want(run.id);
      const series = known.get(run.id)?.series;
      const now = `${series?.n} ${series?.last.at(-1)} ${tint}`;
      if (canvas.current && now !== last) draw(canvas.current, series ?? null, tint);
      last = now;
    });
  }, [run.id, tint]);
  return html`<canvas ref=${canvas} class="spark" width="120" height="36" aria-hidden="true"></canvas>`;
}

/** @param {HTMLCanvasElement} canvas @param {import("./types.js").Series | null} series @param {string} tint */
function draw(canvas, series, tint) {
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.clearRect(0, 0, canvas.width, canvas.height);
  if (!series) return;
  let low = Infinity;
  let high = -Infinity;
  for (const v of series.min) if (v < low) low = v;
  for (const v of series.max) if (v > high) high = v;
  if (!(low <= high)) return;
  context.strokeStyle = tint;
  context.lineWidth = 2.2;
  context.lineJoin = "round";
  const toX = toPixels(scale(series.x[0], series.x[series.x.length - 1], false, 2, canvas.width - 2));
  trace(context, series, toX, toPixels(scale(low, high, false, canvas.height - 4, 4)));
}
