/**
 * Exact normal draws in whole numbers: the sampler of `tacit.privacy.normals`, word for word.
 *
 * A draw is an interval [place, place + 1) 2**-bits that holds an ideal standard normal number z, of which nothing else
 * is decided yet; further digits are drawn when they are needed. So [r z], the nearest whole number, is exactly that of
 * an ideal z. How intervals come about (boxes of equal area under A exp(-x^2/2), a table of 2**15 entries, columns for
 * both tails) is told there.
 *
 * Python decides in double precision where the distance is larger than any rounding error, and exactly elsewhere. Here
 * every decision is made exactly, by whole numbers of any size: both ask for the same words in the same order and come
 * to the same numbers, because a short cut is taken only where it cannot change the answer.
 *
 * @typedef {import("./source.js").Source} Source
 * @typedef {{place: bigint, bits: bigint}} Interval
 */

import { expNegative } from "./exponential.js";
import { check } from "./refused.js";

const BITS = 54n;
/** Digits of x in a word; the other 15 choose the entry of the table. */
const PLACE_BITS = 49n;
const PLACE = (1n << PLACE_BITS) - 1n;
const COLUMNS = 6 * 32;
const TAIL = 6n;
/** A, the height of the curve at 0 in boxes. */
const FACTOR = 400n;
/** Draws of one round of words, as in Python, which works in pieces that stay in cache. */
const TOGETHER = 1 << 17;

/**
 * Whole part of A exp(-(i/32)^2 / 2): 400 at 0, and nowhere else within 1e-6 of a whole number. Python's margins of
 * 1e-9, which pay for the rounding of its exponential, therefore give the same boxes.
 * @param {number} i
 */
function wholeHeight(i) {
  const { mantissa, halvings } = expNegative(BigInt(i * i), 11n, 128n);
  return Number((FACTOR * mantissa) >> (128n + halvings));
}

/** Entry -> column and level of its box: first the boxes under the curve, then those that it crosses; then two tails. */
function buildTable() {
  const under = { columns: /** @type {bigint[]} */ ([]), levels: /** @type {bigint[]} */ ([]) };
  const crossed = { columns: /** @type {bigint[]} */ ([]), levels: /** @type {bigint[]} */ ([]) };
  for (let i = 0; i < COLUMNS; i += 1) {
    const height = wholeHeight(i) + 1; // the lowest whole number above it, at 0 too
    const safe = wholeHeight(i + 1);
    for (let level = 0; level < height; level += 1) {
      const boxes = level < safe ? under : crossed;
      boxes.columns.push(BigInt(i), BigInt(-1 - i)); // each is followed by its mirror image
      boxes.levels.push(BigInt(level), BigInt(level));
    }
  }
  const columns = [...under.columns, ...crossed.columns];
  return { columns, levels: [...under.levels, ...crossed.levels], quick: under.columns.length, boxes: columns.length };
}

const TABLE = buildTable();

/** @param {bigint} word */
const entryOf = (word) => Number(word >> PLACE_BITS);

/** @param {Source} source */
const oneWord = (source) => source.words(1)[0];

/**
 * 64 more digits.
 * @param {Interval} one
 * @param {Source} source
 */
function refine(one, source) {
  one.place = (one.place << 64n) | oneWord(source);
  one.bits += 64n;
}

/**
 * The interval that a word of some box says: the column of its entry, followed by its 49 digits.
 * @param {bigint} word
 * @returns {Interval}
 */
function boxInterval(word) {
  return { place: (TABLE.columns[entryOf(word)] << PLACE_BITS) + (word & PLACE), bits: BITS };
}

/**
 * Whether y < height exp(-x^2/2), with as many digits of x, y and the exponential as that takes.
 * @param {Source} source
 * @param {Interval} x
 * @param {bigint} height
 * @param {Interval} y
 */
function isUnder(source, x, height, y) {
  for (;;) {
    const digits = 128n + 2n * (x.bits + y.bits);
    const [inner, outer] = x.place < 0n ? [-1n - x.place, -x.place] : [x.place, x.place + 1n];
    const shift = 2n * x.bits + 1n;
    const low = expNegative(outer * outer, shift, digits);
    if ((y.place + 1n) << (digits + low.halvings) <= (height * (low.mantissa - 2n)) << y.bits) return true;
    const high = expNegative(inner * inner, shift, digits);
    if (y.place << (digits + high.halvings) >= (height * (high.mantissa + 2n)) << y.bits) return false;
    refine(x, source);
    refine(y, source);
  }
}

