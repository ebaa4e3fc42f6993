// What changed between two texts, line by line.

export const MOST = 1500; // lines of either text that are compared

/** @param {string} before @param {string} after @returns {{ kind: "same" | "added" | "removed", text: string }[]} */
export function difference(before, after) {
  const a = before.split("\n").slice(0, MOST);
  const b = after.split("\n").slice(0, MOST);
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const x = a.slice(start, a.length - end);
  const y = b.slice(start, b.length - end);
  // For each pair of lines, the length of the longest common subsequence from there to the end.
  const width = y.length + 1;
  const common = new Uint16Array((x.length + 1) * width);
  for (let i = x.length - 1; i >= 0; i--)
    for (let j = y.length - 1; j >= 0; j--)
      common[i * width + j] =
        x[i] === y[j]
          ? common[(i + 1) * width + j + 1] + 1
          : Math.max(common[(i + 1) * width + j], common[i * width + j + 1]);
  /** @type {{ kind: "same" | "added" | "removed", text: string }[]} */
  const lines = a.slice(0, start).map((text) => ({ kind: "same", text }));
  let i = 0;
  let j = 0;
  while (i < x.length || j < y.length) {
    if (i < x.length && j < y.length && x[i] === y[j]) {
      lines.push({ kind: "same", text: x[i++] });
      j++;
    } else if (i < x.length && (j >= y.length || common[(i + 1) * width + j] >= common[i * width + j + 1]))
      lines.push({ kind: "removed", text: x[i++] });
    else lines.push({ kind: "added", text: y[j++] });
  }
  return [...lines, ...a.slice(a.length - end).map((text) => /** @type {const} */ ({ kind: "same", text }))];
}
