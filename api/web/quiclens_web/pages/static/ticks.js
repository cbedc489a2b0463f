// @ts-check
// Round values on an axis, and how they are told.

import { duration, ms } from "./format.js";

/**
 * Multiples of 1, 2 or 5 times a power of ten between two values, at most about so many, counted from a zero.
 * @param {number} from
 * @param {number} to
 * @param {number} most
 * @param {number} zero
 * @returns {number[]}
 */
export function roundTicks(from, to, most, zero) {
  const least = Math.max(1, (to - from) / Math.max(1, most));
  const power = 10 ** Math.floor(Math.log10(least));
  const step = power * (/** @type {number} */ ([1, 2, 5, 10].find((each) => each * power >= least)));
  return multiples(from, to, step, zero);
}

/** Multiples of a step between two values, counted from a zero. @param {number} from @param {number} to @param {number} step @param {number} zero @returns {number[]} */
export function multiples(from, to, step, zero) {
  const first = Math.ceil((from - zero) / step);
  return Array.from({ length: Math.max(0, Math.floor((to - zero) / step) - first + 1) }, (_, at) => zero + (first + at) * step);
}

/** A moment, as exact as a stretch of this length needs. @param {number} us @param {number} span us */
export function toldIn(us, span) {
  return span >= 1e6 ? duration(us) : `${ms(us, span < 1e4 ? 3 : 1)} ms`;
}
