// One card: the curves of a tag, with zoom, crosshair, exact values and downloads.

import { html, useRef, useState, useLayoutEffect, useSignal, computed, on } from "./ui.js";
import { fetchText, link, ranges, report } from "./api.js";
import { pngOf, svgOf } from "./chart/svg.js";
import { Chart, charts, question } from "./plot.js";
import { press, move, leave, reset, wheel, key } from "./gestures.js";
import { hover, fixed } from "./hover.js";
import { Tooltip } from "./tooltip.js";
import { Menu, Item, IconButton, download, save, copy, say, fileName } from "./menu.js";
import {
  shown,
  shownSet,
  runs,
  version,
  banded,
  baseRun,
  groupOf,
  hot,
  hotGroup,
  scalarTags,
  toggled,
} from "./runs.js";
import { axis, group, zoom, logs, logX, entire, pins, full, dark } from "./state.js";
import { Legend } from "./legend.js";
import { matcher } from "./match.js";
import { DASHES, join, partners, tagsOn } from "./together.js";
import { counted, printable } from "./format.js";

/** @param {{ tag: string, description?: string, big?: boolean }} props */
export function Card({ tag, description = "", big = false }) {
  const frame = useRef(/** @type {HTMLElement | null} */ (null));
  const base = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  const over = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  const chart = useRef(/** @type {Chart | null} */ (null));
  const [, setTurn] = useState(0);
  chart.current ??= new Chart(tag);
  const c = chart.current;

  useLayoutEffect(() => {
    const node = /** @type {HTMLElement} */ (frame.current);
    c.base = base.current;
    c.over = over.current;
    c.tell = () => setTurn((turn) => turn + 1);
    charts.set(big ? `${tag} (full)` : tag, c);
    const measure = () => {
      const box = node.getBoundingClientRect();
      const changed = Math.abs(box.width - c.width) > 0.5 || Math.abs(box.height - c.height) > 0.5;
      c.width = box.width;
      c.height = box.height;
      return changed;
    };
    measure();
    const stops = [
      // Fetch when the question changes and the card is on the screen.
      on([computed(() => question(tag, c.columns())), version], (params) => {
        c.params = params;
        c.stale = true;
        c.askSoon();
        c.drawSoon();
      }),
      // Redraw the same data.
      on([dark, logs, logX, entire, zoom, group, groupOf, runs, shownSet, baseRun], () => c.drawSoon()),
      on([hover, fixed, hot, hotGroup], () => c.drawOver()),
    ];
    const sized = new ResizeObserver(() => {
      if (!measure()) return;
      c.draw();
      if (c.curves && Math.abs(c.curves.width - c.width) > 100) c.ask();
    });
    sized.observe(node);
    // A printed card has another size and more pixels. Draw it at once: printing does not wait for a frame.
    const paper = matchMedia("print");
    const onPaper = () => {
      measure();
      c.draw();
    };
    paper.addEventListener("change", onPaper);
    c.visible = report !== null;
    const seen = new IntersectionObserver(
      ([entry]) => {
        c.visible = entry.isIntersecting || report !== null; // a report may be printed, and fetches nothing
        if (c.visible && c.stale) c.ask();
      },
      { rootMargin: "100px" },
    );
    seen.observe(node);
    return () => {
      for (const stop of stops) stop();
      sized.disconnect();
      seen.disconnect();
      paper.removeEventListener("change", onPaper);
      c.end();
      charts.delete(big ? `${tag} (full)` : tag);
    };
  }, [tag, big, c]);

  const pinned = pins.value.includes(tag);
  const log = logs.value.has(tag);
  const cut = tag.lastIndexOf("/") + 1;
  const empty = c.curves && c.series().every((each) => !each.x.length || each.last.every(Number.isNaN));
  return html`<section
    class=${`card ${big ? "card-big" : ""}`} aria-label=${big ? `${tag}, full screen` : tag}
    data-tag=${big ? undefined : tag}
  >
    <header class="card-head">
      <h3 class="card-title" title=${description || tag}>
        <span class="dim">${printable(tag.slice(0, cut))}</span>
        ${printable(tag.slice(cut))}
        ${tagsOn(tag)
          .slice(1)
          .map((each) => html`<span key=${each} class="dim"> + ${printable(each)}</span>`)}
      </h3>
      <span class="card-tools">
        <button
          type="button" class="text-button" aria-pressed=${log} title="Logarithmic y axis"
          onClick=${() => (logs.value = toggled(logs.value, tag))}
        >
          log
        </button>
        <${IconButton}
          name="pin" label=${pinned ? "Unpin" : "Pin to the top"} pressed=${pinned}
          onClick=${() => (pins.value = pinned ? pins.value.filter((each) => each !== tag) : [...pins.value, tag])}
        />
        <${IconButton}
          name=${big ? "close" : "full"} label=${big ? "Close" : "Full screen"}
          onClick=${() => (full.value = big ? "" : tag)}
        />
        <${TagsMenu} tag=${tag} />
        <${CardMenu} chart=${c} />
      </span>
    </header>
    <div
      class="plot" ref=${frame} tabindex="0" role="group"
      aria-label=${`Chart of ${tag}. Arrow keys move, plus and minus zoom, 0 shows all.`}
      onPointerDown=${(/** @type {PointerEvent} */ e) => press(c, e)}
      onPointerMove=${(/** @type {PointerEvent} */ e) => move(c, e)} onPointerLeave=${() => leave(c)}
      onDblClick=${() => reset(c)} onWheel=${(/** @type {WheelEvent} */ e) => wheel(c, e)}
      onKeyDown=${(/** @type {KeyboardEvent} */ e) => key(c, e)}
    >
      <canvas ref=${base} class="plot-base" role="img" aria-label=${describe(c)}></canvas>
      <canvas ref=${over} class="plot-over" aria-hidden="true"></canvas>
      ${c.loading && html`<div class="plot-note loading" aria-hidden="true"></div>`}
      ${c.error && html`<div class="plot-note" role="status">${c.error}</div>`}
      ${
        !c.error &&
        empty &&
        html`<div class="plot-note">The shown runs have no points${zoom.value ? " in this range" : ""}.</div>`
      }
      <${Tooltip} chart=${c} tag=${tag} big=${big} />
    </div>
    <footer class="card-foot">
      <${Legend} chart=${c} curves=${c.curves} tag=${tag} big=${big} />
      <${RangeSwitch} tag=${tag} left=${c.left} />
    </footer>
  </section>`;
}

