/**
 * Is what a server says of a study sound? Nothing here is trusted: a study with too little noise, or none, is refused
 * before anything is drawn.
 *
 * What a submission reveals depends on the clip, the intercept, the curvature, the slope, both scales and both steps;
 * price.js prices these very numbers. Whatever else a server makes up (bounds, cut points) cannot make a row longer
 * than the clip: rows.js measures the finished row. A limit that honest noise often passes would choose among draws,
 * and each refusal would tell something of one: limits must be as large as those of `InputNumbers.limits`.
 *
 * @typedef {{scale: number, step: number, limit: number}} Part
 * @typedef {{classes: (string | number | boolean)[]} | {lower: number, upper: number, centre: number, half: number}} Target
 * @typedef {{format: string, version: number, protocol: string, delta: number, features: number, width: number,
 *   clip: number, intercept: number, curvature: number, root: number, slope: number, row: Part, cross: Part,
 *   rounding: {limit: number, step: number}, predicting: {limit: number, step: number},
 *   encoding: import("./schema.js").Encoding | null, target: Target & {name: string}}} Facts
 */

import { check } from "./refused.js";
import { encodings, KINDS } from "./schema.js";

const FORMAT = "tacit-facts";
const VERSION = 1;
/** Sizes that a public number may have: their squares and products are far from where double precision ends. */
const SMALLEST = 1e-50;
const GREATEST = 1e50;
/** Steps are about 2**-20 (rows) and 2**-36 (cross part) of the noise's scale. */
const ROW_RATIO = [2 ** 19, 2 ** 21];
const CROSS_RATIO = [2 ** 35, 2 ** 37];
const MOST_FEATURES = 2 ** 17;
/** An honest submission is beyond a limit with at most this probability. */
const BEYOND = 1e-24;
/** With this probability a guarantee may fail altogether; epsilon says nothing beside a larger one. */
export const MOST_DELTA = 1e-2;

/** @param {boolean} holds */
function sound(holds) {
  check(holds, "facts", "What this server says about the study is incomplete or wrong, so nothing is made from it.");
}

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
const isSize = (value) => isNumber(value) && value >= SMALLEST && value <= GREATEST;
const isCount = (value) => Number.isSafeInteger(value) && value >= 1;
const isBetween = (value, [low, high]) => isNumber(value) && value >= low && value <= high;
const isObject = (value) => typeof value === "object" && value !== null;
const isValue = (value) => ["string", "boolean"].includes(typeof value) || isNumber(value);

/** @param {unknown} value a number without digits after its first binary one */
function isPowerOfTwo(value) {
  if (!isNumber(value) || value <= 2 ** -1000 || value >= 2 ** 1000) return false;
  const [bits] = new BigUint64Array(Float64Array.of(value).buffer);
  return (bits & 0xfffffffffffffn) === 0n;
}

/** @param {Part} part */
function checkPart(part, ratio) {
  sound(isObject(part) && isSize(part.scale) && isPowerOfTwo(part.step) && isCount(part.limit));
  sound(isBetween(part.scale / part.step, ratio));
}

/**
 * Limits that honest numbers pass but for probability BEYOND: the longest record, rounding, and d standard normals.
 * Python's are larger by a part in 1e9, which is more than any rounding here.
 * @param {Facts} facts
 */
function checkLimits({ features, clip, intercept, root, slope, row, cross }) {
  const noise = Math.sqrt(features) + Math.sqrt(2 * Math.log(1 / BEYOND));
  const reach = Math.hypot(clip, intercept);
  for (const [factor, { scale, step, limit }] of [[root, row], [slope, cross]]) {
    sound(limit >= (factor * reach + noise * scale) / step + Math.sqrt(features));
  }
}

/** @param {{limit: number, step: number}} grid */
function checkGrid(grid, clip) {
  sound(isObject(grid) && isSize(grid.limit * 1e5) && grid.limit <= clip && isPowerOfTwo(grid.step));
  sound(isBetween(clip / grid.step, [1, 2 ** 25]));
}

/** @param {import("./schema.js").Column} column */
function checkColumn(column) {
  sound(isObject(column) && KINDS.includes(column.kind) && typeof column.name === "string" && isCount(column.width));
  if (column.kind === "category") {
    const { values, keys } = column;
    sound(Array.isArray(values) && Array.isArray(keys) && values.every(isValue) && keys.every(isValue));
    sound(values.length === keys.length && column.width === values.length + 1 && new Set(keys).size === keys.length);
    return;
  }
  sound(isNumber(column.lower) && isNumber(column.upper) && typeof column.missing === "boolean");
  const points = column.kind === "number" ? [] : column.points;
  sound(Array.isArray(points) && points.every(isNumber));
  const edges = [column.lower, ...points, column.upper];
  sound(edges.every((edge, i) => i === 0 || edges[i - 1] < edge));
  const slots = { number: 1, bins: points.length + 1, hats: points.length + 2 }[column.kind];
  sound(column.width === slots + (column.missing ? 1 : 0));
}

/** @param {import("./schema.js").Encoding} encoding */
function checkEncoding(encoding, clip, width) {
  sound(isObject(encoding) && typeof encoding.boxed === "boolean" && isNumber(encoding.factor) && encoding.factor > 0);
  sound(isSize(encoding.limit * 1e5) && encoding.limit <= clip && Array.isArray(encoding.markers));
  sound(encoding.markers.every(isNumber) && Array.isArray(encoding.columns) && Array.isArray(encoding.pairs));
  sound(encoding.pairs.every((pair) => Array.isArray(pair) && pair.length === 2));
  encodings(encoding).forEach(checkColumn);
  const single = encoding.columns.reduce((sum, column) => sum + column.width, 0);
  sound(encoding.pairs.reduce((sum, [one, other]) => sum + one.width * other.width, single) === width);
}

/** @param {Target & {name: string}} target */
function checkTarget(target) {
  sound(isObject(target) && typeof target.name === "string");
  if (target.classes !== undefined) {
    sound(Array.isArray(target.classes) && target.classes.length === 2 && target.classes.every(isValue));
    sound(target.classes[0] !== target.classes[1]);
    return;
  }
  sound([target.lower, target.upper, target.centre, target.half].every(isNumber));
  sound(target.lower < target.upper && target.half > 0);
}

/**
 * A copy of the facts that nobody else can change, or a refusal.
 * @param {unknown} given
 * @returns {Facts}
 */
export function checkedFacts(given) {
  sound(isObject(given));
  const facts = structuredClone(given);
  sound(facts.format === FORMAT && facts.version === VERSION);
  sound(typeof facts.protocol === "string" && /^[0-9a-f]{32}$/.test(facts.protocol));
  sound(isNumber(facts.delta) && facts.delta > 0 && facts.delta <= MOST_DELTA);
  sound(isSize(facts.clip) && isSize(facts.slope) && isSize(facts.curvature));
  sound(isSize(facts.root) && facts.root === Math.sqrt(facts.curvature));
  sound(facts.intercept === 0 || isSize(facts.intercept));
  sound(isCount(facts.width) && facts.features === facts.width + (facts.intercept === 0 ? 0 : 1));
  sound(facts.features <= MOST_FEATURES);
  checkPart(facts.row, ROW_RATIO);
  checkPart(facts.cross, CROSS_RATIO);
  checkLimits(facts);
  checkGrid(facts.rounding, facts.clip);
  checkGrid(facts.predicting, facts.clip);
  if (facts.encoding !== null) checkEncoding(facts.encoding, facts.clip, facts.width);
  checkTarget(facts.target);
  return facts;
}
