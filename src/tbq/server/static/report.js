// A report: the parts of the page one below the other, with the data embedded in the file.

import { html, signal, useEffect, useState } from "./ui.js";
import { fetchJson, report } from "./api.js";
import { axis, group, band, smooth, smoothAs, views } from "./state.js";
import { runs, tags, loaded, groups } from "./runs.js";
import { Pane } from "./pane.js";
import { closed, rows, ROW } from "./table.js";
import { Curves } from "./curves.js";
import { Media } from "./media/media.js";
import { Health } from "./health.js";
import { markdown } from "./markdown.js";
import { copy } from "./menu.js";
import { counted, time } from "./format.js";

/**
 * @type {import("./types.js").Signal<{ title: string, text: string, tags: string[], by: string | null, band: string |
 * null, smooth: number, views?: [string, number][], commands: { what: string, command: string }[], made: number,
 * left_out?: string[] } | null>}
 */
const about = signal(null);

/** Start with the groups, band and smoothing that the report was made with. */
export async function openReport() {
  try {
    const facts = await fetchJson("report");
    if (facts.by && !group.value) group.value = facts.by;
    if (facts.band) band.value = facts.band;
    views.value = facts.views ?? [["step", 0]];
    smoothAs(facts.smooth ?? 0);
    if (!views.value.some(([x, level]) => x === axis.value && level === smooth.value))
      [axis.value, smooth.value] = views.value[0];
    about.value = facts;
    document.title = facts.title;
  } catch {
    // A file by an older version lacks this block. Its data still shows.
  }
}

export function Report() {
  const facts = about.value;
  const media = tags.value.some((tag) =>
    Object.keys(tag.kinds).some((each) => !["scalars", "hparams", "custom_scalars", "others"].includes(each)),
  );
  useEffect(() => {
    // A printed page shows everything, so open what is folded.
    const all = () => {
      for (const each of document.querySelectorAll(".report details")) each.setAttribute("open", "");
    };
    addEventListener("beforeprint", all);
    return () => removeEventListener("beforeprint", all);
  }, []);
  // Groups start folded.
  const [ordered, setOrdered] = useState(false);
  const ready = Boolean(facts?.by) && loaded.value && groups.value.length > 0;
  useEffect(() => {
    if (!ready || ordered) return;
    setOrdered(true);
    closed.value = new Set(rows.value.flatMap((row) => (row.kind === "group" ? [row.name] : [])));
  }, [ready, ordered]);
  return html`<main class="report" id="view">
    <header>
      <h1>${facts?.title ?? report}</h1>
      <p class="dim">
        ${counted(runs.value.length, "run")} · ${counted(tags.value.length, "tag")}
        ${facts && ` · made ${time(facts.made).slice(0, 16)}`}
      </p>
    </header>
    ${facts?.text && html`<section class="prose">${markdown(facts.text)}</section>`}
    <section class="report-runs">
      <h2>Runs</h2>
      <div
        class="report-table"
        style=${{ height: `${Math.min(560, 170 + ROW * (rows.value.length + 1))}px` }}
      >
        <${Pane} />
      </div>
    </section>
    <section><h2>Curves</h2><${Curves} /></section>
    ${media && loaded.value && html`<section><h2>Media</h2><${Media} /></section>`}
    <section><h2>Health</h2><${Health} /></section>
    ${
      facts &&
      facts.commands.length > 0 &&
      html`<section>
        <h2>How to reproduce it</h2>
        ${facts.commands.map(
          (each) => html`<div class="command" key=${each.command}>
            <p class="dim">${each.what}</p>
            <div>
              <code>${each.command}</code>
              <button type="button" class="chip" onClick=${() => copy(each.command, "the command")}>copy</button>
            </div>
          </div>`,
        )}
      </section>`
    }
    ${
      facts?.left_out &&
      facts.left_out.length > 0 &&
      html`<section>
        <h2>Left out</h2>
        <ul class="dim">${facts.left_out.map((each) => html`<li key=${each}>${each}</li>`)}</ul>
      </section>`
    }
  </main>`;
}
