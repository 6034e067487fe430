/**
 * Rows on the grid: clipped to a public norm and rounded to whole steps, as `tacit.data.rows.Design` does, bit for bit.
 *
 * Sums go in the order of the columns, as in Python. Steps are powers of two: dividing by them is exact.
 */

import { check } from "./refused.js";

/** Where entries are cut, each by itself, so that no product overflows. */
const HUGE = 1e100;
/** Below this sum of squares a row is far shorter than any clip, and its squares have lost digits. */
const TINY_SQUARES = 1e-280;

/** @param {ArrayLike<number>} values */
export function sumOfSquares(values) {
  let sum = 0;
  for (let i = 0; i < values.length; i += 1) sum += values[i] * values[i];
  return sum;
}

/**
 * min(1, limit / ||x||). The limit is the clip, lowered by what rounding may add, and at least 1e-60.
 * @param {Float64Array} values
 * @param {number} limit
 */
export function clipFactor(values, limit) {
  const squares = sumOfSquares(values);
  return squares > TINY_SQUARES ? Math.min(1, limit / Math.sqrt(squares)) : 1;
}

/**
 * The row, clipped and in multiples of the step.
 * @param {Float64Array} values
 * @param {{limit: number, step: number}} grid
 */
export function onGrid(values, { limit, step }) {
  check(values.every(Number.isFinite), "answer", "Expected finite numbers.");
  const cut = values.map((value) => Math.min(Math.max(value, -HUGE), HUGE));
  const factor = clipFactor(cut, limit);
  const far = 1.5 * 2 ** 52 * step; // adding it rounds to whole steps, to the even one of two that are equally near
  return cut.map((value) => value * factor + far - far);
}

/**
 * The nearest whole number, the even one of two that are equally near: NumPy's rint.
 * @param {number} value
 */
export function nearestWhole(value) {
  const below = Math.floor(value) + 0; // + 0: never -0, which people would be shown
  const over = value - below;
  if (over !== 0.5) return over < 0.5 ? below : below + 1;
  return below % 2 === 0 ? below : below + 1;
}

/**
 * Refuse a row that is longer than its noise was made for. Rounding of a sum of d squares is allowed for.
 *
 * No row of a sound study is: this is for facts that were made to let one through.
 *
 * @param {ArrayLike<number>} row
 * @param {number} clip
 */
export function checkWithin(row, clip) {
  const most = clip * clip * (1 + (row.length + 16) * 2 ** -51);
  check(sumOfSquares(row) <= most, "facts", "A record is beyond the bounds that its noise was made for.");
}
