// How every drawing on a canvas begins: with its size in pixels, and with the colours of the theme.

/** @typedef {{ ground: string, grid: string, axis: string, text: string, strong: string }} Ink */

const printed = matchMedia("print");
/** Canvas pixels per pixel of the page; more for printing. */
export const sharpness = () => (printed.matches ? 3 : Math.min(devicePixelRatio || 1, 2));

/** The colours of the current theme. @param {Element} element @returns {Ink} */
export function inkOf(element) {
  const style = getComputedStyle(element);
  const take = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
  return {
    ground: take("--card"),
    grid: take("--grid"),
    axis: take("--line-strong"),
    text: take("--muted"),
    strong: take("--text"),
  };
}

/**
 * An empty canvas as large as the page shows it; its units are pixels of the page.
 * @param {HTMLCanvasElement} canvas
 */
export function emptied(canvas) {
  const ratio = sharpness();
  const { clientWidth: width, clientHeight: height } = canvas;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.font = "11px system-ui, sans-serif";
  return { context, width, height, ink: inkOf(canvas) };
}
