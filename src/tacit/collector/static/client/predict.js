/**
 * Predictions in the page: what is typed does not leave the device.
 *
 * The row is Python's to the last bit; the score is a plain sum, within some 1e-15 of Python's relative to its terms.
 */

import { checkedFacts } from "./facts.js";
import { encodedRow } from "./perturb.js";
import { check } from "./refused.js";
import { onGrid } from "./rows.js";

/** @param {unknown} numbers a number, a list, or a list of one list, as model files have them */
const flat = (numbers) => [numbers].flat(2);

/**
 * @param {unknown} facts
 * @param {{coef: number[] | number[][], intercept: number | number[], settings?: {margin_?: number}}} model the fields
 *   of a model file, or the file as it is
 * @param {Record<string, import("./schema.js").Answer> | number[]} answers
 * @returns {{score: number, probability?: number, label?: unknown, value?: number}} the probability of the second class,
 *   or the value within the declared bounds
 */
export function score(facts, model, answers) {
  const known = checkedFacts(facts);
  const weights = flat(model.coef);
  const [intercept, ...more] = flat(model.intercept);
  const numbers = [...weights, intercept].every(Number.isFinite);
  check(numbers && weights.length === known.width && more.length === 0, "model", "This model is not of this study.");
  check((model.settings?.margin_ ?? 0) === 0, "model", "This model has a margin, which studies do not have.");
  const row = onGrid(encodedRow(known, answers), known.predicting);
  const sum = row.reduce((total, value, i) => total + value * weights[i], 0) + intercept;
  const { target } = known;
  if (target.classes === undefined) {
    return { score: sum, value: Math.min(Math.max(sum, target.lower), target.upper) };
  }
  const rarer = Math.exp(-Math.abs(sum)); // without overflow on either side
  const probability = sum > 0 ? 1 / (1 + rarer) : rarer / (1 + rarer);
  return { score: sum, probability, label: target.classes[sum > 0 ? 1 : 0] };
}
