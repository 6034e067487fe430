/**
 * One person's submission, made in the browser: the record in whole steps of the study's grid, plus exact normal noise.
 *
 * It is `Protocol.perturb` of Python: the same words give the same numbers, to the last bit.
 *
 * A person draws noise once. Answers may be edited afterwards, the noise stays: who draws again until the numbers please
 * has other noise than was priced. Once a submission may have left the device it is fixed: two submissions with the
 * same noise and other answers would tell how the answers differ.
 *
 * @typedef {import("./facts.js").Facts} Facts
 * @typedef {import("./schema.js").Answer} Answer
 * @typedef {{q: number[], p: number[]}} Steps
 * @typedef {Steps & {seeded: boolean}} Noise
 * @typedef {{format: string, protocol: string, q: number[], p: number[], seeded: boolean}} Submission
 */

import { blake2b } from "./blake2.js";
import { checkedFacts } from "./facts.js";
import { whole } from "./normals.js";
import { check, Refused } from "./refused.js";
import { checkWithin, nearestWhole, onGrid } from "./rows.js";
import { encode } from "./schema.js";

export { Refused };
export { forcedSource, systemSource } from "./source.js";

const FORMAT = "tacit-submission";
const HASH_BYTES = 16;

/**
 * The row before it is clipped: encoded by the schema, or the numbers as they are.
 * @param {Facts} facts
 * @param {Record<string, Answer> | number[]} answers
 */
export function encodedRow(facts, answers) {
  if (facts.encoding !== null) return encode(facts.encoding, /** @type {Record<string, Answer>} */ (answers));
  const listed = Array.isArray(answers) && answers.length === facts.width;
  check(listed && answers.every(Number.isFinite), "answer", `Expected ${facts.width} finite numbers.`);
  return Float64Array.from(answers);
}

/**
 * The target in [-1, 1].
 * @param {Facts["target"]} target
 * @param {unknown} given one of the classes, or a number
 */
function scaledTarget(target, given) {
  if (target.classes !== undefined) {
    const place = target.classes.indexOf(given);
    check(place >= 0, "target", `The answer to ${target.name} is none of the declared classes.`);
    return place === 1 ? 1 : -1;
  }
  check(typeof given === "number" && Number.isFinite(given), "target", `The answer to ${target.name} is not a number.`);
  const within = Math.min(Math.max(given, target.lower), target.upper);
  return Math.min(Math.max((within - target.centre) / target.half, -1), 1);
}

/**
 * The record in whole steps without noise: q = [sqrt(c) x] and p = [s y x], x with the intercept's constant behind it.
 * @param {Facts} facts
 * @returns {Steps}
 */
function exactSteps(facts, answers, target) {
  const row = onGrid(encodedRow(facts, answers), facts.rounding);
  checkWithin(row, facts.clip);
  const x = [...row, ...(facts.intercept === 0 ? [] : [facts.intercept])];
  const y = scaledTarget(facts.target, target);
  return {
    q: x.map((value) => nearestWhole((facts.root * value) / facts.row.step)),
    p: x.map((value) => nearestWhole((facts.slope * y * value) / facts.cross.step)),
  };
}

/**
 * @param {number[]} exact
 * @param {number[]} noise
 * @param {number} limit the largest norm that is counted
 */
function perturbed(exact, noise, limit) {
  const sums = exact.map((value, i) => value + noise[i]);
  check(sums.every(Number.isSafeInteger), "long", "These numbers are too large to be added exactly.");
  const squares = sums.reduce((sum, value) => sum + BigInt(value) ** 2n, 0n);
  // An honest submission is this long once in 1e24. It is refused, and nothing is drawn again: that would change the
  // distribution of the noise. The price of refusing is in the guarantee.
  check(squares <= BigInt(limit) ** 2n, "long", "These numbers are beyond the study's limits, and cannot be counted.");
  return sums;
}

/** @param {bigint[]} values */
function asNumbers(values) {
  const numbers = values.map(Number);
  check(numbers.every(Number.isSafeInteger), "noise", "Noise this large cannot be sent.");
  return Object.freeze(numbers);
}

/** @param {Submission} submission */
function contentOf({ protocol, q, p }) {
  const numbers = [...q, ...p];
  const bytes = new DataView(new ArrayBuffer(8 * numbers.length));
  numbers.forEach((value, i) => bytes.setBigInt64(8 * i, BigInt(value), true));
  const text = new TextEncoder();
  const how = { size: HASH_BYTES, key: text.encode(protocol), person: text.encode(FORMAT) };
  return blake2b(new Uint8Array(bytes.buffer), how);
}

/**
 * A study, ready to perturb; refuses facts that are not sound.
 * @param {unknown} given the facts that the server published
 */
export function prepare(given) {
  const facts = checkedFacts(given);
  const drawn = new WeakSet(); // noise is what draw gave, and nothing else: not zeros, not another study's
  return Object.freeze({
    /**
     * One draw a person.
     * @param {import("./source.js").Source} source
     * @returns {Noise}
     */
    draw(source) {
      const q = asNumbers(whole(source, facts.features, facts.row.scale / facts.row.step));
      const p = asNumbers(whole(source, facts.features, facts.cross.scale / facts.cross.step));
      const noise = Object.freeze({ q, p, seeded: source.seeded !== false });
      drawn.add(noise);
      return noise;
    },
    /** The record in whole steps without noise: for showing it beside what leaves, and never to be sent. */
    exact: (answers, target) => exactSteps(facts, answers, target),
    /**
     * What leaves the device.
     * @param {Noise} noise
     * @returns {Submission}
     */
    submission(answers, target, noise) {
      check(drawn.has(noise), "noise", "Expected noise that this study has drawn.");
      const { q, p } = exactSteps(facts, answers, target);
      return {
        format: FORMAT,
        protocol: facts.protocol,
        q: perturbed(q, noise.q, facts.row.limit),
        p: perturbed(p, noise.p, facts.cross.limit),
        seeded: noise.seeded,
      };
    },
    content: contentOf,
  });
}
