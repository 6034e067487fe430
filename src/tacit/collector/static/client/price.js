/**
 * What one submission costs its owner, computed anew in the page: do not trust, verify.
 *
 * A submission is one joint Gaussian release of mu = sqrt((D_q/s_q)^2 + (D_p/s_p)^2), D being the largest distance
 * between the exact numbers of two records (page "Input perturbation" of the docs). With a = epsilon/mu - mu/2,
 *
 *   delta(epsilon) = Phi(-a) - e^epsilon Phi(-a - mu) = integral over t > 0 of phi(a + t) (1 - e^(-mu t)) dt.
 *
 * The difference loses digits where both parts are nearly equal. The integral has positive terms only, so it is summed
 * as it stands: to some 1e-14 relative in all tails.
 *
 * References: Balle & Wang 2018, Theorem 8; Takahasi & Mori 1974 for the rule that sums the integral.
 */

import { checkedFacts, MOST_DELTA } from "./facts.js";
import { check } from "./refused.js";

/** Deltas are rounded up by this much: above every error of the sum, below what Python rounds up by (1e-9). */
const UP = 1 + 2e-10;
/** phi(t) is below 1e-300 of phi(0) from here on. */
const REACH = 40;
const STEP = 1 / 16;

/** Nodes and weights for smooth functions on [0, 1]: x = 1 / (1 + e^(-pi sinh s)), s in steps. */
const RULE = Array.from({ length: 2 * 56 + 1 }, (_, i) => {
  const s = (i - 56) * STEP;
  const x = 1 / (1 + Math.exp(-Math.PI * Math.sinh(s)));
  const rest = 1 / (1 + Math.exp(Math.PI * Math.sinh(s))); // 1 - x, without losing its digits
  return { x, weight: STEP * Math.PI * Math.cosh(s) * x * rest };
});

/**
 * delta of a Gaussian mechanism, rounded up.
 * @param {number} mu positive
 * @param {number} epsilon at least 0
 */
export function gaussianDelta(mu, epsilon) {
  const a = epsilon / mu - mu / 2;
  const peak = Math.max(0, -a); // where the integrand is largest; phi is measured from there
  let sum = 0;
  for (let start = Math.max(0, Math.floor(peak) - REACH); start < peak + REACH; start += 1) {
    for (const { x, weight } of RULE) {
      const t = start + x;
      sum += weight * Math.exp(-((a + t) ** 2) / 2) * -Math.expm1(-mu * t);
    }
  }
  return (sum / Math.sqrt(2 * Math.PI)) * UP;
}

/**
 * mu of one submission: two records differ most with opposite rows and one target, or with one row and opposite targets.
 * @param {import("./facts.js").Facts} facts
 */
export function submissionMu({ features, clip, intercept, curvature, slope, row, cross }) {
  const slack = Math.sqrt(features); // rounding to the grid adds at most so many steps
  const opposite = Math.hypot(
    (2 * Math.sqrt(curvature) * clip + slack * row.step) / row.scale,
    (2 * slope * Math.max(clip, intercept) + slack * cross.step) / cross.scale,
  );
  const flipped = (2 * slope * Math.hypot(clip, intercept) + slack * cross.step) / cross.scale;
  return Math.max(opposite, flipped) * (1 + 2 ** -48); // a dozen roundings
}

/**
 * The record's own epsilon at this delta, rounded up.
 * @param {unknown} facts
 * @param {number} delta
 */
export function recordEpsilon(facts, delta) {
  check(delta > 1e-300 && delta <= MOST_DELTA, "price", `Expected a delta above 0 and at most ${MOST_DELTA}.`);
  const mu = submissionMu(checkedFacts(facts));
  if (gaussianDelta(mu, 0) <= delta) return 0;
  let [low, high] = [0, 1];
  while (!(gaussianDelta(mu, high) <= delta)) {
    [low, high] = [high, 2 * high];
    check(high < 1e12, "price", "This study's noise hides nothing.");
  }
  while (high - low > 1e-12 * high) {
    const tried = low + (high - low) / 2;
    if (gaussianDelta(mu, tried) <= delta) high = tried;
    else low = tried;
  }
  return high;
}

/**
 * Refuse a study whose noise is worth less than its server states; what was found is given back.
 * @param {unknown} facts
 * @param {{epsilon: number, delta: number}} stated the guarantee of one record, as the server states it
 */
export function confirmRecord(facts, { epsilon, delta }) {
  const found = recordEpsilon(facts, delta);
  check(
    found <= epsilon,
    "price",
    "This server states a stronger protection of your record than its noise gives. Nothing was made or sent.",
  );
  return found;
}