/**
 * A point of the tail's columns: its interval if it is under the curve, else null.
 * @param {Source} source
 * @param {boolean} upper
 * @returns {Interval | null}
 */
function drawTail(source, upper) {
  let column = 0n;
  for (let heads = 64n; heads === 64n; column += heads) {
    const word = oneWord(source);
    heads = 0n; // how many coins in a row come up heads: the ones at the word's end
    while (heads < 64n && (word >> heads) & 1n) heads += 1n;
  }
  const place = (oneWord(source) >> (65n - BITS)) + (TAIL << BITS) + (column << (BITS - 1n));
  const one = { place: upper ? place : -1n - place, bits: BITS };
  const y = { place: oneWord(source), bits: 64n };
  return isUnder(source, one, FACTOR << (column + 5n), y) ? one : null;
}

/**
 * The draws at these positions, whose words chose a box that is not wholly under the curve, or none.
 *
 * The order of asking is Python's: the second words of all crossed boxes at once, then tails one by one, then new words
 * for all that are drawn again.
 *
 * @param {Source} source
 * @param {Interval[]} draws
 * @param {{at: number, word: bigint}[]} late
 */
function decide(source, draws, late) {
  while (late.length > 0) {
    const again = new Set(late);
    const crossed = late.filter(({ word }) => entryOf(word) < TABLE.boxes);
    const second = source.words(crossed.length);
    crossed.forEach((one, i) => {
      const x = boxInterval(one.word);
      const y = { place: (TABLE.levels[entryOf(one.word)] << 64n) | second[i], bits: 64n };
      if (isUnder(source, x, FACTOR, y)) {
        draws[one.at] = x;
        again.delete(one);
      }
    });
    for (const one of late) {
      const side = entryOf(one.word) - TABLE.boxes; // 0: the upper tail, 1: the lower one, else none
      const tail = side === 0 || side === 1 ? drawTail(source, side === 0) : null;
      if (tail !== null) {
        draws[one.at] = tail;
        again.delete(one);
      }
    }
    late = place(source.words(again.size), draws, [...again].map(({ at }) => at));
  }
}

/**
 * Put the draws whose words chose a box under the curve where they belong; the others are given back.
 * @param {BigUint64Array} words
 * @param {Interval[]} draws
 * @param {number[]} positions
 */
function place(words, draws, positions) {
  /** @type {{at: number, word: bigint}[]} */
  const late = [];
  positions.forEach((at, i) => {
    const word = words[i];
    if (entryOf(word) < TABLE.quick) draws[at] = boxInterval(word);
    else late.push({ at, word });
  });
  return late;
}

/**
 * A double as mantissa 2**exponent in whole numbers.
 * @param {number} value positive
 */
function parts(value) {
  let exponent = 0n;
  for (; !Number.isInteger(value); exponent -= 1n) value *= 2; // exact: a power of two
  return { mantissa: BigInt(value), exponent };
}

/**
 * The whole number nearest to ratio z, with as many digits of z as that takes.
 * @param {Source} source
 * @param {Interval} one
 * @param {{mantissa: bigint, exponent: bigint}} ratio
 */
function nearest(source, one, ratio) {
  for (;;) {
    const shift = one.bits - ratio.exponent;
    const half = 1n << (shift - 1n);
    const low = (ratio.mantissa * one.place + half) >> shift;
    const high = (ratio.mantissa * (one.place + 1n) + half - 1n) >> shift;
    if (low === high) return low;
    refine(one, source);
  }
}

/**
 * [ratio z] for independent ideal standard normal z: whole numbers, exactly as an ideal draw would round.
 * @param {Source} source
 * @param {number} count
 * @param {number} ratio between 0 and 2**52
 * @returns {bigint[]}
 */
export function whole(source, count, ratio) {
  check(ratio > 0 && ratio < 2 ** 52, "noise", "Noise of this scale cannot be drawn.");
  const exact = parts(ratio);
  /** @type {bigint[]} */
  const found = [];
  while (found.length < count) {
    const size = Math.min(TOGETHER, count - found.length);
    /** @type {Interval[]} */
    const draws = new Array(size);
    decide(source, draws, place(source.words(size), draws, [...draws.keys()]));
    for (const one of draws) found.push(nearest(source, one, exact));
  }
  return found;
}
