// The user's choices. Each is a signal, and the address holds most of them, so that a link shows the same view.

import { signal, on, batch } from "./ui.js";
import { stepOf } from "./steps.js";

export const tab = signal("curves");
export const filter = signal(""); // of runs
export const group = signal(""); // hparam.x, re:(…), or nothing
export const band = signal("std"); // a key of BANDS
export const search = signal(""); // of tags
export const axis = signal("step"); // step, relative, wall, tag:NAME
export const smooth = signal(0);
const usualSmooth = signal(0); // if the address has none: 0, or the smoothing of the report
let smoothGiven = false; // the first address had a smoothing
/**
 * The pairs of axis and smoothing for which a report contains curves.
 * @type {import("./types.js").Signal<[string, number][]>}
 */
export const views = signal([]);
/** @type {import("./types.js").Signal<[number, number] | null>} */
export const zoom = signal(null); // of x, for all cards
export const UNSORTED = "-started"; // as long as the user sorts by nothing
export const sort = signal(UNSORTED); // a column's key; a leading - is descending
export const top = signal(""); // 10 val/loss:min
/** @type {import("./types.js").Signal<string[] | null>} */
export const columns = signal(null); // of the runs table; null: the default for this log
/** @type {import("./types.js").Signal<Set<string>>} */
export const hidden = signal(new Set()); // names of runs
/** @type {import("./types.js").Signal<Set<string>>} */
export const pinnedRuns = signal(new Set());
/** @type {import("./types.js").Signal<string>} */
export const solo = signal(""); // the name of the only run shown
export const baseline = signal(""); // the name of the run that the other runs are compared with
export const differing = signal(false); // leave out what is equal in all shown runs
/** @type {import("./types.js").Signal<string[][]>} */
export const joined = signal([]); // for each chart with several tags, its tags; the first is the card's own
/** @type {import("./types.js").Signal<string[]>} */
export const pins = signal([]); // tags
/** @type {import("./types.js").Signal<Set<string>>} */
export const logs = signal(new Set()); // tags whose y axis is logarithmic
export const logX = signal(false);
/** @type {import("./types.js").Signal<Set<string>>} */
export const entire = signal(new Set()); // tags whose y axis also covers outliers
/** @type {import("./types.js").Signal<Set<string>>} */
export const folded = signal(new Set()); // prefixes of tags
export const full = signal(""); // the tag that fills the screen
export const kind = signal("images"); // of media
/** @type {import("./types.js").Signal<import("./steps.js").Step | null>} */
export const mediaStep = signal(null); // position of the slider; null: the newest step
export const query = signal("select * from runs limit 100");
export const wide = signal(false); // the table fills the page

/** How the address holds each choice: its key, and whether a change adds an entry to the history. */
const FIELDS = [
  text("tab", tab, true),
  text("filter", filter),
  text("group", group, true),
  text("band", band, true),
  text("tags", search),
  text("x", axis, true),
  {
    key: "smooth",
    signal: smooth,
    write: (/** @type {number} */ v) => (v === usualSmooth.value ? [] : [String(v)]),
    read: (/** @type {string[]} */ v) => clamp(Number(v[0] ?? usualSmooth.peek()), 0, 1),
  },
  {
    key: "zoom",
    signal: zoom,
    push: true,
    write: (/** @type {[number, number] | null} */ v) => (v ? [v.join("..")] : []),
    read: (/** @type {string[]} */ v) => {
      const ends = (v[0] ?? "").split("..").map(Number);
      return ends.length === 2 && ends.every(Number.isFinite) && ends[0] < ends[1] ? ends : null;
    },
  },
  text("sort", sort),
  text("top", top, true),
  {
    key: "column",
    signal: columns,
    write: (/** @type {string[] | null} */ v) => v ?? [],
    read: (/** @type {string[]} */ v) => (v.length ? v : null),
  },
  names("hide", hidden),
  names("pinrun", pinnedRuns),
  text("solo", solo, true),
  text("baseline", baseline, true),
  flag("differ", differing),
  {
    key: "with",
    signal: joined,
    write: (/** @type {string[][]} */ v) => v.map((tags) => JSON.stringify(tags)),
    read: (/** @type {string[]} */ v) => v.flatMap(tagsIn),
  },
  { key: "pin", signal: pins, write: (/** @type {string[]} */ v) => v, read: (/** @type {string[]} */ v) => v },
  names("log", logs),
  flag("logx", logX),
  names("entire", entire),
  names("fold", folded),
  text("full", full, true),
  text("kind", kind, true),
  {
    key: "at",
    signal: mediaStep,
    write: (/** @type {import("./steps.js").Step | null} */ v) => (v === null ? [] : [String(v)]),
    read: (/** @type {string[]} */ v) => (v.length ? stepOf(v[0]) : null),
  },
  text("query", query),
  flag("wide", wide, true),
];

/** @param {string} key @param {import("./types.js").Signal<string>} signal @param {boolean} push */
function text(key, signal, push = false) {
  const usual = signal.value;
  return {
    key,
    signal,
    push,
    write: (/** @type {string} */ v) => (v === usual ? [] : [v]),
    read: (/** @type {string[]} */ v) => v[0] ?? usual,
  };
}

