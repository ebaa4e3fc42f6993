// The page follows the log: the server says that something changed, the page asks for what it shows.

import { batch, signal } from "./ui.js";
import { fetchJson, report } from "./api.js";
import { server, runs, tags, loaded, version } from "./runs.js";

/** "": all is well; otherwise what is wrong with the connection. */
export const trouble = signal("");
let busy = false;
let again = false;
let settled = -Infinity;

/** Ask for the runs and tags, and let everything that depends on them ask for its own. */
export async function refresh() {
  if (busy) {
    again = true;
    return;
  }
  busy = true;
  try {
    const [state, list, names] = await Promise.all([fetchJson("state"), fetchJson("runs"), fetchJson("tags")]);
    batch(() => {
      server.value = state;
      if (JSON.stringify(list.runs) !== JSON.stringify(runs.peek())) runs.value = list.runs;
      if (JSON.stringify(names.tags) !== JSON.stringify(tags.peek())) tags.value = names.tags;
      // While the server still reads the log, everything that is drawn is drawn again now and then, not each time.
      const now = performance.now();
      if (state.loaded !== false || now - settled > 1500) {
        settled = now;
        version.value = state.version;
      }
      loaded.value = true;
      trouble.value = "";
    });
    document.title = state.title ? `${state.title} · tbq` : "tbq";
  } catch (error) {
    trouble.value = /** @type {Error} */ (error).message;
  }
  busy = false;
  if (again) {
    again = false;
    setTimeout(refresh, 300);
  }
}

/** Follow the log for as long as the page is open. */
export function follow() {
  refresh();
  if (report !== null) return;
  let timer = 0;
  const soon = () => {
    // At most four times a second, and not at all while nobody looks.
    if (timer || document.hidden) return;
    timer = window.setTimeout(() => ((timer = 0), refresh()), 200);
  };
  const source = new EventSource("api/events");
  source.addEventListener("changed", soon);
  source.addEventListener("open", () => {
    if (trouble.value) soon();
    trouble.value = "";
  });
  source.addEventListener("error", () => (trouble.value = "The server does not answer. The page tries again by itself."));
  document.addEventListener("visibilitychange", () => document.hidden || soon());
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
