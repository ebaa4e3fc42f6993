// Texts as markdown, as plain text, or as changes since the previous step.

import { html, signal } from "../ui.js";
import { link, report } from "../api.js";
import { useAsk } from "../ask.js";
import { markdown } from "../markdown.js";
import { difference, MOST } from "../diff.js";
import { count } from "../format.js";
import { Modes, RunLabel, stepAt } from "./parts.js";

const mode = signal("markdown");
const MODES = { markdown: "Markdown", plain: "As it is", changes: "Changes" };

/** @param {{ tag: string, list: any[] }} props */
export function Texts({ tag, list }) {
  return html`
    <${Modes} label="Show as" mode=${mode} modes=${MODES} />
    <div class="media-grid wide">${list.map((each) => html`<${Text} key=${each.id} tag=${tag} each=${each} />`)}</div>
  `;
}

/** @param {any} props */
function Text({ tag, each }) {
  const at = stepAt(each.steps);
  const step = each.steps[at];
  const now = useAsk("text", { run: each.id, tag, step, mark: each.marks?.[at] });
  const before = useAsk(
    "text",
    mode.value === "changes" && at > 0
      ? { run: each.id, tag, step: each.steps[at - 1], mark: each.marks?.[at - 1] }
      : null,
  );
  const text = now.data?.text ?? "";
  const lines =
    mode.value === "changes" ? Math.max(text.split("\n").length, (before.data?.text ?? "").split("\n").length) : 0;
  return html`<div class="card media-card">
    <${RunLabel} run=${each.run}>
      step ${count(step)}
      ${mode.value === "changes" && at > 0 ? ` since ${count(each.steps[at - 1])}` : ""}
    <//>
    <div class="text" tabindex="0">
      ${
        now.error
          ? html`<p class="failed">${now.error}</p>`
          : mode.value === "markdown"
            ? markdown(text)
            : mode.value === "plain"
              ? html`<pre>${text}</pre>`
              : html`<pre class="diff">
                ${difference(at > 0 ? (before.data?.text ?? "") : "", text).map(
                  (line, i) => html`<span key=${i} class=${line.kind}>
                    ${line.kind === "added" ? "+ " : line.kind === "removed" ? "− " : "  "}
                    ${line.text}
                    ${"\n"}
                  </span>`,
                )}
              </pre>`
      }
    </div>
    ${lines > MOST && html`<p class="dim">The first ${count(MOST)} of ${count(lines)} lines are compared.</p>`}
    ${
      now.data?.cut &&
      html`<p class="dim">
        The first ${count([...text].length)} of ${count(now.data.length)} characters are shown. ${
          report === null &&
          html`<a href=${link("text", { run: each.id, tag, step, whole: 1 })} download>Download the full text</a>`
        }
      </p>`
    }
  </div>`;
}
