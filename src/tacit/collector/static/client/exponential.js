/**
 * exp(-t) to any number of digits, in whole numbers: what decides whether a point lies under the normal curve.
 *
 * The language does not promise how exact Math.exp is, so the sampler does not use it.
 */

/** Binary digits that are computed and not given back: they hold all rounding errors below. */
const GUARD = 64n;
/** The series is summed at r / 2**8, where it needs few terms, and squared eight times. */
const HALVINGS = 8n;

/** @type {Map<bigint, bigint>} */
const logarithms = new Map();

/**
 * log 2 in units of 2**-digits, from the sum of 1 / (n 2**n): too small by less than `digits` + 1 units.
 * @param {bigint} digits
 */
function logarithmOfTwo(digits) {
  let sum = logarithms.get(digits);
  if (sum === undefined) {
    sum = 0n;
    for (let n = 1n; n <= digits; n += 1n) sum += (1n << (digits - n)) / n;
    logarithms.set(digits, sum);
  }
  return sum;
}

/**
 * exp(-numerator / 2**shift) = mantissa 2**-(digits + halvings), the mantissa right to two units.
 *
 * Errors in units of 2**-(digits + 64): t is off by 1, k log 2 by k (digits + 1), and each of the terms of the series
 * by 1; eight squarings multiply what is there by 2**8 and add at most 2**9. For k < 2**30 and fewer than 2**16 digits
 * that is below 2**56, far less than one unit; cutting off the 64 guard digits takes at most one.
 *
 * @param {bigint} numerator at least 0
 * @param {bigint} shift
 * @param {bigint} digits
 * @returns {{mantissa: bigint, halvings: bigint}}
 */
export function expNegative(numerator, shift, digits) {
  const work = digits + GUARD;
  const t = (numerator << work) >> shift;
  const halvings = t / logarithmOfTwo(work);
  const u = (t - halvings * logarithmOfTwo(work)) >> HALVINGS;
  let term = 1n << work;
  let sum = 0n;
  for (let n = 1n; term !== 0n; n += 1n) {
    sum += term;
    term = -((term * u) >> work) / n; // BigInt division goes towards 0, so terms do end
  }
  for (let i = 0n; i < HALVINGS; i += 1n) sum = (sum * sum) >> work;
  return { mantissa: sum >> GUARD, halvings };
}
