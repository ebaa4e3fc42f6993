// Saved views: a name for a link to the page, kept in this browser or shared by the server (tbq serve --views).

import { html, useSignal } from "./ui.js";
import { useAsk } from "./ask.js";
import { Menu, Item, Icon, copy } from "./menu.js";
import { kept, written } from "./state.js";

/** What follows the # of each link, by name. */
const saved = kept("views", /** @type {Record<string, string>} */ ({}));

export function Views() {
  return html`<${Menu} icon="bookmark" title="Views" align="right" id="views">
    ${(/** @type {() => void} */ close) => html`<${List} close=${close} />`}
  <//>`;
}

/** @param {{ close: () => void }} props */
function List({ close }) {
  const name = useSignal("");
  const { data, error } = useAsk("views", {});
  const shared = /** @type {Record<string, string>} */ (data?.views ?? {});
  const open = (/** @type {string} */ link) => () => {
    location.hash = link;
    close();
  };
  const save = (/** @type {Event} */ event) => {
    event.preventDefault();
    const title = name.value.trim();
    if (title) saved.value = { ...saved.value, [title]: written() };
    name.value = "";
  };
  const drop = (/** @type {string} */ title) => {
    const { [title]: _, ...rest } = saved.value;
    saved.value = rest;
    // The pressed button is gone: the focus must stay in the menu.
    /** @type {HTMLElement | null} */ (document.querySelector(".views-menu input"))?.focus();
  };
  const own = Object.entries(saved.value);
  return html`<div class="menu-list views-menu">
    <form class="menu-form" onSubmit=${save}>
      <input
        aria-label="Name of this view" placeholder="Name this view" value=${name.value}
        onInput=${(/** @type {any} */ e) => (name.value = e.target.value)}
      />
      <button type="submit" class="button">Save</button>
    </form>
    ${own.length > 0 && html`<div class="menu-title">In this browser</div>`}
    ${own.map(
      ([title, link]) => html`<div class="menu-view" key=${title}>
        <${Item} onClick=${open(link)}>${title}<//>
        <button type="button" class="icon-button small" aria-label=${`Remove ${title}`} onClick=${() => drop(title)}>
          <${Icon} name="close" />
        </button>
      </div>`,
    )}
    ${Object.keys(shared).length > 0 && html`<div class="menu-title">Shared</div>`}
    ${Object.entries(shared).map(([title, link]) => html`<${Item} key=${title} onClick=${open(link)}>${title}<//>`)}
    ${error && html`<p class="field-error">${error}</p>`}
    ${
      own.length > 0 &&
      html`<hr />
        <${Item} onClick=${() => copy(`${JSON.stringify({ ...shared, ...saved.value }, null, 2)}\n`, "the views")}>
          Copy as JSON for tbq serve --views
        <//>`
    }
  </div>`;
}
