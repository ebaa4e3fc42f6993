// All data comes through here: from the server's API, or from the blocks embedded in a report.

import { decode } from "./frame.js";

/** An error that the server reports, with its message and hint. */
export class ApiError extends Error {
  /** @param {string} message @param {string} hint @param {number} status */
  constructor(message, hint = "", status = 0) {
    super(message);
    this.hint = hint;
    this.status = status;
  }
}

/** @typedef {Record<string, string | number | bigint | boolean | null | undefined>} Params */
/** @typedef {import("./frame.js").Frame} Frame */

/** The title of the report that this file is; null on a page with a server, and outside of a browser. */
export const report = globalThis.document?.documentElement.dataset.report ?? null;

/**
 * The address of a question; parameters are sorted and empty ones left out, so that equal questions have equal
 * addresses. @param {string} path @param {Params} params
 */
export function address(path, params = {}) {
  const parts = [];
  for (const name of Object.keys(params).sort()) {
    const value = params[name];
    if (value === undefined || value === null || value === "" || value === false) continue;
    parts.push(`${name}=${encodeURIComponent(value === true ? "1" : String(value))}`);
  }
  return `api/${path}${parts.length ? `?${parts.join("&")}` : ""}`;
}

/** @type {Map<string, HTMLScriptElement> | null} */
let blocks = null;

/** The embedded block of a report that answers a question.
 * @param {string} url */
function embedded(url) {
  if (report === null) return undefined;
  blocks ??= new Map(
    [...document.querySelectorAll("script[data-url]")].map((each) => [
      each.getAttribute("data-url") ?? "",
      /** @type {HTMLScriptElement} */ (each),
    ]),
  );
  return blocks.get(url);
}

/** @param {string} url @param {RequestInit} options */
async function ask(url, options) {
  if (report !== null) throw new ApiError("This report does not contain that.", "Open the log with tbq serve.", 404);
  let answer;
  try {
    answer = await fetch(url, { ...options, credentials: "same-origin" });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError("The server does not answer.", "The screen shows the last data that it sent.");
  }
  if (!answer.ok) {
    let problem = { error: `The server answered ${answer.status}.`, hint: "" };
    try {
      problem = { ...problem, ...(await answer.json()) };
    } catch {
      // Not JSON, such as a proxy's page: only the status is known.
    }
    throw new ApiError(String(problem.error), String(problem.hint ?? ""), answer.status);
  }
  return answer;
}

/** @param {string} url from address() @param {RequestInit} options @returns {Promise<any>} */
export async function jsonAt(url, options = {}) {
  const block = embedded(url);
  if (block) return JSON.parse(block.textContent ?? "null");
  return (await ask(url, options)).json();
}

/** @param {string} path @param {Params} params @param {RequestInit} options @returns {Promise<any>} */
export const fetchJson = (path, params = {}, options = {}) => jsonAt(address(path, params), options);

/** @param {string} path @param {Params} params @returns {Promise<string>} */
export async function fetchText(path, params = {}) {
  return (await ask(address(path, params), {})).text();
}

/** @param {string} url from address() @param {RequestInit} options @returns {Promise<Frame>} */
export async function frameAt(url, options = {}) {
  const block = embedded(url);
  if (block) return decode(await unpacked(block));
  return decode(await (await ask(url, options)).arrayBuffer());
}

/** @param {string} path @param {Params} params @param {RequestInit} options @returns {Promise<Frame>} */
export const fetchFrame = (path, params = {}, options = {}) => frameAt(address(path, params), options);

/** The bytes of a block: base64, and gzip if data-gzip is 1.
 * @param {HTMLScriptElement} block */
async function unpacked(block) {
  const bytes = Uint8Array.from(atob((block.textContent ?? "").trim()), (letter) => letter.charCodeAt(0));
  if (block.dataset.gzip !== "1") return bytes.buffer;
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

/** @param {string} path @param {unknown} body @param {RequestInit} options */
export async function post(path, body, options = {}) {
  const headers = { "Content-Type": "application/json" };
  return ask(address(path), { ...options, method: "POST", headers, body: JSON.stringify(body) });
}

/** An address for `src` and `href`: an embedded block as a data: URL, or the server's.
 * @param {string} path @param {Params} params */
export function link(path, params = {}) {
  const url = address(path, params);
  const block = embedded(url);
  return block ? `data:${block.dataset.type ?? "image/png"};base64,${(block.textContent ?? "").trim()}` : url;
}

/** Ids in few characters: 0-99,101. No id at all is "-", because an empty text means every run.
 * @param {number[]} ids ascending */
export function ranges(ids) {
  if (!ids.length) return "-";
  const parts = [];
  for (let i = 0; i < ids.length; ) {
    let j = i;
    while (j + 1 < ids.length && ids[j + 1] === ids[j] + 1) j++;
    parts.push(j > i ? `${ids[i]}-${ids[j]}` : `${ids[i]}`);
    i = j + 1;
  }
  return parts.join(",");
}
