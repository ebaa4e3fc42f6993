// What is drawn above the curves: the crosshair, and dots on the points whose values are shown.

import { toPixels } from "./scale.js";

/** @typedef {{ x: number, y: number, colour: string }} Dot */
/** @typedef {import("./paint.js").Layout} Layout */

/** @param {CanvasRenderingContext2D} context @param {Layout} l @param {number} at the value of x
 * @param {import("./paint.js").Ink} ink */
export function crosshair(context, l, at, ink) {
  const x = Math.round(toPixels(l.xs)(at)) + 0.5;
  if (!(x >= l.left && x <= l.right)) return;
  context.strokeStyle = ink.text;
  context.globalAlpha = 0.7;
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(x, l.top);
  context.lineTo(x, l.bottom);
  context.stroke();
  context.globalAlpha = 1;
}

/** @param {CanvasRenderingContext2D} context @param {Layout} l @param {Dot[]} list
 * @param {import("./paint.js").Ink} ink */
export function dots(context, l, list, ink) {
  const toX = toPixels(l.xs);
  const toY = toPixels(l.ys);
  for (const { x, y, colour } of list) {
    const [px, py] = [toX(x), toY(y)];
    if (!(px >= l.left - 1 && px <= l.right + 1 && py >= l.top - 4 && py <= l.bottom + 2)) continue;
    context.beginPath();
    context.arc(px, py, 3.5, 0, 7);
    context.fillStyle = colour;
    context.fill();
    context.strokeStyle = ink.ground;
    context.lineWidth = 1.5;
    context.stroke();
  }
}
