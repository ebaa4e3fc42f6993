// A graph as a tree that unfolds level by level, with the number of nodes below each name.

import { html, useState } from "../ui.js";
import { useAsk } from "../ask.js";
import { Icon } from "../menu.js";
import { count, counted } from "../format.js";
import { RunLabel } from "./parts.js";

/** @param {{ tag: string, list: any[] }} props */
export function Graphs({ tag, list }) {
  return html`<div class="media-grid wide">
    ${list.map(
      (each) => html`<div class="card media-card" key=${each.id}>
        <${RunLabel} run=${each.run} />
        <div class="tree" tabindex="0">
          <${Level} run=${each.id} tag=${tag} mark=${each.marks?.at(-1)} under="" />
        </div>
      </div>`,
    )}
  </div>`;
}

/** @param {any} props */
function Level({ run, tag, mark, under }) {
  const { data, error, loading } = useAsk("graph", { run, tag, under, mark });
  if (error) return html`<p class="failed">${error}</p>`;
  if (loading || !data) return html`<p class="dim">Loading …</p>`;
  const most = Math.max(...data.children.map((/** @type {any} */ each) => each.count), 1);
  return html`<ul>
    ${data.children.map(
      (/** @type {any} */ each) =>
        html`<${Node} key=${each.path} run=${run} tag=${tag} mark=${mark} each=${each} most=${most} />`,
    )}
    ${data.more > 0 && html`<li class="dim">and ${count(data.more)} more</li>`}
  </ul>`;
}

/** @param {any} props */
function Node({ run, tag, mark, each, most }) {
  const [open, setOpen] = useState(false);
  const ops = Object.entries(each.ops ?? {})
    .slice(0, 4)
    .map(([name, n]) => `${name} ${count(/** @type {number} */ (n))}`)
    .join(", ");
  const line = html`
    <span class="tree-name">${each.name}</span>
    <span class="tree-bar" style=${{ width: `${(each.count / most) * 80}px` }}></span>
    <span class="dim">${each.leaf ? each.op : counted(each.count, "node")}</span>
    ${!each.leaf && ops && html`<span class="dim ops">${ops}</span>`}
  `;
  return html`<li>
    ${
      each.leaf && !each.inputs?.length
        ? html`<span class="tree-line leaf">${line}</span>`
        : html`<button type="button" class="tree-line" aria-expanded=${open} onClick=${() => setOpen(!open)}>
          <${Icon} name=${open ? "down" : "right"} />
          ${line}
        </button>`
    }
    ${
      open &&
      (each.leaf
        ? html`<ul>
            ${each.inputs.map((/** @type {string} */ name) => html`<li key=${name} class="dim">← ${name}</li>`)}
          </ul>`
        : html`<${Level} run=${run} tag=${tag} mark=${mark} under=${each.path} />`)
    }
  </li>`;
}
