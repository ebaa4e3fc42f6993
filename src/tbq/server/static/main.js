// The page: its parts, and what starts them.

import { html, render } from "./ui.js";
import { linkAddress, linkTheme, paneWidth, tab, wide, clamp } from "./state.js";
import { follow, trouble } from "./live.js";
import { linkKeys } from "./keys.js";
import { isReport, loaded } from "./runs.js";
import { Bar } from "./bar.js";
import { Pane } from "./pane.js";
import { Curves } from "./curves.js";
import { Media } from "./media/media.js";
import { Hparams } from "./hparams.js";
import { Sql } from "./sql.js";
import { Health } from "./health.js";
import { Report, openReport } from "./report.js";
import { Help } from "./help.js";
import { notice } from "./menu.js";
import { charts } from "./plot.js";
import * as runsModule from "./runs.js";
import * as state from "./state.js";

const VIEWS = /** @type {Record<string, any>} */ ({
  curves: Curves,
  media: Media,
  hparams: Hparams,
  sql: Sql,
  health: Health,
});

function Divider() {
  const press = (/** @type {PointerEvent} */ event) => {
    const node = /** @type {HTMLElement} */ (event.currentTarget);
    node.setPointerCapture(event.pointerId);
    const drag = (/** @type {PointerEvent} */ e) => (paneWidth.value = clamp(e.clientX, 220, innerWidth - 320));
    const end = () => {
      node.removeEventListener("pointermove", drag);
      node.removeEventListener("pointerup", end);
    };
    node.addEventListener("pointermove", drag);
    node.addEventListener("pointerup", end);
  };
  const key = (/** @type {KeyboardEvent} */ event) => {
    const by = event.key === "ArrowLeft" ? -24 : event.key === "ArrowRight" ? 24 : 0;
    if (by) event.preventDefault();
    paneWidth.value = clamp(paneWidth.value + by, 220, innerWidth - 320);
  };
  return html`<div
    class="divider" role="separator" aria-orientation="vertical" aria-label="Width of the table"
    aria-valuenow=${paneWidth.value} aria-valuemin="220" aria-valuemax="1200" tabindex="0" onPointerDown=${press}
    onKeyDown=${key} onDblClick=${() => (paneWidth.value = 432)}
  ></div>`;
}

function App() {
  const View = Object.hasOwn(VIEWS, tab.value) ? VIEWS[tab.value] : Curves;
  return html`
    <${Bar} />
    ${trouble.value && loaded.value && html`<div key="banner" class="banner" role="alert">${trouble.value}</div>`}
    ${
      isReport
        ? html`<${Report} />`
        : html`<div
          key="body" class=${`body ${wide.value ? "is-wide" : ""}`}
          style=${{ "--pane-width": `${paneWidth.value}px` }}
        >
          <${Pane}>${!wide.value && html`<${Divider} />`}<//>
          ${
            !wide.value &&
            html`<main class=${`view view-${tab.value}`} tabindex="-1">
              <div id="view" role="tabpanel" aria-labelledby=${`tab-${tab.value}`}><${View} /></div>
            </main>`
          }
        </div>`
    }
    <${Help} />
    <div class="notice" role="status">${notice.value}</div>
  `;
}

linkTheme();
linkAddress();
linkKeys();
const root = /** @type {HTMLElement} */ (document.getElementById("app"));
root.textContent = "";
render(html`<${App} />`, root);
follow();
if (isReport) openReport();

// Only tests and benchmarks see the modules: they set this flag before the page loads.
if ("tbqUnderTest" in window) Object.defineProperty(window, "tbq", { value: { charts, runs: runsModule, state } });
