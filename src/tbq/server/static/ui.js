// Preact, htm and signals with their types, as every component imports them.

import * as preact from "./vendor/preact.js";
import * as hooks from "./vendor/hooks.js";
import * as signals from "./vendor/signals.js";
import htm from "./vendor/htm.js";

/** @template T @typedef {import("./types.js").Signal<T>} Signal */

const p = /** @type {any} */ (preact);
const k = /** @type {any} */ (hooks);
const s = /** @type {any} */ (signals);

/** @type {(name: any, props: any, ...children: any[]) => any} */
export const h = p.h;
/** @type {(node: any, root: Element) => void} */
export const render = p.render;
/** A template that creates elements, never markup: text of the log stays text.
 * @type {(parts: TemplateStringsArray, ...values: any[]) => any} */
export const html = /** @type {any} */ (htm).bind(p.h);

/** @type {(run: () => void | (() => void), on?: any[]) => void} */
export const useEffect = k.useEffect;
/** @type {(run: () => void | (() => void), on?: any[]) => void} */
export const useLayoutEffect = k.useLayoutEffect;
/** @type {<T>(first: T) => { current: T }} */
export const useRef = k.useRef;
/** @type {<T>(first: T) => [T, (next: T | ((old: T) => T)) => void]} */
export const useState = k.useState;

/** @type {<T>(first: T) => Signal<T>} */
export const signal = s.signal;
/** @type {<T>(of: () => T) => { readonly value: T, peek(): T }} */
export const computed = s.computed;
/**
 * Calls `run` with the values of `signals`, now and whenever one of them changes. Signals that `run` itself reads do
 * not count: an effect depends on what it names, and on nothing else. Returns the function that ends it.
 * @type {(signals: { readonly value: any }[], run: (...values: any[]) => void) => () => void}
 */
export const on = (signals, run) =>
  s.effect(() => {
    const values = signals.map((each) => each.value);
    s.untracked(() => run(...values));
  });
/** @type {<T>(run: () => T) => T} */
export const batch = s.batch;
/** @type {<T>(first: T) => Signal<T>} */
export const useSignal = s.useSignal;
