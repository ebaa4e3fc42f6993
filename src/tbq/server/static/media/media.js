// Everything that is not a scalar: one section per tag of the chosen kind, one slider for all of them.

import { html, computed, signal, useEffect } from "../ui.js";
import { tags, shown, byId, loaded, runs } from "../runs.js";
import { kind, search, mediaStep } from "../state.js";
import { matcher } from "../match.js";
import { ranges, report } from "../api.js";
import { useAsk } from "../ask.js";
import { Empty, Icon } from "../menu.js";
import { Waiting } from "../curves.js";
import { count, counted } from "../format.js";
import { ascending, stepsOf } from "../steps.js";
import { stepAt } from "./parts.js";
import { Images } from "./images.js";
import { Audio } from "./audio.js";
import { Texts } from "./texts.js";
import { Histograms } from "./histograms.js";
import { PrCurves } from "./pr.js";
import { Tensors, Meshes } from "./tensors.js";
import { Graphs } from "./graphs.js";

const KINDS = /** @type {[string, string, any][]} */ ([
  ["images", "Images", Images],
  ["audio", "Audio", Audio],
  ["texts", "Texts", Texts],
  ["histograms", "Histograms", Histograms],
  ["pr_curves", "PR curves", PrCurves],
  ["tensors", "Tensors", Tensors],
  ["meshes", "Meshes", Meshes],
  ["graphs", "Graphs", Graphs],
]);
const STEPPED = new Set(["images", "audio", "texts", "pr_curves", "tensors", "meshes"]);

/**
 * The steps of the visible sections, by section.
 * @type {import("../types.js").Signal<Record<string, import("../steps.js").Step[]>>}
 */
const stepsBy = signal({});
const steps = computed(() => [...new Set(Object.values(stepsBy.value).flat())].sort(ascending));

export function Media() {
  const present = KINDS.map(([name, label, View]) => ({
    name,
    label,
    View,
    tags: tags.value.filter((tag) => tag.kinds[name]),
  })).filter((each) => each.tags.length);
  const instead = present.some((each) => each.name === kind.value) ? "" : (present[0]?.name ?? "");
  useEffect(() => {
    if (instead) kind.value = instead;
  }, [instead]);
  if (!loaded.value) return null;
  if (!runs.value.length) return html`<${Waiting} />`;
  const now = present.find((each) => each.name === kind.value) ?? present[0];
  if (!now)
    return html`<${Empty} title="No media in this log">
      Images, audio, texts, histograms, PR curves, tensors and graphs appear here as soon as a run logs one.
    <//>`;
  const { test } = matcher(search.value);
  const list = now.tags.filter((tag) => test(tag.tag));
  return html`<div class="media">
    <div class="media-bar">
      <div class="kinds" role="group" aria-label="Kind">
        ${present.map(
          (each) => html`<button
            type="button" key=${each.name} class="chip" aria-pressed=${each === now}
            onClick=${() => (kind.value = each.name)}
          >
            ${each.label} <span class="dim">${count(each.tags.length)}</span>
          </button>`,
        )}
      </div>
      ${STEPPED.has(now.name) && html`<${Slider} />`}
      <span class="spring"></span>
      <label class="field tags">
        <${Icon} name="search" />
        <span class="sr">Search tags</span>
        <input
          id="search" type="search" spellcheck="false" placeholder="Tags: val/*" value=${search.value}
          onInput=${(/** @type {any} */ e) => (search.value = e.target.value)}
        />
      </label>
    </div>
    ${list
      .slice(0, 40)
      .map(
        (tag) => html`<${TagSection} key=${`${now.name} ${tag.tag}`} kind=${now.name} tag=${tag} View=${now.View} />`,
      )}
    ${!list.length && html`<${Empty} title="No tag matches the search" />`}
    ${list.length > 40 && html`<p class="dim">${counted(list.length - 40, "more tag")}. Search to see them.</p>`}
  </div>`;
}

/** One slider moves all cards. */
function Slider() {
  const list = steps.value;
  if (list.length < 2) return list.length ? html`<span class="dim">step ${count(list[0])}</span>` : null;
  const at = Math.max(0, stepAt(list));
  const set = (/** @type {number} */ i) => (mediaStep.value = i >= list.length - 1 ? null : list[i]);
  return html`<label class="slider wide">
    <span>step</span>
    <input
      id="step" type="range" min="0" max=${list.length - 1} step="1" value=${at}
      aria-valuetext=${`step ${count(list[at])}`} onInput=${(/** @type {any} */ e) => set(Number(e.target.value))}
    />
    <output>${count(list[at])}</output>
    ${mediaStep.value === null && html`<span class="dim">newest</span>`}
  </label>`;
}

/** @param {any} props */
function TagSection({ kind: name, tag, View }) {
  const ids = shown.value;
  const { data, error } = useAsk(
    "series",
    {
      kind: name,
      tag: tag.tag,
      runs: report !== null ? undefined : ids.length === runs.value.length ? "*" : ranges(ids),
    },
    { live: true },
  );
  const set = new Set(ids);
  const list = (data?.runs ?? [])
    .filter((/** @type {any} */ each) => set.has(each.id))
    .map((/** @type {any} */ each) => ({ ...each, steps: stepsOf(each.steps), run: byId.value.get(each.id) }))
    .filter((/** @type {any} */ each) => each.run);
  const key = `${name} ${tag.tag}`;
  const all = [...new Set(list.flatMap((/** @type {any} */ each) => each.steps))].join();
  useEffect(() => {
    if (STEPPED.has(name)) stepsBy.value = { ...stepsBy.peek(), [key]: stepsOf(all ? all.split(",") : []) };
    return () => {
      const { [key]: _, ...rest } = stepsBy.peek();
      stepsBy.value = rest;
    };
  }, [key, name, all]);
  const most = list.slice(0, 60);
  return html`<section class="part">
    <h2 class="part-head plain">
      <span>${tag.tag}</span>
      <span class="rule"></span>
      <span class="dim">
        ${count(list.length)} of ${counted(tag.kinds[name], "run")}
      </span>
    </h2>
    ${tag.description && html`<p class="dim">${tag.description}</p>`}
    ${error && html`<p class="failed" role="status">${error}</p>`}
    ${data && !list.length && html`<p class="dim">None of the shown runs has this tag.</p>`}
    ${most.length > 0 && html`<${View} tag=${tag.tag} list=${most} />`}
    ${
      list.length > most.length &&
      html`<p class="dim">Only the first ${most.length} runs are shown. Filter the runs to see others.</p>`
    }
  </section>`;
}
