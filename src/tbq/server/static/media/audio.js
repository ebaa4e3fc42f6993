// Audio: a player with its waveform.

import { html, useEffect, useRef } from "../ui.js";
import { link } from "../api.js";
import { useAsk } from "../ask.js";
import { dark } from "../state.js";
import { colourOf } from "../runs.js";
import { count, number } from "../format.js";
import { stepAt, RunLabel } from "./parts.js";

/** @param {{ tag: string, list: any[] }} props */
export function Audio({ tag, list }) {
  return html`<div class="media-grid">
    ${list.map((each) => html`<${Clip} key=${each.id} tag=${tag} each=${each} />`)}
  </div>`;
}

/** @param {any} props */
function Clip({ tag, each }) {
  const at = stepAt(each.steps);
  const step = each.steps[at];
  const params = { run: each.id, tag, step, index: 0, mark: each.marks?.[at] };
  const canvas = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  const player = useRef(/** @type {HTMLAudioElement | null} */ (null));
  const { data, error } = useAsk("waveform", { ...params, width: 360 }, { frame: true });
  const tint = colourOf(each.id);
  const draw = () => {
    const node = canvas.current;
    if (!node || !data) return;
    const context = /** @type {CanvasRenderingContext2D} */ (node.getContext("2d"));
    const { min, max } = data.columns;
    context.clearRect(0, 0, node.width, node.height);
    const audio = player.current;
    const played = audio?.duration ? (audio.currentTime / audio.duration) * node.width : 0;
    const space = node.width / min.length;
    context.fillStyle = tint;
    for (let k = 0; k < min.length; k++) {
      const top = (1 - max[k]) * 0.5 * node.height;
      const bottom = (1 - min[k]) * 0.5 * node.height;
      context.globalAlpha = k * space < played || !played ? 1 : 0.45;
      context.fillRect(k * space, top, Math.max(1, space - 0.5), Math.max(1.5, bottom - top));
    }
  };
  useEffect(draw, [data, tint, dark.value]);
  const clips = each.counts?.[stepAt(each.steps)];
  const seek = (/** @type {MouseEvent} */ event) => {
    const audio = player.current;
    const box = /** @type {HTMLElement} */ (event.currentTarget).getBoundingClientRect();
    if (audio && data) audio.currentTime = ((event.clientX - box.left) / box.width) * data.header.seconds;
  };
  return html`<div class="card media-card">
    <${RunLabel} run=${each.run}>step ${count(step)}<//>
    <canvas
      ref=${canvas} class="wave" width="720" height="128" role="img" aria-label=${`Waveform of ${tag}`}
      onClick=${seek}
    ></canvas>
    ${error && html`<p class="dim">${error}</p>`}
    <audio
      ref=${player} controls preload="none" src=${link("audio", params)} onTimeUpdate=${draw}
      aria-label=${`${tag}, ${each.run.name}`}
    ></audio>
    <div class="dim">
      ${data && `${number(data.header.seconds, 3)} s · ${count(data.header.rate)} Hz`}
      ${clips > 1 && ` · first of ${clips}`}
    </div>
  </div>`;
}
