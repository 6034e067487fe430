/**
 * Answers become a row of numbers: `Schema.encode` of Python, operation for operation, so the last bit agrees.
 *
 * Each kind of column turns its answer, by itself and by public constants alone, into numbers of norm at most 1.
 *
 * @typedef {number | string | boolean | null} Answer
 * @typedef {{kind: string, name: string, width: number, lower?: number, upper?: number, points?: number[],
 *   missing?: boolean, values?: Answer[], keys?: (number | string)[]}} Column
 * @typedef {{boxed: boolean, factor: number, limit: number, markers: number[], columns: Column[],
 *   pairs: [Column, Column][]}} Encoding
 */

import { check } from "./refused.js";
import { clipFactor } from "./rows.js";

const clamp = (value, lower, upper) => Math.min(Math.max(value, lower), upper);

/**
 * How many of the points, which rise, are at most the value: NumPy's searchsorted(side="right").
 * @param {number[]} points
 * @param {number} value
 */
function countUpTo(points, value) {
  let count = 0;
  while (count < points.length && points[count] <= value) count += 1;
  return count;
}

/** Where a missing answer stands in a curve, unless it has a slot of its own. */
const middle = ({ lower, upper }) => lower + (upper - lower) / 2;

/** The writers of the kinds: (column, answer, out, centred), `out` holding zeros; a missing answer is null. */
const WRITERS = {
  number(column, answer, out, centred) {
    if (answer === null) {
      out[0] = column.missing || centred ? 0 : 0.5;
      if (column.missing) out[1] = 1;
      return;
    }
    const place = (clamp(answer, column.lower, column.upper) - column.lower) / (column.upper - column.lower);
    out[0] = centred ? place * 2 - 1 : place;
  },
  bins(column, answer, out) {
    if (answer === null && column.missing) {
      out[column.width - 1] = 1;
      return;
    }
    out[countUpTo(column.points, clamp(answer ?? middle(column), column.lower, column.upper))] = 1;
  },
  hats(column, answer, out) {
    if (answer === null && column.missing) {
      out[column.width - 1] = 1;
      return;
    }
    const value = clamp(answer ?? middle(column), column.lower, column.upper);
    const edges = [column.lower, ...column.points, column.upper];
    const left = countUpTo(column.points, value);
    const along = (value - edges[left]) / (edges[left + 1] - edges[left]);
    out[left] = 1 - along;
    out[left + 1] = along;
  },
  category(column, answer, out) {
    const place = column.keys.indexOf(answer); // -1 where it is none of these, or missing: the last slot
    out[place < 0 ? column.width - 1 : place] = 1;
  },
};

export const KINDS = Object.keys(WRITERS);

/**
 * Every encoding of a column: by itself, then in pairs.
 * @param {Encoding} encoding
 */
export function encodings(encoding) {
  return [...encoding.columns, ...encoding.pairs.flat()];
}

/**
 * What a column's encodings compare: a number, the key of a declared value, or null for what is missing.
 *
 * Python compares cells as text, numerals and truths as numbers. A page has the declared values themselves, so here an
 * answer must be one of them exactly, and anything else is refused rather than guessed; "other" is null.
 *
 * @param {Column[]} own the encodings of this column
 * @param {unknown} answer
 * @param {number[]} markers numbers that stand for a missing answer
 * @returns {number | string | null}
 */
function canonical(own, answer, markers) {
  if (answer === null) return null;
  const numeric = own.some(({ kind }) => kind !== "category");
  let key = Number.isFinite(answer) ? answer : undefined;
  for (const { values, keys } of own) {
    const place = values === undefined ? -1 : values.indexOf(answer);
    if (place >= 0) key = keys[place];
  }
  const declared = own.some(({ keys }) => keys?.includes(key));
  check(
    numeric ? typeof key === "number" : declared,
    "answer",
    `The answer to ${own[0].name} is ${numeric ? "not a number" : "none of the declared values"}.`,
  );
  return markers.includes(key) ? null : key;
}

/**
 * One column's numbers.
 * @param {Column} column
 * @param {number | string | null} answer
 * @param {boolean} centred
 */
function written(column, answer, centred) {
  const out = new Float64Array(column.width);
  WRITERS[column.kind](column, answer, out, centred);
  return out;
}

/**
 * The encoded row of norm at most the clip.
 * @param {Encoding} encoding
 * @param {Record<string, Answer>} answers one for each column; null is missing
 * @returns {Float64Array}
 */
export function encode(encoding, answers) {
  check(answers !== null && typeof answers === "object", "answer", "Expected an answer for each question.");
  const found = new Map();
  for (const name of new Set(encodings(encoding).map((column) => column.name))) {
    check(Object.hasOwn(answers, name), "answer", `There is no answer to ${name}; null says that it is missing.`);
    const own = encodings(encoding).filter((column) => column.name === name);
    found.set(name, canonical(own, answers[name], encoding.markers));
  }
  const numbersOf = (column) => written(column, found.get(column.name), encoding.boxed);
  const row = encoding.columns.flatMap((column) => [...numbersOf(column)]);
  for (const [first, second] of encoding.pairs) {
    const other = numbersOf(second);
    for (const factor of numbersOf(first)) row.push(...other.map((value) => factor * value));
  }
  const values = Float64Array.from(row);
  const factor = encoding.boxed ? encoding.factor : clipFactor(values, encoding.limit);
  return values.map((value) => value * factor);
}
