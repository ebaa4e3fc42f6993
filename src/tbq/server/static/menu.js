// Parts that every view uses: icons, menus, dialogs, notices, downloads.

import { html, h, signal, useEffect, useLayoutEffect, useRef, useState } from "./ui.js";

const PATHS = /** @type {Record<string, string>} */ ({
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9ZM10.4 10.4 14 14",
  more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  full: "M6 2.5H2.5V6M10 2.5h3.5V6M6 13.5H2.5V10M10 13.5h3.5V10",
  close: "M4 4l8 8M12 4l-8 8",
  pin: "M6 2.5h4M6.8 2.5v4L4.5 9.5h7L9.2 6.5v-4M8 9.5V14",
  flag: "M4 14V2.5h8.5l-2 3 2 3H4",
  plus: "M8 3.5v9M3.5 8h9",
  down: "M4 6.2 8 10l4-3.8",
  right: "M6.2 4 10 8l-3.8 4",
  left: "M9.8 4 6 8l3.8 4",
  columns: "M2.5 3h11v10h-11zM6.2 3v10M9.8 3v10",
  wide: "M2.5 8h11M5 5.2 2.2 8 5 10.8M11 5.2 13.8 8 11 10.8",
  sun:
    "M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6ZM8 1.5v1.4M8 13.1v1.4M1.5 8h1.4M13.1 8h1.4" +
    "M3.4 3.4l1 1M11.6 11.6l1 1M12.6 3.4l-1 1M4.4 11.6l-1 1",
  moon: "M13.2 9.6A5.6 5.6 0 0 1 6.4 2.8a5.6 5.6 0 1 0 6.8 6.8Z",
  help: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM6.3 6.4A1.7 1.7 0 1 1 8 8.1v1M8 11.3h.01",
  download: "M8 2.5v7.5M4.8 7.2 8 10.4l3.2-3.2M2.8 13.2h10.4",
  eye: "M1.8 8S4 3.8 8 3.8 14.2 8 14.2 8 12 12.2 8 12.2 1.8 8 1.8 8ZM8 6.2a1.8 1.8 0 1 0 0 3.6 1.8 1.8 0 0 0 0-3.6Z",
  play: "M5 3.2v9.6L12.6 8Z",
  bookmark: "M4 2.5h8v11l-4-3-4 3z",
  link:
    "M6.8 9.2a2.6 2.6 0 0 0 3.7 0l2.2-2.2A2.6 2.6 0 0 0 9 3.3l-.8.8" +
    "M9.2 6.8a2.6 2.6 0 0 0-3.7 0L3.3 9A2.6 2.6 0 0 0 7 12.7l.8-.8",
  reset: "M3 3v3.5h3.5M3.3 6.2A5.3 5.3 0 1 1 2.7 9",
});

/** @param {{ name: string }} props */
export function Icon({ name }) {
  return h("svg", { viewBox: "0 0 16 16", class: "icon", "aria-hidden": "true" }, h("path", { d: PATHS[name] }));
}

/** @param {any} props */
export function IconButton({ name, label, pressed, onClick, class: more = "", ...rest }) {
  return html`<button
    type="button" class=${`icon-button ${more}`} aria-label=${label} title=${label} aria-pressed=${pressed}
    onClick=${onClick} ...${rest}
  >
    <${Icon} name=${name} />
  </button>`;
}

/** A button that opens a small panel below it. Escape and a click elsewhere close it.
 * @param {any} props */
