// The mouse and the keyboard on a chart: zoom, move, crosshair.

import { toValue } from "./chart/scale.js";
import { readings } from "./chart/readings.js";
import { hover, fixed } from "./hover.js";
import { hot, hotGroup } from "./runs.js";
import { zoom, full } from "./state.js";

/** @typedef {import("./plot.js").Chart} Chart */

/** @param {Chart} c @param {PointerEvent | WheelEvent} event */
function place(c, event) {
  const box = /** @type {HTMLElement} */ (event.currentTarget ?? c.base).getBoundingClientRect();
  return { px: event.clientX - box.left, py: event.clientY - box.top };
}

/** @param {Chart} c @param {PointerEvent} event */
export function press(c, event) {
  const l = c.layout;
  if (!l || event.button !== 0 || /** @type {Element} */ (event.target).closest(".tooltip")) return;
  const { px, py } = place(c, event);
  const pan = !c.row && (event.altKey || py > l.bottom);
  const node = /** @type {HTMLElement} */ (event.currentTarget);
  const y = event.shiftKey || c.row;
  const begin = { ...l.xs };
  if (event.pointerType === "touch" && !pan) return; // one finger scrolls the page
  node.setPointerCapture(event.pointerId);
  const drag = (/** @type {PointerEvent} */ e) => {
    const now = place(c, /** @type {any} */ ({ clientX: e.clientX, clientY: e.clientY, currentTarget: node }));
    if (pan) {
      const a = toValue(begin, begin.from + px - now.px);
      const b = toValue(begin, begin.to + px - now.px);
      zoom.value = [a, b];
      return;
    }
    if (Math.abs(now.px - px) + Math.abs(now.py - py) < 4 && !c.brush) return;
    c.brush = y
      ? { from: py, to: clip(now.py, l.top, l.bottom), y }
      : { from: px, to: clip(now.px, l.left, l.right), y };
    c.drawOver();
  };
  const end = () => {
    node.removeEventListener("pointermove", drag);
    node.removeEventListener("pointerup", end);
    node.removeEventListener("pointercancel", end);
    const brush = c.brush;
    c.brush = null;
    if (brush && Math.abs(brush.to - brush.from) > 4) {
      const [a, b] = [Math.min(brush.from, brush.to), Math.max(brush.from, brush.to)];
      if (brush.y) {
        c.yZoom = [toValue(l.ys, b), toValue(l.ys, a)];
        c.draw();
      } else zoom.value = [toValue(l.xs, a), toValue(l.xs, b)];
    } else if (!pan) fixed.value = fixed.value ? null : hover.value;
    c.drawOver();
  };
  node.addEventListener("pointermove", drag);
  node.addEventListener("pointerup", end);
  node.addEventListener("pointercancel", end);
}

/** @param {number} v @param {number} low @param {number} high */
const clip = (v, low, high) => Math.min(Math.max(v, low), high);

/** @param {Chart} c @param {PointerEvent} event */
export function move(c, event) {
  const l = c.layout;
  if (!l || !c.curves) return;
  const { px, py } = place(c, event);
  if (px < l.left - 4 || px > l.right + 8) return leave(c);
  const x = toValue(l.xs, clip(px, l.left, l.right));
  hover.value = { x: c.row ? NaN : x, tag: c.tag, px, py }; // a place in a row means nothing on other charts
  const near = readings({ ...c.curves, series: c.series() }, l, x, py).find((each) => each.nearest);
  const close = near && Math.abs(near.y - py) < 40;
  hot.value = close ? near.series.id : null;
  hotGroup.value = close ? near.series.group : null;
}

/** @param {Chart} c */
export function leave(c) {
  if (hover.value?.tag !== c.tag) return;
  hover.value = null;
  hot.value = null;
  hotGroup.value = null;
}

/** @param {Chart} c */
export function reset(c) {
  c.yZoom = null;
  zoom.value = null;
  fixed.value = null;
  c.draw();
}

/**
 * Zoom by a factor around a position on the axis, or move; both are shares of its length. @param {Chart} c
 * @param {number} factor @param {number} share @param {number} shift
 */
function rescale(c, factor, share, shift = 0) {
  const l = c.layout;
  if (!l || c.row) return;
  const { from, to } = l.xs;
  const middle = from + (to - from) * share;
  const a = toValue(l.xs, middle - (middle - from) * factor + shift * (to - from));
  const b = toValue(l.xs, middle + (to - middle) * factor + shift * (to - from));
  const range = c.domain;
  if (range && a <= range[0] && b >= range[1]) zoom.value = null;
  else if (b > a) zoom.value = [a, b];
}

/** @param {Chart} c @param {WheelEvent} event */
export function wheel(c, event) {
  const l = c.layout;
  if (!l) return;
  if (event.ctrlKey || event.metaKey) {
    event.preventDefault();
    const { px } = place(c, event);
    rescale(c, Math.exp(clip(event.deltaY, -100, 100) * 0.005), clip((px - l.left) / (l.right - l.left), 0, 1));
  } else if (zoom.value && Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
    event.preventDefault();
    rescale(c, 1, 0.5, event.deltaX / (l.right - l.left));
  }
}

/** @param {Chart} c @param {KeyboardEvent} event */
export function key(c, event) {
  if (event.target !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "ArrowLeft") rescale(c, 1, 0.5, -0.1);
  else if (event.key === "ArrowRight") rescale(c, 1, 0.5, 0.1);
  else if (event.key === "+" || event.key === "=") rescale(c, 0.5, 0.5);
  else if (event.key === "-") rescale(c, 2, 0.5);
  else if (event.key === "0") reset(c);
  else if (event.key === "Enter") full.value = c.tag;
  else return;
  event.preventDefault();
  event.stopPropagation();
}
