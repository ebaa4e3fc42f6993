// The findings of tbq doctor, worst first, each with its remedy.

import { html, signal, useEffect, useState } from "./ui.js";
import { fetchJson, report } from "./api.js";
import { version, colourOf, byId, loaded, runs } from "./runs.js";
import { filter, tab, search } from "./state.js";
import { Dialog, Empty } from "./menu.js";
import { Waiting } from "./curves.js";
import { exactly } from "./match.js";
import { SEVERITIES } from "./words.js";
import { count, counted } from "./format.js";

const ORDER = Object.keys(SEVERITIES);
/** @type {import("./types.js").Signal<{ code: string, text: string } | null>} */
const explained = signal(null);

export function Health() {
  const [data, setData] = useState(/** @type {any} */ (null));
  const [error, setError] = useState("");
  useEffect(() => {
    let timer = 0;
    let live = true;
    const ask = () =>
      fetchJson("health", report === null ? { wait: "0" } : {}).then(
        (answer) => {
          if (!live) return;
          setData(answer);
          setError("");
          if (answer.running || answer.checked === null) timer = window.setTimeout(ask, 700);
        },
        (wrong) => live && setError(wrong.message),
      );
    ask();
    return () => {
      live = false;
      clearTimeout(timer);
    };
  }, [version.value]);
  if (!loaded.value) return null;
  if (!runs.value.length) return html`<${Waiting} />`;
  if (error) return html`<${Empty} title="The health of the log is unknown">${error}<//>`;
  if (!data || (data.checked === null && data.running))
    return html`<${Empty} title="Checking the log …">This reads every file once.<//>`;
  const findings = [...(data.problems ?? []), ...(data.findings ?? [])].sort(
    (a, b) => ORDER.indexOf(a.severity) - ORDER.indexOf(b.severity),
  );
  const resumed = new Set((data.restarts ?? []).map((/** @type {{ id: number }} */ each) => each.id)).size;
  const counts = ORDER.map((name) => [name, findings.filter((each) => each.severity === name).length]).filter(
    ([, n]) => n,
  );
  return html`<div class="health">
    <div class="media-bar">
      <span class="health-sum">
        ${
          counts.length
            ? counts.map(
                ([name, n]) => html`<span key=${name} class=${`severity ${name}`}>
                  <span aria-hidden="true">${SEVERITIES[name][0]}</span> ${counted(Number(n), SEVERITIES[name][1])}
                </span>`,
              )
            : !data.failure && html`<span class="severity ok">✓ Nothing is wrong with this log.</span>`
        }
      </span>
      ${
        resumed > 0 &&
        html`<span class="dim">
          ${counted(resumed, "run")} ${resumed === 1 ? "was" : "were"} resumed; dotted lines mark where.
        </span>`
      }
      ${data.running && html`<span class="dim">checking again …</span>`}
    </div>
    ${
      data.failure &&
      html`<p class="failed">
        The log could not be checked: ${data.failure}.${" "}
        ${findings.length > 0 && "The list below is from an earlier check, or from reading. "}
        Run tbq doctor to check it outside this page.
      </p>`
    }
    <ul class="findings">${findings.slice(0, 500).map((each, i) => html`<${Finding} key=${i} each=${each} />`)}</ul>
    ${
      findings.length > 500 &&
      html`<p class="dim">and ${count(findings.length - 500)} more; tbq doctor lists all of them.</p>`
    }
    ${
      explained.value &&
      html`<${Dialog} title=${explained.value.code} onClose=${() => (explained.value = null)}>
        <pre class="explain">${explained.value.text}</pre>
      <//>`
    }
  </div>`;
}

/** @param {any} props */
function Finding({ each }) {
  const run = byId.value.get(each.id);
  const explain = async () => {
    try {
      explained.value = { code: each.code, text: (await fetchJson("explain", { code: each.code })).text };
    } catch (error) {
      explained.value = { code: each.code, text: /** @type {Error} */ (error).message };
    }
  };
  const showCurves = () => {
    filter.value = exactly(each.run);
    if (each.tag) search.value = exactly(each.tag);
    tab.value = "curves";
  };
  return html`<li class="card finding">
    <span class=${`severity ${each.severity}`}>
      <span aria-hidden="true">${SEVERITIES[each.severity]?.[0]}</span>
      <span class="sr">${SEVERITIES[each.severity]?.[1]}</span>
    </span>
    <div class="finding-body">
      <p>
        <span class="strong">
          ${each.run && run ? html`<span class="swatch dot" style=${{ background: colourOf(each.id) }}></span> ` : ""}
          ${[each.run, each.tag].filter(Boolean).join(" · ")}
        </span> ${each.message}
      </p>
      ${each.hint && html`<p class="dim">${each.hint}</p>`}
      ${
        each.file &&
        html`<p class="dim mono">
          ${each.file}
          ${each.offset !== null && each.offset !== undefined ? ` at byte ${count(each.offset)}` : ""}
        </p>`
      }
    </div>
    ${run && report === null && html`<button type="button" class="chip" onClick=${showCurves}>Show curves</button>`}
    ${
      each.code &&
      (report === null
        ? html`<button type="button" class="chip" onClick=${explain} title="What this means">${each.code}</button>`
        : html`<span class="chip">${each.code}</span>`)
    }
  </li>`;
}
