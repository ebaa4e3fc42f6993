// The bar at the top: the tabs, and the controls of how curves are drawn.

import { html, useRef } from "./ui.js";
import { tab, search, smooth, axis, theme, dark, views, zoom, logX, cardWidth, wide } from "./state.js";
import { server, isReport, scalarTags } from "./runs.js";
import { trouble } from "./live.js";
import { Menu, Item, Icon, IconButton, copy } from "./menu.js";
import { help } from "./help.js";
import { Views as SavedViews } from "./views.js";
import { TABS } from "./words.js";
import { sized } from "./format.js";

const AXES = /** @type {Record<string, string>} */ ({ step: "step", relative: "relative", wall: "wall time" });

export function Bar() {
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  const arrow = (/** @type {KeyboardEvent} */ event) => {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!by) return;
    event.preventDefault();
    const at = TABS.findIndex(([name]) => name === tab.value);
    tab.value = TABS[(at + by + TABS.length) % TABS.length][0];
    requestAnimationFrame(() =>
      /** @type {HTMLElement | null} */ (list.current?.querySelector("[aria-selected=true]"))?.focus(),
    );
  };
  return html`<header class="bar">
    ${
      isReport
        ? html`<span class="brand">tbq</span>`
        : html`<h1>
          <span class="brand">tbq</span>${" "}
          <span class="title" title=${server.value?.title}>${server.value?.title ?? ""}</span>
        </h1>`
    }
    ${
      !isReport &&
      html`<nav class="tabs" role="tablist" aria-label="Views" ref=${list} onKeyDown=${arrow}>
        ${TABS.map(
          ([name, label]) => html`<button
            type="button" role="tab" key=${name} id=${`tab-${name}`} aria-selected=${tab.value === name}
            aria-controls=${wide.value ? undefined : "view"} tabindex=${tab.value === name ? 0 : -1}
            onClick=${() => (tab.value = name)}
          >
            ${label}
          </button>`,
        )}
      </nav>`
    }
    <span class="spring"></span>
    <${Status} />
    ${tab.value === "curves" && html`<${Drawing} />`}
    ${
      !isReport &&
      html`<${IconButton}
        name="link" label="Copy the link to this view" onClick=${() => copy(location.href, "the link")}
      />`
    }
    ${!isReport && html`<${SavedViews} />`}
    <${IconButton}
      name=${dark.value ? "sun" : "moon"} label=${dark.value ? "Light (d)" : "Dark (d)"}
      onClick=${() => (theme.value = dark.value ? "light" : "dark")}
    />
    <${IconButton} name="help" label="Keys and mouse (?)" onClick=${() => (help.value = true)} />
  </header>`;
}

function Status() {
  if (trouble.value) return html`<span class="status bad" role="status" title=${trouble.value}>not connected</span>`;
  const left = server.value?.left ?? 0;
  if (left > 1e6) return html`<span class="status" role="status">reading · ${sized(left)} left</span>`;
  return html`<span class="sr" role="status"></span>`;
}

/** The search for tags, the smoothing and the x axis. */
function Drawing() {
  const kind = axis.value.startsWith("tag:") ? axis.value.slice(4) : AXES[axis.value];
  return html`<span class="drawing">
    <label class="field tags">
      <${Icon} name="search" />
      <span class="sr">Search tags</span>
      <input
        id="search" type="search" spellcheck="false" autocomplete="off" placeholder="Tags: val/*"
        value=${search.value} onInput=${(/** @type {any} */ e) => (search.value = e.target.value)}
      />
    </label>
    ${isReport && html`<${Views} />`}
    ${
      !isReport &&
      html`
        <label class="slider">
          <span>smooth</span>
          <input
            id="smooth" type="range" min="0" max="0.99" step="0.01" value=${smooth.value}
            onInput=${(/** @type {any} */ e) => (smooth.value = Number(e.target.value))}
          />
          <output>
            ${Number(smooth.value.toFixed(2)) === smooth.value ? smooth.value.toFixed(2) : smooth.value}
          </output>
        </label>
        <${Menu} label=${`x: ${kind}`} title="The x axis and the scale" align="right" id="axis">
          ${(/** @type {() => void} */ close) => {
            const set = (/** @type {string} */ value) => () => {
              axis.value = value;
              zoom.value = null;
              close();
            };
            return html`<div class="menu-list">
              <div class="menu-title">x axis</div>
              <${Item} checked=${axis.value === "step"} onClick=${set("step")}>Step<//>
              <${Item} checked=${axis.value === "relative"} onClick=${set("relative")} hint="since the run began">
                Relative time
              <//>
              <${Item} checked=${axis.value === "wall"} onClick=${set("wall")}>Wall time<//>
              ${scalarTags.value.slice(0, 30).map(
                (each) => html`<${Item}
                  key=${each.tag} checked=${axis.value === `tag:${each.tag}`} onClick=${set(`tag:${each.tag}`)}
                >
                  ${each.tag}
                <//>`,
              )}
              <div class="menu-title">Scale</div>
              <${Item} checked=${logX.value} onClick=${() => (logX.value = !logX.value)}>Logarithmic x<//>
              <div class="menu-title">Cards</div>
              ${
                /** @type {[number, string][]} */ ([
                  [280, "Small"],
                  [400, "Medium"],
                  [640, "Large"],
                ]).map(
                  ([width, text]) =>
                    html`<${Item}
                      key=${width} checked=${cardWidth.value === width} onClick=${() => (cardWidth.value = width)}
                    >
                      ${text}
                    <//>`,
                )
              }
            </div>`;
          }}
        <//>
      `
    }
    ${
      zoom.value &&
      html`<button type="button" class="chip" onClick=${() => (zoom.value = null)} title="Show the whole axis (esc)">
        <${Icon} name="reset" /> zoom out
      </button>`
    }
  </span>`;
}

/** Chooses among the axes and smoothings for which a report contains curves. */
function Views() {
  const all = views.value;
  const levels = all
    .filter(([x]) => x === axis.value)
    .map(([, level]) => level)
    .sort((a, b) => a - b);
  const axes = [...new Set(all.map(([x]) => x))];
  const turn = (/** @type {string} */ x) => {
    // Another axis may have fewer levels of smoothing.
    if (!all.some(([each, level]) => each === x && level === smooth.value))
      smooth.value = all.find(([each]) => each === x)?.[1] ?? 0;
    axis.value = x;
    zoom.value = null;
  };
  return html`
    ${
      levels.length > 1 &&
      html`<label class="chooser">
        <span>smooth</span>
        <select
          id="smooth" class="button" value=${String(smooth.value)}
          onChange=${(/** @type {any} */ e) => (smooth.value = Number(e.target.value))}
        >
          ${levels.map((level) => html`<option key=${level} value=${String(level)}>${level || "none"}</option>`)}
        </select>
      </label>`
    }
    ${
      axes.length > 1 &&
      html`<label class="chooser">
        <span>x</span>
        <select
          id="axis" class="button" value=${axis.value} onChange=${(/** @type {any} */ e) => turn(e.target.value)}
        >
          ${axes.map((x) => html`<option key=${x} value=${x}>${AXES[x] ?? x}</option>`)}
        </select>
      </label>`
    }
  `;
}
