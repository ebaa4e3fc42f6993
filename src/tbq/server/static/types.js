// Types that several modules share.

/** @template T @typedef {{ value: T, peek(): T }} Signal */

/** @typedef {{
 *   id: number, name: string, state: "running" | "stalled" | "finished" | "crashed" | "diverged",
 *   last_step: number | string | null,
 *   started: number | null, duration: number | null, last_event: number | null, events: number, bytes: number,
 *   health: any, hparams: Record<string, any>, colours: [string, string],
 * }} Run */

/**
 * A tag as the server lists it; scalars also have what the name means (role, split, better). @typedef {{ tag: string,
 * kinds: Record<string, number>, rows: number, display_name?: string, description?: string, role?: "loss" | "score" |
 * "setting" | "other", split?: "evaluation" | "training" | "", better?: "lower" | "higher" | null, }} Tag
 */

/** @typedef {{ name: string, ids: number[], colours: [string, string] }} Group */

/**
 * Values as the server sent them: 32-bit floats if these are exact, otherwise 64-bit.
 * @typedef {Float32Array | Float64Array} Values
 */

/**
 * One curve as it came from the server: a value for each pixel column that has points.
 * @typedef {{ key: string, tag: string, id: number | null, group: string | null, n: number, runs: number,
 * broken: number[], takeovers: number[], x: Float64Array, first: Values, last: Values, min: Values, max: Values,
 * rawMin: Values | null, rawMax: Values | null, lower: Values | null, upper: Values | null, notFinite: number,
 * diverged: number, }} Series
 */

/**
 * `usual` is the range without outliers, by kind of axis. @typedef {{ low: number, high: number, width: number, series:
 * Series[], bytes: number, points: number, usual: { linear?: [number, number], log?: [number, number] } }} Curves
 */

/**
 * Where a curve leaves the chart's range: its first place outside, and its farthest value.
 * @typedef {{ series: Series, x: number, value: number, above: boolean }} Leaving
 */

export {};
