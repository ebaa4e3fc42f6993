// The curves: one card for each tag, in sections by the first part of the name.

import { html, computed, useState } from "./ui.js";
import { scalarTags, hasCurve, loaded, runs, tags, server, toggled } from "./runs.js";
import { search, folded, pins, full, cardWidth } from "./state.js";
import { matcher } from "./match.js";
import { Card } from "./card.js";
import { Empty, Icon } from "./menu.js";
import { report } from "./api.js";
import { count, counted } from "./format.js";

const FIRST = report === null ? 12 : 1000; // cards of a section before the user asks for more
const SECTIONS = 40;

/** @typedef {{ name: string, tags: import("./types.js").Tag[], of: number }} Section */

const sections = computed(() => {
  const { test } = matcher(search.value);
  /** @type {Map<string, Section>} */
  const map = new Map();
  for (const tag of scalarTags.value) {
    const cut = tag.tag.indexOf("/");
    const name = cut > 0 ? tag.tag.slice(0, cut + 1) : "";
    if (!map.has(name)) map.set(name, { name, tags: [], of: 0 });
    const section = /** @type {Section} */ (map.get(name));
    section.of++;
    if (test(tag.tag)) section.tags.push(tag);
  }
  const list = [...map.values()].filter((each) => each.tags.length);
  // Sections that people compare come first: validation, training, then the rest in order of name.
  const rank = (/** @type {Section} */ { tags: all }) =>
    !all.some(hasCurve)
      ? 4
      : all.every((tag) => tag.split === "evaluation")
        ? 0
        : all.every((tag) => tag.split === "training")
          ? 1
          : all.some((tag) => tag.role === "loss" || tag.role === "score")
            ? 2
            : 3;
  return list.sort((a, b) => rank(a) - rank(b));
});

export function Curves() {
  const [more, setMore] = useState(SECTIONS);
  const list = sections.value;
  const pinned = pins.value
    .map((name) => scalarTags.value.find((tag) => tag.tag === name))
    .filter((tag) => tag !== undefined);
  if (!loaded.value)
    return html`<div class="cards">
      ${Array.from({ length: 4 }, (_, i) => html`<div class="card ghost" key=${i}></div>`)}
    </div>`;
  if (!runs.value.length) return html`<${Waiting} />`;
  if (!scalarTags.value.length)
    return html`<${Empty} title="No scalars in this log">
      ${tags.value.length ? "It has other data: see Media." : "It has no data yet; this page fills by itself."}
    <//>`;
  return html`<div class="sections" style=${{ "--card-width": `${cardWidth.value}px` }}>
    ${
      pinned.length > 0 && html`<${Part} key="pinned" section=${{ name: "Pinned", tags: pinned, of: pinned.length }} />`
    }
    ${list.slice(0, more).map((each) => html`<${Part} key=${each.name} section=${each} />`)}
    ${
      list.length > more &&
      html`<button type="button" class="button more" onClick=${() => setMore(more + SECTIONS)}>
        Show ${Math.min(SECTIONS, list.length - more)} of ${counted(list.length - more, "more section")}
      </button>`
    }
    ${
      !list.length &&
      html`<${Empty} title="No tag matches the search">
        ${counted(scalarTags.value.length, "tag")} hidden.${" "}
        <button type="button" class="link" onClick=${() => (search.value = "")}>Clear the search</button>
      <//>`
    }
    ${
      full.value &&
      html`<div class="full" role="dialog" aria-modal="true" aria-label=${full.value}>
        <${Card} key=${full.value} tag=${full.value} big />
      </div>`
    }
  </div>`;
}

export function Waiting() {
  const name = server.value?.title ?? "";
  return html`<${Empty} title=${`No event files yet${name ? ` in ${name}` : ""}.`}>
    Waiting. The page updates by itself.
  <//>`;
}

/** @param {{ section: Section }} props */
function Part({ section }) {
  const { name, tags: all, of } = section;
  const [most, setMost] = useState(FIRST);
  const open = !folded.value.has(name);
  const id = `section-${name}`;
  // Short sections share a row: a section is as wide as its cards.
  const wide = Math.min(open ? all.length : 1, 3);
  return html`<section class="part" style=${{ "--cards": wide }}>
    <h2 class="part-head">
      <button
        type="button" aria-expanded=${open} aria-controls=${id}
        onClick=${() => (folded.value = toggled(folded.value, name))}
      >
        <${Icon} name=${open ? "down" : "right"} />
        <span>${name || "other"}</span>
        <span class="rule"></span>
        <span class="dim">${all.length === of ? count(of) : `${count(all.length)} of ${count(of)}`}</span>
      </button>
    </h2>
    ${
      open &&
      html`<div class="cards" id=${id}>
        ${all
          .slice(0, most)
          .map((each) => html`<${Card} key=${each.tag} tag=${each.tag} description=${each.description} />`)}
      </div>`
    }
    ${
      open &&
      all.length > most &&
      html`<button type="button" class="button more" onClick=${() => setMost(most + 24)}>
        Show ${Math.min(24, all.length - most)} of ${count(all.length - most)} more
      </button>`
    }
  </section>`;
}
