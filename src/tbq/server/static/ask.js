// Fetches data for a component when it first appears, and again when the log changes.

import { useEffect, useState, useRef } from "./ui.js";
import { address, jsonAt, frameAt } from "./api.js";
import { version } from "./runs.js";

/** @template T @typedef {{ data: T | null, error: string, loading: boolean }} Asked */

/**
 * The answer to a question; the old answer stays until the new one arrives. @param {string} path
 * @param {import("./api.js").Params | null} params null: nothing is asked
 * @param {{ frame?: boolean, live?: boolean }} options @returns {Asked<any>}
 */
export function useAsk(path, params, { frame = false, live = false } = {}) {
  const [state, setState] = useState(/** @type {Asked<any>} */ ({ data: null, error: "", loading: true }));
  const url = params ? address(path, params) : "";
  const now = live ? version.value : 0;
  const before = useRef("");
  useEffect(() => {
    if (!url) return undefined;
    const abort = new AbortController();
    if (before.current !== url) setState((old) => ({ ...old, loading: true }));
    before.current = url;
    const asked = (frame ? frameAt : jsonAt)(url, { signal: abort.signal });
    asked.then(
      (data) => abort.signal.aborted || setState({ data, error: "", loading: false }),
      (error) => abort.signal.aborted || setState((old) => ({ data: old.data, error: error.message, loading: false })),
    );
    return () => abort.abort();
  }, [url, now, frame]);
  return state;
}