export function Menu({ label, title, icon, children, class: more = "", align = "left", id = undefined }) {
  const [open, setOpen] = useState(false);
  const root = useRef(/** @type {HTMLElement | null} */ (null));
  const panel = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    if (!open) return undefined;
    const close = (/** @type {Event} */ event) => {
      if (event instanceof KeyboardEvent && event.key !== "Escape") return;
      if (event.type === "pointerdown" && root.current?.contains(/** @type {Node} */ (event.target))) return;
      if (event instanceof KeyboardEvent) {
        event.stopPropagation();
        root.current?.querySelector("button")?.focus();
      }
      setOpen(false);
    };
    document.addEventListener("pointerdown", close);
    root.current?.addEventListener("keydown", close);
    const node = root.current;
    return () => {
      document.removeEventListener("pointerdown", close);
      node?.removeEventListener("keydown", close);
    };
  }, [open]);
  useLayoutEffect(() => {
    if (!open || !panel.current || !root.current) return;
    // The panel has a fixed position, so that no scrolling ancestor clips it, and stays inside the window.
    const button = root.current.getBoundingClientRect();
    const box = panel.current.getBoundingClientRect();
    const left = align === "right" ? button.right - box.width : button.left;
    panel.current.style.left = `${Math.max(8, Math.min(left, innerWidth - box.width - 8))}px`;
    const below = button.bottom + 4;
    const fits = below + box.height < innerHeight - 8;
    panel.current.style.top = `${fits ? below : Math.max(8, button.top - box.height - 4)}px`;
    /** @type {HTMLElement | null} */ (panel.current.querySelector("[autofocus], input, select, button"))?.focus();
  }, [open, align]);
  const close = () => setOpen(false);
  return html`<span class=${`menu ${more}`} ref=${root}>
    <button
      type="button" id=${id} class=${icon ? "icon-button" : "menu-button"} aria-haspopup="true"
      aria-expanded=${open} aria-label=${icon ? title : undefined} title=${title}
      onClick=${() => setOpen(!open)}
    >
      ${icon ? html`<${Icon} name=${icon} />` : html`<span class="menu-label">${label}</span><${Icon} name="down" />`}
    </button>
    ${
      open &&
      html`<div class="menu-panel" ref=${panel}>${typeof children === "function" ? children(close) : children}</div>`
    }
  </span>`;
}

/** A menu item. @param {any} props */
export function Item({ onClick, checked = undefined, children, hint = "", disabled = false }) {
  return html`<button
    type="button" class="menu-item" aria-pressed=${checked === undefined ? undefined : String(checked)}
    disabled=${disabled} onClick=${onClick}
  >
    <span class="menu-check">${checked ? "✓" : ""}</span>
    <span class="menu-text">${children}</span>
    ${hint && html`<span class="menu-hint">${hint}</span>`}
  </button>`;
}

/** A modal window. @param {any} props */
export function Dialog({ title, onClose, children, class: more = "" }) {
  const node = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => {
    node.current?.showModal();
  }, []);
  return html`<dialog
    ref=${node} class=${`dialog ${more}`} aria-label=${title} onClose=${onClose}
    onClick=${(/** @type {Event} */ event) => event.target === node.current && onClose()}
  >
    <div class="dialog-head"><h2>${title}</h2><${IconButton} name="close" label="Close" onClick=${onClose} /></div>
    <div class="dialog-body">${children}</div>
  </dialog>`;
}

/** @type {import("./types.js").Signal<string>} */
export const notice = signal("");
let timer = 0;
/** Show a notice for four seconds. @param {string} text */
export function say(text) {
  notice.value = text;
  clearTimeout(timer);
  timer = window.setTimeout(() => (notice.value = ""), 4000);
}

/** Download the content of an address. @param {string} url @param {string} name */
export function save(url, name) {
  const anchor = document.createElement("a");
  anchor.href = url;
  anchor.download = name;
  anchor.click();
}

/** @param {Blob | string} data @param {string} name @param {string} type */
export function download(data, name, type = "text/plain") {
  const blob = typeof data === "string" ? new Blob([data], { type }) : data;
  const url = URL.createObjectURL(blob);
  save(url, name);
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

/** @param {string} text @param {string} what */
export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    say(`Copied ${what}.`);
  } catch {
    say(text);
  }
}

/** A text as a safe file name. @param {string} text */
export const fileName = (text) => text.replace(/[^\w.=-]+/g, "_").slice(0, 80) || "tbq";

/** The text of a view without content. @param {any} props */
export function Empty({ title, children }) {
  return html`<div class="empty">
    <p class="empty-title">${title}</p>
    ${children && html`<div class="empty-text">${children}</div>`}
  </div>`;
}
