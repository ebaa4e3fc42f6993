// Follows the log: the server announces changes, and the page fetches what it shows.

import { batch, signal } from "./ui.js";
import { fetchJson, report } from "./api.js";
import { server, runs, tags, loaded, version } from "./runs.js";

/** What is wrong with the connection; empty if it works. */
export const trouble = signal("");
let busy = false;
let newest = { instance: "", version: -1, left: 0 }; // the last event of the server
let before = 0; // sum of the versions of earlier servers
let asked = -Infinity; // when the page last asked
let timer = 0;
let due = Infinity;

const PAUSE = 250; // milliseconds between two refreshes
const WHILE_READING = 1500; // and while the server reads the log, which requests would slow down

/** Fetch the runs and tags. Whatever depends on them then fetches its own data. */
export async function refresh() {
  if (busy) return;
  busy = true;
  asked = performance.now();
  try {
    const [state, list, names] = await Promise.all([fetchJson("state"), fetchJson("runs"), fetchJson("tags")]);
    const old = server.peek();
    // A restarted server counts versions from the beginning, so equal versions may mean different data.
    if (old && old.instance !== state.instance) before = version.peek() + 1000;
    batch(() => {
      server.value = state;
      if (JSON.stringify(list.runs) !== JSON.stringify(runs.peek())) runs.value = list.runs;
      if (JSON.stringify(names.tags) !== JSON.stringify(tags.peek())) tags.value = names.tags;
      version.value = before + state.version;
      loaded.value = true;
      trouble.value = "";
    });
    document.title = state.title ? `${state.title} · tbq` : "tbq";
  } catch (error) {
    trouble.value = /** @type {Error} */ (error).message;
  }
  busy = false;
  if (!trouble.peek()) check();
}

/** Refresh if the server has newer data, or was restarted. */
function check() {
  const known = server.peek();
  if (!busy && newest.version >= 0 && (newest.instance !== known?.instance || newest.version > known.version))
    soon(newest.left);
}

/**
 * Refresh now, or PAUSE after the last refresh; not at all while the page is hidden.
 * @param {number} left bytes that the server has not read yet
 */
function soon(left) {
  if (document.hidden) return;
  const at = Math.max(asked + (left ? WHILE_READING : PAUSE), performance.now());
  if (timer && due <= at) return;
  clearTimeout(timer);
  due = at;
  timer = window.setTimeout(() => {
    timer = 0;
    refresh();
  }, at - performance.now());
}

/** Follow the log for as long as the page is open. */
export function follow() {
  refresh();
  if (report !== null) return;
  const source = new EventSource("api/events");
  source.addEventListener("changed", (event) => {
    newest = JSON.parse(event.data);
    check();
  });
  source.addEventListener("open", () => {
    // The server may have restarted, and then counts versions from the beginning.
    if (trouble.value) soon(0);
    trouble.value = "";
  });
  source.addEventListener("error", () => (trouble.value = "The server does not answer. The page keeps trying."));
  document.addEventListener("visibilitychange", () => document.hidden || soon(0));
}

// Requests of cards queue here, so that visible cards come first and use at most four of a browser's six connections.
/** @type {{ run: () => Promise<void>, signal: AbortSignal }[]} */
const queue = [];
let running = 0;
const MOST = 4;

/** @template T @param {() => Promise<T>} job @param {AbortSignal} signal @returns {Promise<T>} */
export function inTurn(job, signal) {
  return new Promise((resolve, reject) => {
    queue.push({ signal, run: () => job().then(resolve, reject) });
    next();
  });
}

function next() {
  while (running < MOST && queue.length) {
    const each = queue.shift();
    if (!each || each.signal.aborted) continue;
    running++;
    each.run().finally(() => {
      running--;
      next();
    });
  }
}
