/**
 * Where randomness comes from: sources of 64-bit words, as in `tacit.privacy.sources`.
 *
 * @typedef {{seeded: boolean, words: (count: number) => BigUint64Array}} Source
 */

import { check } from "./refused.js";

/** Words that one call of getRandomValues may ask for: 65,536 bytes. */
const PORTION = 65536 / 8;

/**
 * Words of the browser's cryptographic generator. Holds no state, so copies never repeat noise.
 * @returns {Source}
 */
export function systemSource() {
  const generator = globalThis.crypto;
  check(
    typeof generator?.getRandomValues === "function",
    "source",
    "This browser has no cryptographic random numbers, so nothing can be hidden here. Please use another one.",
  );
  return Object.freeze({
    seeded: false,
    words(count) {
      const words = new BigUint64Array(count);
      for (let start = 0; start < count; start += PORTION) {
        generator.getRandomValues(words.subarray(start, start + PORTION)); // fills them in place, or throws
      }
      return words;
    },
  });
}

/**
 * These words and no others, for tests: whoever knows them knows the noise, so submissions made with them say so.
 * @param {Iterable<bigint>} script
 * @returns {Source & {left: () => number}}
 */
export function forcedSource(script) {
  const words = BigUint64Array.from(script);
  let next = 0;
  return Object.freeze({
    seeded: true,
    words(count) {
      check(next + count <= words.length, "source", "More random words were asked for than there are.");
      next += count;
      return words.slice(next - count, next);
    },
    left: () => words.length - next,
  });
}