/** @param {string} key @param {import("./types.js").Signal<boolean>} signal @param {boolean} push */
function flag(key, signal, push = false) {
  return {
    key,
    signal,
    push,
    write: (/** @type {boolean} */ v) => (v ? ["1"] : []),
    read: (/** @type {string[]} */ v) => v[0] === "1",
  };
}

/** @param {string} key @param {import("./types.js").Signal<Set<string>>} signal */
function names(key, signal) {
  return {
    key,
    signal,
    push: false,
    write: (/** @type {Set<string>} */ v) => [...v],
    read: (/** @type {string[]} */ v) => new Set(v),
  };
}

/** The tags of a chart; empty unless the text is a list of several tags. @param {string} text @returns {string[][]} */
function tagsIn(text) {
  try {
    const tags = JSON.parse(text);
    return Array.isArray(tags) && tags.length > 1 && tags.every((tag) => typeof tag === "string") ? [tags] : [];
  } catch {
    return [];
  }
}

/** @param {number} value @param {number} low @param {number} high */
export const clamp = (value, low, high) => (Number.isFinite(value) ? Math.min(Math.max(value, low), high) : low);

/** The part of the address after #, in readable form. */
export function written() {
  const parts = [];
  for (const each of FIELDS)
    for (const value of /** @type {any} */ (each).write(each.signal.value)) parts.push(`${each.key}=${escaped(value)}`);
  return parts.join("&");
}

/** @param {string} value */
const escaped = (value) =>
  encodeURIComponent(value)
    .replace(/%2F/g, "/")
    .replace(/%3A/g, ":")
    .replace(/%2C/g, ",")
    .replace(/%20/g, "+")
    .replace(/%3D/g, "=");

/** An address in the browser's own spelling, for comparison. @param {string} text */
const spelled = (text) => new URLSearchParams(text).toString();

/** Set the choices to those of an address. @param {string} text what follows its # */
export function read(text) {
  const params = new URLSearchParams(text);
  batch(() => {
    for (const each of FIELDS) {
      const value = each.read(params.getAll(each.key));
      const same =
        JSON.stringify(/** @type {any} */ (each).write(value)) ===
        JSON.stringify(/** @type {any} */ (each).write(each.signal.peek()));
      if (!same) /** @type {any} */ (each.signal).value = value;
    }
  });
}

/** Use the smoothing of a report, unless the address has its own. @param {number} level */
export function smoothAs(level) {
  batch(() => {
    usualSmooth.value = level;
    if (!smoothGiven) smooth.value = level;
  });
}

/** From now on, the address follows the choices, and Back and Forward restore them. */
export function linkAddress() {
  const hash = () => location.hash.slice(1);
  smoothGiven = new URLSearchParams(hash()).has("smooth");
  read(hash());
  /** @type {Record<string, string>} */
  let before = {};
  let first = true;
  on([...FIELDS.map((each) => each.signal), usualSmooth], () => {
    const text = written();
    const now = Object.fromEntries(
      FIELDS.filter((each) => each.push).map((each) => [
        each.key,
        JSON.stringify(/** @type {any} */ (each).write(each.signal.peek())),
      ]),
    );
    const push = !first && FIELDS.some((each) => each.push && now[each.key] !== before[each.key]);
    before = now;
    first = false;
    if (spelled(hash()) === spelled(text)) return;
    const url = text ? `#${text}` : location.pathname + location.search;
    if (push) history.pushState(null, "", url);
    else history.replaceState(null, "", url);
  });
  addEventListener("popstate", () => read(hash()));
  addEventListener("hashchange", () => read(hash()));
}

/** A setting that this browser keeps, and links do not contain.
 * @template T @param {string} key @param {T} usual @returns {import("./types.js").Signal<T>} */
export function kept(key, usual) {
  let value = usual;
  try {
    const stored = localStorage.getItem(`tbq.${key}`);
    if (stored !== null) value = JSON.parse(stored);
  } catch {
    // The browser may block storage, or another version wrote something else.
  }
  const setting = signal(value);
  on([setting], (current) => {
    const now = JSON.stringify(current);
    try {
      localStorage.setItem(`tbq.${key}`, now);
    } catch {
      // Without storage, the setting lasts until the page is closed.
    }
  });
  return setting;
}

export const theme = kept("theme", "system");
export const paneWidth = kept("pane", 432);
export const nameWidth = kept("name", 0); // of the column of names; 0: as its content needs
export const cardWidth = kept("card", 400);
export const shortcuts = kept("shortcuts", true); // single keys act wherever the focus is
export const dark = signal(false);

/** From now on, the page follows the theme; print is always light. */
export function linkTheme() {
  const prefers = matchMedia("(prefers-color-scheme: dark)");
  const printed = matchMedia("print");
  const follow = () => {
    dark.value = !printed.matches && (theme.value === "dark" || (theme.value === "system" && prefers.matches));
    document.documentElement.dataset.theme = dark.value ? "dark" : "light";
  };
  on([theme], follow);
  prefers.addEventListener("change", follow);
  printed.addEventListener("change", follow);
}
