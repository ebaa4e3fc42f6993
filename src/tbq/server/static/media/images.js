// Images: one card per run at the slider's step, or all steps in a row; a click enlarges one, or two side by side.

import { html, signal, useRef, useEffect } from "../ui.js";
import { link, report } from "../api.js";
import { Dialog, IconButton } from "../menu.js";
import { count, counted } from "../format.js";
import { kept } from "../state.js";
import { stepAt, RunLabel } from "./parts.js";

const MOST = 16; // images of a step
const edge = kept("image", 160);
const allSteps = kept("steps", false);
/**
 * @type {import("../types.js").Signal<{ tag: string, picked: { run: any, step: import("../steps.js").Step, index:
 * number }[] } | null>}
 */
const opened = signal(null);

/** @param {{ tag: string, list: any[] }} props */
export function Images({ tag, list }) {
  return html`
    <div class="images-tools">
      <label class="slider">
        <span>size</span>
        <input
          type="range" min="64" max="512" step="16" value=${edge.value} aria-label="Size of the images"
          onInput=${(/** @type {any} */ e) => (edge.value = Number(e.target.value))}
        />
      </label>
      <button
        type="button" class="chip" aria-pressed=${allSteps.value}
        onClick=${() => (allSteps.value = !allSteps.value)}
      >
        all steps
      </button>
    </div>
    <div class=${allSteps.value ? "images rows" : "images"} style=${{ "--edge": `${edge.value}px` }}>
      ${list.map((each) => html`<${RunImages} key=${each.id} tag=${tag} each=${each} />`)}
    </div>
    ${opened.value?.tag === tag && html`<${Large} list=${list} />`}
  `;
}

/** @param {any} props */
function RunImages({ tag, each }) {
  const at = stepAt(each.steps);
  const places = allSteps.value
    ? each.steps.map((/** @type {number} */ _, /** @type {number} */ i) => i).slice(-40)
    : [at];
  return html`<div class="card media-card">
    <${RunLabel} run=${each.run}>
      ${
        allSteps.value
          ? (places.length < each.steps.length ? `last ${places.length} of ` : "") + counted(each.steps.length, "step")
          : `step ${count(each.steps[at])}`
      }
      ${
        places.some((/** @type {number} */ i) => (each.counts?.[i] ?? 1) > MOST)
          ? ` · the first ${MOST} of each step`
          : ""
      }
    <//>
    <div class="strip" tabindex=${allSteps.value ? 0 : undefined}>
      ${places.map((/** @type {number} */ i) =>
        Array.from({ length: Math.min(each.counts?.[i] ?? 1, MOST) }, (_, index) => {
          const step = each.steps[i];
          const open = () => (opened.value = { tag, picked: [{ run: each, step, index }] });
          return html`<figure key=${`${step} ${index}`}>
            <button
              type="button" onClick=${open} aria-label=${`Show ${tag} of ${each.run.name} at step ${step} large`}
            >
              <${Picture} run=${each.run} mark=${each.marks?.[i]} tag=${tag} step=${step} index=${index} />
            </button>
            ${allSteps.value && html`<figcaption>${count(step)}</figcaption>`}
          </figure>`;
        }),
      )}
    </div>
  </div>`;
}

/** @param {any} props */
function Picture({ run, mark, tag, step, index, style = undefined }) {
  return html`<img
    class="pixels" loading=${report === null ? "lazy" : "eager"} style=${style}
    src=${link("image", { run: run.id, tag, step, index, mark })} alt=${`${tag}, ${run.name}, step ${step}`}
  />`;
}

/** One image or two, in pixels. @param {{ list: any[] }} props */
function Large({ list }) {
  const view = useRef(/** @type {HTMLElement | null} */ (null));
  const zoom = useRef(signal(0)).current; // 0: as large as fits
  const now = opened.value;
  useEffect(
    () => () => {
      opened.value = null;
    },
    [],
  );
  if (!now) return null;
  const { tag } = now;
  // The current runs: one may have been rewritten since its image was opened.
  const picked = now.picked.map((each) => ({ ...each, run: list.find((run) => run.id === each.run.id) ?? each.run }));
  const change = (/** @type {number} */ which, /** @type {any} */ part) =>
    (opened.value = { ...now, picked: picked.map((each, i) => (i === which ? { ...each, ...part } : each)) });
  const add = () => {
    const other = list.find((each) => each.id !== picked[0].run.id) ?? picked[0].run;
    const step = other === picked[0].run ? other.steps[0] : other.steps[stepAt(other.steps)];
    opened.value = { ...now, picked: [picked[0], { run: other, step, index: 0 }] };
  };
  const wheel = (/** @type {WheelEvent} */ event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoom.value = Math.min(32, Math.max(1, (zoom.value || 1) * (event.deltaY < 0 ? 2 : 0.5)));
  };
  return html`<${Dialog} title=${tag} onClose=${() => (opened.value = null)} class="large">
    <div class="images-tools">
      ${[0, 1, 2, 4, 8, 16].map(
        (each) => html`<button
          type="button" key=${each} class="chip" aria-pressed=${zoom.value === each}
          onClick=${() => (zoom.value = each)}
        >
          ${each ? `${each}×` : "fit"}
        </button>`,
      )}
      <span class="spring"></span>
      ${
        picked.length < 2
          ? html`<button type="button" class="button" onClick=${add}>Compare with another</button>`
          : html`<button type="button" class="button" onClick=${() => (opened.value = { ...now, picked: [picked[0]] })}>
            Only the first
          </button>`
      }
    </div>
    <div class="large-row" ref=${view} onWheel=${wheel}>
      ${picked.map((each, which) => {
        const steps = each.run.steps;
        const at = Math.max(0, steps.indexOf(each.step));
        return html`<div class="large-side" key=${which}>
          <select
            aria-label="Run" value=${each.run.id}
            onChange=${(/** @type {any} */ e) => {
              const run = list.find((other) => other.id === Number(e.target.value));
              if (run)
                change(which, { run, step: run.steps.includes(each.step) ? each.step : run.steps[stepAt(run.steps)] });
            }}
          >
            ${list.map((other) => html`<option key=${other.id} value=${other.id}>${other.run.name}</option>`)}
          </select>
          <div class="large-scroll" tabindex="0" aria-label="Image">
            <img
              class=${`pixels ${zoom.value ? "" : "fit"}`}
              src=${link("image", {
                run: each.run.id,
                tag,
                step: each.step,
                index: each.index,
                mark: each.run.marks?.[at],
              })}
              alt=${`${tag}, ${each.run.run.name}, step ${each.step}`}
              ref=${(/** @type {HTMLImageElement | null} */ node) => node && sized(node, zoom.value)}
              onLoad=${(/** @type {any} */ e) => sized(e.target, zoom.value)}
            />
          </div>
          <label class="slider wide">
            <${IconButton}
              name="left" label="Previous step" onClick=${() => change(which, { step: steps[Math.max(0, at - 1)] })}
            />
            <input
              type="range" min="0" max=${steps.length - 1} value=${at} aria-label="Step"
              onInput=${(/** @type {any} */ e) => change(which, { step: steps[Number(e.target.value)] })}
            />
            <${IconButton}
              name="right" label="Next step"
              onClick=${() => change(which, { step: steps[Math.min(steps.length - 1, at + 1)] })}
            />
            <output>step ${count(each.step)}</output>
          </label>
        </div>`;
      })}
    </div>
  <//>`;
}

/** @param {HTMLImageElement} image @param {number} zoom */
function sized(image, zoom) {
  image.style.width = zoom && image.naturalWidth ? `${image.naturalWidth * zoom}px` : "";
}