/** Says how many curves leave the range, and shows them whole. @param {{ tag: string, left: number }} props */
function RangeSwitch({ tag, left }) {
  const whole = entire.value.has(tag);
  if (!left && !whole) return null;
  const what = tagsOn(tag).length > 1 ? "curve" : banded.value ? "group" : "run";
  return html`<button
    type="button" class="range-switch" aria-pressed=${whole}
    title=${whole ? "Leave outliers out of the range" : "Show the whole range"}
    onClick=${() => (entire.value = toggled(entire.value, tag))}
  >
    ${whole ? "whole range" : `${counted(left, what)} ${left === 1 ? "leaves" : "leave"} the range`}
  </button>`;
}

/** Describes the picture for screen readers. @param {Chart} c */
function describe(c) {
  if (!c.curves) return `${c.tag}: loading`;
  const n = c.curves.series.length;
  const curves = counted(n, banded.peek() ? "group" : "run");
  return `${tagsOn(c.tag).join(", ")}: ${curves}, ${counted(c.curves.points, "point")}`;
}

/** Puts other tags on the chart. @param {{ tag: string }} props */
function TagsMenu({ tag }) {
  const typed = useSignal("");
  const now = tagsOn(tag);
  const { test } = matcher(typed.value);
  const names = scalarTags.value.map((each) => each.tag).filter((each) => each !== tag && test(each));
  // Chosen tags come first, then tags that people often compare with this one.
  const first = [...now.slice(1), ...partners(tag, scalarTags.value)].filter((each) => names.includes(each));
  const item = (/** @type {string} */ each) => html`<${Item}
    key=${each} checked=${now.includes(each)} onClick=${() => join(tag, each)}
    disabled=${!now.includes(each) && now.length >= DASHES.length}
  >
    ${each}
  <//>`;
  return html`<${Menu} icon="plus" title=${`Tags on the chart of ${tag}`} align="right">
    <div class="menu-list">
      <input
        class="menu-search" aria-label="Find a tag" placeholder="Add a tag to this chart" value=${typed.value}
        onInput=${(/** @type {any} */ e) => (typed.value = e.target.value)}
      />
      ${[...new Set([...first, ...names])].slice(0, 40).map(item)}
      ${!names.length && html`<p class="dim menu-title">No other tag matches.</p>`}
    </div>
  <//>`;
}

/** @param {{ chart: Chart }} props */
function CardMenu({ chart: c }) {
  const picture = (/** @type {string} */ type) => async () => {
    const drawn = c.picture();
    if (!drawn) return;
    const name = fileName(c.tag);
    const title = tags.join(" + ");
    const label = (/** @type {import("./types.js").Series} */ series) => c.label(series, true);
    if (type === "svg") download(svgOf(drawn, title, label), `${name}.svg`, "image/svg+xml");
    else download(await pngOf(drawn, title, label), `${name}.png`);
  };
  const { tag } = c;
  const tags = tagsOn(tag);
  const csv = () => {
    for (const each of tags)
      save(link("points", { tag: each, runs: ranges(shown.value), format: "csv" }), `${fileName(each)}.csv`);
  };
  const command = async () => {
    const { runs: ids, smooth: s, log, group: g, band: b, low, high, x } = question(tag, 600);
    try {
      await copy(
        await fetchText("command", {
          tag,
          runs: ids,
          smooth: s,
          log,
          group: g,
          band: b,
          low,
          high,
          x,
          entire: entire.value.has(tag),
        }),
        "the command",
      );
    } catch (error) {
      say(/** @type {Error} */ (error).message);
    }
  };
  return html`<${Menu} icon="more" title=${`More for ${tag}`} align="right">
    ${(/** @type {() => void} */ close) => {
      const then = (/** @type {() => any} */ job) => () => {
        close();
        job();
      };
      return html`
        <${Item} onClick=${then(picture("png"))}>Download PNG<//>
        <${Item} onClick=${then(picture("svg"))}>Download SVG<//>
        ${report === null && html`<${Item} onClick=${then(csv)} hint="all points">Download CSV<//>`}
        ${
          report === null &&
          html`<${Item} onClick=${then(command)} hint=${tags.length > 1 ? tag : ""}>Copy the tbq plot command<//>`
        }
        <hr />
        <${Item} onClick=${then(() => reset(c))} disabled=${!zoom.value && !c.yZoom}>Reset zoom<//>
        <${Item} onClick=${then(() => (axis.value = axis.value === `tag:${tag}` ? "step" : `tag:${tag}`))}>
          Use as the x axis
        <//>
      `;
    }}
  <//>`;
}
