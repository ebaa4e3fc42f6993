// What every component imports: Preact, htm and signals under one roof.

import { h, render, Fragment } from "./vendor/preact.js";
import { useEffect, useLayoutEffect, useMemo, useRef, useState, useCallback } from "./vendor/hooks.js";
import { signal, computed, effect, batch, untracked, useSignal, useComputed } from "./vendor/signals.js";
import htm from "./vendor/htm.js";

/** A template that makes DOM elements, never markup: text from the log is always text. */
export const html = htm.bind(h);

export { h, render, Fragment, useEffect, useLayoutEffect, useMemo, useRef, useState, useCallback };
export { signal, computed, effect, batch, untracked, useSignal, useComputed };
