// The filter completes the names of columns while the user types.

import assert from "node:assert/strict";
import { test } from "node:test";
import { columnsOf, completions } from "../../src/tbq/server/static/complete.js";

const COLUMNS = columnsOf(["lr", "batch size", "__proto__"], ["train/loss", "val/loss", 'a"b', "<img src=x>"]);
/** The completions of the text; | is the caret. */
const shown = (text, all = false) => completions(text.replace("|", ""), text.indexOf("|"), COLUMNS, all).list;

test("a part of a tag suggests the tag in quotes", () => {
  assert.deepEqual(shown("loss|"), ['"train/loss"', '"val/loss"']);
  assert.deepEqual(shown("val|"), ['"val/loss"']);
  assert.deepEqual(shown('"val/l|'), ['"val/loss"']);
  assert.deepEqual(shown("hparam.lr > 1 and LOSS| < 2"), ['"train/loss"', '"val/loss"']);
});

test("hyperparameters need quotes only if they are not plain words", () => {
  assert.deepEqual(shown("hparam.|"), ["hparam.lr", '"hparam.batch size"', "hparam.__proto__"]);
  assert.deepEqual(shown("sta|"), ["state", "started"]);
});

test("quotes and markup in names are text", () => {
  assert.deepEqual(shown('"a|'), ['"a""b"', ...shown('"a|').slice(1)]);
  assert.deepEqual(shown('"<im|'), ['"<img src=x>"']);
});

test("statistics follow a tag", () => {
  assert.deepEqual(shown('"val/loss.m|'), ['"val/loss.min"', '"val/loss.max"']);
});

test("no list where no name can be, or where it is complete", () => {
  for (const text of ["|", "hparam.lr > 0.1|", "state = 'run|", "re:loss|", "/loss|/", '"val/loss"|', "hparam.lr|"])
    assert.deepEqual(shown(text), [], text);
  assert.equal(shown("|", true).length, 8);
});

test("the name that is replaced begins at its quote", () => {
  assert.equal(completions('x and "val', 10, COLUMNS).from, 6);
  assert.equal(completions("x and val", 9, COLUMNS).from, 6);
});
