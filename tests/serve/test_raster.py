"""Many curves in one image: curves in front are drawn first, with the same picture as in the usual order."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import tbq

# Spans of rows in columns, each over what was there before, with parts of pixels: the usual order, in floats.
# `line` and `area` make spans; so a curve of one column each is a span, and its ends are known.
SCRIPT = """
import { emptyRaster, intoImage, line, area } from "./static/chart/raster.js";
// Two scales that change nothing: linear, and logarithmic for numbers that are made for it.
const identity = { low: 0, high: 1, log: false, from: 0, to: 1 };
const steps = { low: 1, high: Math.E, log: true, from: 0, to: 1 };
let seed = 7;
const random = () => ((seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648);
let worst = 0;
for (let turn = 0; turn < 60; turn++) {
  const [width, height, count] = [8, 40, 1 + Math.floor(random() * 120)];
  const ground = new Uint32Array(height).fill(0xff20e0f0);
  const want = Array.from({ length: width * height }, () => [0xf0, 0xe0, 0x20]);
  const drawn = [];
  for (let i = 0; i < count; i++) {
    const column = Math.floor(random() * width);
    const high = random() * 50 - 5;
    const low = high + (random() < 0.3 ? random() : random() * 30);
    const band = turn % 3 === 2 && i < count / 2;
    drawn.push({ column, high, low, band, colour: [random() * 256 | 0, random() * 256 | 0, random() * 256 | 0] });
  }
  for (const { column, high, low, band, colour } of drawn)
    for (let y = 0; y < height; y++) {
      const share = Math.max(0, Math.min(low, y + 1) - Math.max(high, y)) * (band ? 0.18 : 1);
      want[y * width + column] = want[y * width + column].map((v, k) => v + (colour[k] - v) * share);
    }
  const r = emptyRaster(width, height);
  const one = (v) => Float32Array.of(v);
  for (const { column, high, low, band, colour } of drawn.toReversed()) {
    const x = Float64Array.of(column + 0.5);
    const same = (v) => v;
    if (band) area(r, x, one(low), one(high), same, same, colour, 0.18);
    else {
      const middle = (high + low) / 2;
      const at = turn % 2 ? one(middle) : one(Math.exp(middle));
      const scaled = turn % 2 ? identity : steps;
      line(r, { x, first: at, last: at, min: at, max: at }, x, scaled, colour, (low - high) / 2, 1);
    }
  }
  const image = { data: new Uint8ClampedArray(width * height * 4) };
  intoImage(r, image, ground);
  for (let i = 0; i < width * height; i++)
    for (let k = 0; k < 3; k++) worst = Math.max(worst, Math.abs(image.data[4 * i + k] - want[i][k]));
}
console.log(JSON.stringify(worst));
"""


def test_the_picture_is_that_of_the_usual_order(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node")
    shutil.copytree(Path(tbq.__file__).parent / "server" / "static", tmp_path / "static")
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "run.mjs").write_text(SCRIPT)
    made = subprocess.run([node, "run.mjs"], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert json.loads(made.stdout) < 12  # of 255: each layer rounds down once
