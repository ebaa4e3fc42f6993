// The page follows the log: the server says that something changed, the page asks for what it shows.

import { batch, signal } from "./ui.js";
import { fetchJson, report } from "./api.js";
import { server, runs, tags, loaded, version } from "./runs.js";

/** "": all is well; otherwise what is wrong with the connection. */
export const trouble = signal("");
let busy = false;
let newest = { instance: "", version: -1, left: 0 }; // as the server last said
let before = 0; // versions that the page has seen of other servers
let asked = -Infinity; // when the page last asked
let timer = 0;
let due = Infinity;

const PAUSE = 250; // milliseconds between two looks
const WHILE_READING = 1500; // and while the server reads the log: what is asked for meanwhile delays that

/** Ask for the runs and tags, and let everything that depends on them ask for its own. */
export async function refresh() {
  if (busy) return;
  busy = true;
  asked = performance.now();
  try {
    const [state, list, names] = await Promise.all([fetchJson("state"), fetchJson("runs"), fetchJson("tags")]);
    const old = server.peek();
    // Another server counts from the beginning, and its version may be the same number.
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

/** Ask again if the server has something newer, or is another one. */
function check() {
  const known = server.peek();
  if (!busy && newest.version >= 0 && (newest.instance !== known?.instance || newest.version > known.version))
    soon(newest.left);
}

/**
 * Ask again: at once, unless the page just did; not at all while nobody looks.
 * @param {number} left bytes that the server has yet to read
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
    // It may be another server, which counts from the beginning.
    if (trouble.value) soon(0);
    trouble.value = "";
  });
  source.addEventListener(
    "error",
    () => (trouble.value = "The server does not answer. The page tries again by itself."),
  );
  document.addEventListener("visibilitychange", () => document.hidden || soon(0));
}

// Questions of cards wait their turn, so that visible cards are answered first and a browser's six connections suffice.
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
