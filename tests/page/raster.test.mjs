// Many curves in one image are drawn by density, not in their order.

import assert from "node:assert/strict";
import { test } from "node:test";
import { emptyRaster, intoImage, line } from "../../src/tbq/server/static/chart/raster.js";

const [WIDE, HIGH] = [20, 20];
const SCALE = /** @type {any} */ ({ low: 0, high: HIGH, from: HIGH, to: 0, log: false });
const GROUND = [255, 255, 255];
const INK = /** @type {[number, number, number]} */ ([0, 0, 0]);

/** The pixels of an image of these curves, as a function of column and row. */
function drawn(curves, { columns = WIDE, dash = [] } = {}) {
  const r = emptyRaster(WIDE, HIGH, curves.length);
  const x = Float64Array.from({ length: columns }, (_, k) => k);
  const pixels = Float64Array.from(x, (k) => (k + 0.5) * (WIDE / columns));
  for (const { at, height = 0, colour } of curves) {
    const [min, max] = [at - height / 2, at + height / 2].map((y) => new Float64Array(columns).fill(y));
    const mid = new Float64Array(columns).fill(at);
    line(r, /** @type {any} */ ({ x, first: mid, last: mid, min, max }), pixels, SCALE, colour, 1, dash);
  }
  const image = { data: new Uint8ClampedArray(WIDE * HIGH * 4) };
  intoImage(r, /** @type {any} */ (image), new Uint32Array(HIGH).fill(0xffffffff), INK);
  return (column, row) => [...image.data.slice((row * WIDE + column) * 4, (row * WIDE + column) * 4 + 3)];
}

const RED = /** @type {[number, number, number]} */ ([200, 0, 0]);
const BLUE = /** @type {[number, number, number]} */ ([0, 0, 200]);

test("one curve has its colour, and the rest stays ground", () => {
  const pixel = drawn([{ at: 10, height: 4, colour: RED }]);
  assert.deepEqual(pixel(5, 10), RED);
  assert.deepEqual(pixel(5, 2), GROUND);
  assert.deepEqual(pixel(5, 18), GROUND);
});

test("the order of curves does not matter", () => {
  const curves = Array.from({ length: 50 }, (_, i) => ({ at: 10, height: 8, colour: i < 25 ? RED : BLUE }));
  const [there, back] = [drawn(curves), drawn([...curves].reverse())];
  assert.deepEqual(there(5, 10), back(5, 10));
  assert.ok(there(5, 10)[0] > 20 && there(5, 10)[0] === there(5, 10)[2], String(there(5, 10)));
});

test("the more curves overlap, the nearer a pixel is to the ink", () => {
  // 99 narrow curves in the middle of a wide one.
  const pixel = drawn([
    { at: 10, height: 16, colour: RED },
    ...Array.from({ length: 99 }, () => ({ at: 10, height: 4, colour: RED })),
  ]);
  assert.deepEqual(pixel(5, 4), RED);
  assert.ok(pixel(5, 10)[0] < 120);
});

test("several points in one column of pixels count once", () => {
  const curves = [
    { at: 10, height: 8, colour: RED },
    { at: 10, height: 8, colour: RED },
  ];
  for (const columns of [20, 33, 80]) {
    const pixel = drawn(curves, { columns });
    const row = Array.from({ length: WIDE - 2 }, (_, c) => String(pixel(c + 1, 10)));
    assert.equal(new Set(row).size, 1, `${columns} columns: ${[...new Set(row)].join(" / ")}`);
  }
});

test("a dashed curve has gaps", () => {
  const pixel = drawn([{ at: 10, height: 4, colour: RED }], { dash: [3, 2] });
  const row = Array.from({ length: 10 }, (_, c) => (String(pixel(c, 10)) === String(RED) ? "-" : " ")).join("");
  assert.equal(row, "---  ---  ");
});

test("a line between distant points has no gap, however steep it is", () => {
  const chance = random(11);
  for (let n = 0; n < 300; n++) {
    // Points at any places, some of them in one column, some far outside.
    const pixels = Float64Array.from({ length: 2 + chance(6) }, () => chance(WIDE * 100) / 100).sort();
    const values = Float64Array.from(pixels, () => [chance(HIGH * 10) / 10, chance(2) ? 1e300 : -1e30][+!chance(5)]);
    const r = emptyRaster(WIDE, HIGH, 1);
    const curve = { x: pixels, first: values, last: values, min: values, max: values };
    line(r, curve, pixels, SCALE, RED, 0.5, []);
    const image = { data: new Uint8ClampedArray(WIDE * HIGH * 4) };
    intoImage(r, /** @type {any} */ (image), new Uint32Array(HIGH).fill(0xffffffff), INK);
    const inked = (column, row) => image.data[(row * WIDE + column) * 4 + 1] < 250;
    for (let i = 1; i < pixels.length; i++)
      for (let k = 0; k <= 400; k++) {
        const share = k / 400;
        const x = pixels[i - 1] + share * (pixels[i] - pixels[i - 1]);
        const y = HIGH - (values[i - 1] * (1 - share) + values[i] * share);
        if (y < 0 || y >= HIGH) continue;
        assert.ok(inked(Math.floor(x), Math.floor(y)), `${[...pixels]} ${[...values]}: ${x} ${y}`);
      }
  }
});

test("a faint curve is paler than its colour", () => {
  const r = emptyRaster(WIDE, HIGH, 1);
  const [x, y] = [Float64Array.of(0, 1), Float64Array.of(10, 10)];
  line(r, { x, first: y, last: y, min: y, max: y }, Float64Array.of(0, 19), SCALE, RED, 1, [], 0, 0.3);
  const image = { data: new Uint8ClampedArray(WIDE * HIGH * 4) };
  intoImage(r, /** @type {any} */ (image), new Uint32Array(HIGH).fill(0xffffffff), INK);
  const green = image.data[(10 * WIDE + 8) * 4 + 1];
  assert.ok(green > 150 && green < 200, String(green));
});

/** Pseudo-random integers below a limit. */
function random(seed) {
  let state = seed;
  return (limit) => {
    state = (state * 48271) % 2147483647;
    return state % limit;
  };
}
