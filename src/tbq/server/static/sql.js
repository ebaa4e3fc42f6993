// SQL on the log: an editor, the list of tables, the result as a table and a chart, and earlier queries.

import { html, signal, useEffect, useRef, useState } from "./ui.js";
import { post } from "./api.js";
import { decode } from "./frame.js";
import { useAsk } from "./ask.js";
import { query, kept, dark } from "./state.js";
import { emptied } from "./chart/canvas.js";
import { scale, ticks, toPixels } from "./chart/scale.js";
import { colourOf, higherIsBetter, hparams, legendLabels, mainTag, runs } from "./runs.js";
import { labels } from "./labels.js";
import { usual } from "./axes.js";
import { Empty, download, copy, say } from "./menu.js";
import { cell, count, counted, number, onPoint } from "./format.js";

/**
 * @type {import("./types.js").Signal<{ query: string, names: string[], types: string[], columns: any[], rows: number,
 * more: boolean, warnings: string[], seconds: number } | null>}
 */
const result = signal(null);
const error = signal("");
const busy = signal(false);
const history = kept("queries", /** @type {string[]} */ ([]));
/** @type {AbortController | null} */
let abort = null;

const MOST = 10_000; // rows of a result

/** @param {string} chosen a query; without it, that of the editor */
async function execute(chosen = "") {
  abort?.abort();
  abort = new AbortController();
  const controller = abort;
  if (chosen) query.value = chosen;
  const text = query.value.trim();
  if (!text) return;
  busy.value = true;
  error.value = "";
  try {
    const answer = await post("sql", { query: text, limit: MOST }, { signal: controller.signal });
    const { header, columns } = decode(await answer.arrayBuffer());
    result.value = {
      ...header,
      query: text,
      columns: header.names.map((/** @type {string} */ _, /** @type {number} */ i) => columns[String(i)]),
    };
    history.value = [text, ...history.value.filter((each) => each !== text)].slice(0, 30);
  } catch (wrong) {
    if (controller.signal.aborted) return;
    const failure = /** @type {any} */ (wrong);
    result.value = null;
    error.value = failure.hint ? `${failure.message}\n${failure.hint}` : failure.message;
  } finally {
    if (controller === abort) busy.value = false;
  }
}

function stop() {
  abort?.abort();
  busy.value = false;
}

/** Queries on this log: about its main tag. @returns {[string, string][]} */
function examples() {
  const tag = mainTag.value;
  const name = tag.replaceAll('"', '""');
  const way = higherIsBetter(tag) ? "max" : "min";
  const order = way === "max" ? "desc" : "asc";
  const params = hparams.value.filter((each) => each.differ).slice(0, 3);
  const columns = params.map((each) => `, "hparam.${each.name.replaceAll('"', '""')}"`).join("");
  const ofTag = [
    ["Best runs", `select run, "${name}.${way}"${columns}\nfrom summary order by 2 ${order} nulls last limit 10`],
    [
      "Points of a tag",
      `select run, step, value\nfrom scalars where tag = '${tag.replaceAll("'", "''")}' order by run, step`,
    ],
  ];
  return /** @type {[string, string][]} */ ([
    ...(tag ? ofTag : []),
    ["Runs", "select * from runs"],
    [
      "Rows per tag",
      "select tag, count(*) as rows, count(distinct run) as runs\nfrom scalars group by tag order by rows desc",
    ],
  ]);
}

