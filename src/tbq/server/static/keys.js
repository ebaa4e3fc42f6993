// Keys act as in less and vim. They do nothing while the focus is in a field.

import { shortcuts, tab, wide, theme, dark, full, zoom, solo } from "./state.js";
import { fixed } from "./hover.js";
import { moveCursor, atCursor } from "./table.js";
import { help } from "./help.js";
import { isReport } from "./runs.js";
import { TABS } from "./words.js";

/** @param {string} id */
function focus(id) {
  const node = /** @type {HTMLInputElement | null} */ (document.getElementById(id));
  node?.focus();
  node?.select?.();
}

/** Single keys that act wherever the focus is; the help can turn them off. @returns {Record<string, () => void>} */
function anywhere() {
  /** @type {Record<string, () => void>} */
  const keys = {
    "/": () => focus("search"),
    f: () => focus("filter"),
    g: () => document.getElementById("group")?.click(),
    j: () => moveCursor(1),
    k: () => moveCursor(-1),
    s: () => atCursor("solo"),
    p: () => atCursor("pin"),
    b: () => atCursor("base"),
    w: () => (wide.value = !wide.value),
    d: () => (theme.value = dark.value ? "light" : "dark"),
    "?": () => (help.value = !help.value),
  };
  if (!isReport) for (const [i, [name]] of TABS.entries()) keys[String(i + 1)] = () => (tab.value = name);
  return keys;
}

/** @param {KeyboardEvent} event */
function pressed(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  if (event.key === "Escape") {
    if (target.matches("input, textarea, select")) target.blur();
    else if (full.value) full.value = "";
    else if (fixed.value) fixed.value = null;
    else if (solo.value) solo.value = "";
    else if (zoom.value) zoom.value = null;
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (target.matches("input, textarea, select, [contenteditable]") || target.closest("dialog[open], .menu-panel"))
    return;
  const onButton = target.matches("button, a, summary, audio");
  const inTable = target.id === "runs";
  /** @type {Record<string, () => void>} */
  const keys = {};
  if (shortcuts.value) Object.assign(keys, anywhere());
  if (!onButton && (shortcuts.value || inTable)) keys[" "] = () => atCursor("toggle");
  if (inTable) {
    keys.ArrowDown = () => moveCursor(1);
    keys.ArrowUp = () => moveCursor(-1);
    keys.PageDown = () => moveCursor(20);
    keys.PageUp = () => moveCursor(-20);
    keys.Home = () => moveCursor(-1e9);
    keys.End = () => moveCursor(1e9);
    keys.Enter = () => atCursor("fold");
  }
  const action = keys[event.key];
  if (!action) return;
  event.preventDefault();
  action();
}

export function linkKeys() {
  addEventListener("keydown", pressed);
}