export function Sql() {
  const schema = useAsk("schema", {});
  const area = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const insert = (/** @type {string} */ text) => {
    const node = area.current;
    if (!node) return;
    const at = node.selectionStart ?? query.value.length;
    query.value = query.value.slice(0, at) + text + query.value.slice(node.selectionEnd ?? at);
    requestAnimationFrame(() => {
      node.focus();
      node.setSelectionRange(at + text.length, at + text.length);
    });
  };
  useEffect(() => {
    // A link with a query shows the result at once.
    if (!result.value && location.hash.includes("query=")) execute();
  }, []);
  const key = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      execute();
    }
  };
  return html`<div class="sql">
    <div class="sql-main">
      <textarea
        id="query" ref=${area} rows="7" spellcheck="false" aria-label="Query" value=${query.value}
        onInput=${(/** @type {any} */ e) => (query.value = e.target.value)} onKeyDown=${key}
      ></textarea>
      <div class="sql-tools">
        ${
          busy.value
            ? html`<button type="button" class="button" onClick=${stop}>Stop</button>`
            : html`<button type="button" class="button primary" id="execute" onClick=${() => execute()}>
              Run <span class="key">ctrl ⏎</span>
            </button>`
        }
        ${examples().map(
          ([name, text]) =>
            html`<button type="button" key=${name} class="chip" onClick=${() => execute(text)}>${name}</button>`,
        )}
        <span class="spring"></span>
        ${
          result.value &&
          html`
            <span class="dim" id="rows">
              ${counted(result.value.rows, "row")}
              ${result.value.more ? " (result cut)" : ""} · ${number(result.value.seconds, 2)} s
            </span>
            <button type="button" class="chip" onClick=${saveCsv}>CSV</button>
          `
        }
        <button type="button" class="chip" onClick=${() => copy(location.href, "the link to this query")}>
          link
        </button>
      </div>
      ${error.value && html`<pre class="sql-error" role="alert">${error.value}</pre>`}
      ${result.value?.warnings?.map((text) => html`<p class="dim" key=${text}>${text}</p>`)}
      ${
        result.value
          ? html`<${Chart} /><${Result} />`
          : !error.value && html`<${Empty} title="Ask the log">Queries can only read. Ctrl+Enter runs the query.<//>`
      }
    </div>
    <aside class="sql-side" aria-label="Tables">
      <h2>Tables</h2>
      ${schema.error && html`<p class="failed">${schema.error}</p>`}
      ${schema.data?.tables.map(
        (
          /** @type {any} */ table,
        ) => html`<details key=${table.name} open=${table.name === "scalars" || table.name === "runs"}>
          <summary class=${table.empty ? "dim" : ""}>${table.name}${table.empty ? " (empty)" : ""}</summary>
          <ul>
            ${table.columns.slice(0, 200).map(
              (/** @type {[string, string]} */ [name, type]) => html`<li key=${name}>
                <button
                  type="button"
                  onClick=${() => insert(/^\w+$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`)}
                  title="Insert"
                >
                  ${name}
                </button>
                <span class="dim">${type}</span>
              </li>`,
            )}
          </ul>
        </details>`,
      )}
      ${
        history.value.length > 0 &&
        html`
          <h2>History</h2>
          <ul class="history">
            ${history.value.map(
              (text) => html`<li key=${text}>
                <button type="button" title=${text} onClick=${() => execute(text)}>${text}</button>
              </li>`,
            )}
          </ul>
        `
      }
    </aside>
  </div>`;
}

/** @param {number} i @param {number} row */
const at = (i, row) => result.value?.columns[i]?.[row];

/** @param {any} value */
const shownAs = (value) =>
  typeof value === "number" && Number.isInteger(value) && Math.abs(value) < 1e15 ? count(value) : cell(value);

const ROW = 26;
function Result() {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const [top, setTop] = useState(0);
  const answered = result.value;
  if (!answered) return null;
  const begin = Math.max(0, Math.floor(top / ROW) - 5);
  const end = Math.min(answered.rows, begin + 40);
  const numeric = answered.columns.map((column) => !Array.isArray(column));
  // Numbers align on the decimal point of the rows near the visible ones.
  const align = answered.columns.map((column, i) =>
    numeric[i]
      ? onPoint(Array.from(column.slice(Math.max(0, begin - 40), end + 40), shownAs))
      : (/** @type {string} */ text) => text,
  );
  return html`<div
    class="result scroll" tabindex="0" ref=${box} onScroll=${(/** @type {any} */ e) => setTop(e.target.scrollTop)}
  >
    <table class="plain-table" aria-rowcount=${answered.rows + 1}>
      <thead>
        <tr>
          ${answered.names.map(
            (name, i) =>
              html`<th scope="col" key=${i} class=${numeric[i] ? "num" : ""} title=${answered.types[i]}>${name}</th>`,
          )}
        </tr>
      </thead>
      <tbody>
        ${begin > 0 && html`<tr aria-hidden="true" style=${{ height: `${begin * ROW}px` }}></tr>`}
        ${Array.from(
          { length: end - begin },
          (_, k) =>
            html`<tr key=${begin + k}>
              ${answered.names.map((_name, i) => {
                const value = at(i, begin + k);
                return html`<td
                  key=${i} class=${numeric[i] ? "num" : ""}
                  title=${typeof value === "number" ? String(value) : undefined}
                >
                  ${value === null ? html`<span class="dim">null</span>` : align[i](shownAs(value))}
                </td>`;
              })}
            </tr>`,
        )}
        ${
          end < answered.rows &&
          html`<tr aria-hidden="true" style=${{ height: `${(answered.rows - end) * ROW}px` }}></tr>`
        }
      </tbody>
    </table>
  </div>`;
}

const BARS = 40; // bars of a chart
const BAR = 20; // pixels

/** Draws bars if the first column has another text in each row; otherwise the last numeric column over the one before
 * it, or over the row. */
function Chart() {
  const canvas = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  const answered = result.value;
  const numbers = answered
    ? answered.columns.map((column, i) => (Array.isArray(column) ? -1 : i)).filter((i) => i >= 0)
    : [];
  const words = answered?.columns.findIndex((column) => Array.isArray(column)) ?? -1;
  const bars = answered !== null && words >= 0 && new Set(answered.columns[words]).size === answered.rows;
  const x = bars || numbers.length < 2 ? -1 : numbers[numbers.length - 2];
  const y = (bars ? numbers[0] : numbers.at(-1)) ?? -1;
  const fits = answered && y >= 0 && answered.rows > 1;
  const [whole, setWhole] = useState(false);
  const [outside, setOutside] = useState(false);
  useEffect(() => {
    setOutside(false);
    const node = canvas.current;
    if (!node || !answered || !fits) return;
    if (bars) {
      drawBars(node, answered.columns[words], answered.columns[y]);
      return;
    }
    const { context, width, height, ink } = emptied(node);
    const ys = answered.columns[y];
    const xs =
      x >= 0 ? answered.columns[x] : Float64Array.from(ys, (/** @type {number} */ _, /** @type {number} */ i) => i);
    const ends = (/** @type {any} */ list) =>
      list.reduce(
        (/** @type {number[]} */ [a, b], /** @type {number} */ v) =>
          Number.isFinite(v) ? [Math.min(a, v), Math.max(b, v)] : [a, b],
        [Infinity, -Infinity],
      );
    const [lx, hx] = ends(xs);
    const [least, most] = ends(ys);
    const [ly, hy] = whole ? [least, most] : usual(Float64Array.from(ys).filter(Number.isFinite).sort(), 10);
    if (!(lx <= hx && ly <= hy)) return;
    const sx = scale(lx, hx, false, 56, width - 12);
    const sy = scale(ly, hy, false, height - 22, 8);
    const [toX, toY] = [toPixels(sx), toPixels(sy)];
    setOutside(ly > least || hy < most);
    context.fillStyle = ink.text;
    context.strokeStyle = ink.grid;
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (const { at: v, label } of ticks(sy, 4, "value")) {
      context.beginPath();
      context.moveTo(56, toY(v));
      context.lineTo(width - 12, toY(v));
      context.stroke();
      context.fillText(label, 48, toY(v));
    }
    context.textAlign = "center";
    for (const { at: v, label } of ticks(sx, 8, "step")) context.fillText(label, toX(v), height - 8);
    context.beginPath();
    context.rect(56, 4, width - 60, height - 24);
    context.clip();
    const accent = getComputedStyle(node).getPropertyValue("--accent");
    let falls = 0;
    for (let i = 1; i < xs.length; i++) if (xs[i] < xs[i - 1]) falls++;
    if (falls > xs.length / 8) {
      // The rows are not in order of x: draw points, because lines between them would mean nothing.
      context.fillStyle = accent;
      context.globalAlpha = 0.7;
      for (let i = 0; i < ys.length; i++) {
        context.beginPath();
        context.arc(toX(xs[i]), toY(ys[i]), 3, 0, 7);
        context.fill();
      }
      return;
    }
    // One line per stretch of growing x: in an ordered result, the runs follow each other, each in its colour.
    const ids = new Map(runs.peek().map((run) => [run.name, run.id]));
    const of = words >= 0 ? answered.columns[words] : [];
    context.lineWidth = 1.4;
    for (let begin = 0, i = 1; i <= ys.length; i++) {
      if (i < ys.length && xs[i] >= xs[i - 1] && of[i] === of[i - 1]) continue;
      const id = ids.get(of[begin]);
      context.strokeStyle = id === undefined ? accent : colourOf(id);
      context.beginPath();
      for (let k = begin; k < i; k++) if (Number.isFinite(ys[k])) context.lineTo(toX(xs[k]), toY(ys[k]));
      context.stroke();
      begin = i;
    }
  }, [answered, fits, bars, words, x, y, dark.value, whole]);
  if (!fits || !answered) return null;
  const over = bars ? answered.names[words] : x >= 0 ? answered.names[x] : "row";
  const height = bars ? `${Math.min(answered.rows, BARS) * BAR + 8}px` : undefined;
  return html`<details class="sql-chart" open>
    <summary>
      ${answered.names[y]} ${bars ? "by" : "over"} ${over}
      ${bars && answered.rows > BARS && html`<span class="dim"> (the first ${BARS} rows)</span>`}
    </summary>
    <canvas ref=${canvas} style=${{ height }} role="img" aria-label=${`Chart of ${answered.names[y]}`}></canvas>
    ${
      !bars &&
      (outside || whole) &&
      html`<button type="button" class="range-switch" aria-pressed=${whole} onClick=${() => setWhole(!whole)}>
        ${whole ? "whole range" : "some values leave the range"}
      </button>`
    }
  </details>`;
}

/** A bar for each row, with its text and its value. @param {HTMLCanvasElement} node @param {any[]} names
 * @param {ArrayLike<number>} all */
function drawBars(node, names, all) {
  const { context, width, ink } = emptied(node);
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "middle";
  const accent = getComputedStyle(node).getPropertyValue("--accent");
  const shown = names.slice(0, BARS).map((name) => String(name ?? "null"));
  const ofRuns = shown.every((name) => legendLabels.value.has(name));
  const short = ofRuns
    ? shown.map((name) => legendLabels.value.get(name) ?? name)
    : labels(shown, Math.max(8, Math.floor(width / 20)));
  const texts = Array.from({ length: shown.length }, (_, i) => number(all[i], 4));
  const left = Math.ceil(Math.max(...short.map((text) => context.measureText(text).width))) + 12;
  const right = width - Math.ceil(Math.max(...texts.map((text) => context.measureText(text).width))) - 12;
  const finite = Array.from({ length: shown.length }, (_, i) => all[i]).filter(Number.isFinite);
  const s = scale(Math.min(0, ...finite), Math.max(0, ...finite), false, left, Math.max(right, left + 20));
  const toX = toPixels(s);
  const ids = new Map(runs.peek().map((run) => [run.name, run.id]));
  for (let i = 0; i < shown.length; i++) {
    const y = i * BAR + BAR / 2 + 4;
    context.fillStyle = ink.strong;
    context.textAlign = "right";
    context.fillText(short[i], left - 8, y);
    context.textAlign = "left";
    const value = all[i];
    const [from, to] = Number.isFinite(value) ? [toX(Math.min(0, value)), toX(Math.max(0, value))] : [toX(0), toX(0)];
    const id = ids.get(shown[i]);
    context.fillStyle = id === undefined ? accent : colourOf(id);
    context.fillRect(from, y - 6, Math.max(to - from, 1), 12);
    context.fillStyle = ink.text;
    context.fillText(texts[i], to + 6, y);
  }
}

async function saveCsv() {
  if (!result.value) return;
  try {
    const answer = await post("sql", { query: result.value.query, limit: MOST, format: "csv" });
    download(await answer.blob(), "query.csv");
  } catch (wrong) {
    say(/** @type {Error} */ (wrong).message);
  }
}
