/**
 * What a page can check of a model: that the file arrived whole, that it is of this study, and what the study's noise is
 * worth to one record. All of it comes from one server, so it finds damage and mistakes, and no lies: the page says so.
 *
 * @typedef {{outcome: "good" | "bad" | "none", key: string, places?: Record<string, string>}} Check
 */

import { recordEpsilon } from "./client/price.js";

const DIGITS = 4;

/** @param {ArrayBuffer} bytes */
async function sha256(bytes) {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** @returns {Promise<Check>} */
async function sumCheck(bytes, stated) {
  if (!globalThis.crypto?.subtle) return { outcome: "none", key: "verify.sum-none" };
  const same = (await sha256(bytes)) === stated;
  return same ? { outcome: "good", key: "verify.sum-good" } : { outcome: "bad", key: "verify.sum-bad" };
}

/** @returns {Check} */
function sameCheck(facts, model) {
  const named = [model.guarantee, model.record_guarantee].every((one) => one.collection === facts.protocol);
  return named ? { outcome: "good", key: "verify.same-good" } : { outcome: "bad", key: "verify.same-bad" };
}

/** @returns {Check} */
function priceCheck(facts, { epsilon, delta }) {
  try {
    const found = recordEpsilon(facts, delta);
    if (!(found <= epsilon)) return { outcome: "bad", key: "verify.price-bad" };
    return { outcome: "good", key: "verify.price-good", places: { found: upTo(found), stated: upTo(epsilon) } };
  } catch {
    return { outcome: "bad", key: "verify.price-bad" };
  }
}

/** A number with some digits, never below it. */
function upTo(value) {
  const size = 10 ** (Math.floor(Math.log10(value)) + 1 - DIGITS);
  return Number((Math.ceil(value / size - 1e-9) * size).toPrecision(DIGITS));
}

/**
 * @param {object} facts
 * @param {object} model the file, read
 * @param {ArrayBuffer} bytes the file, as it arrived
 * @param {string} stated the checksum that the page shows
 * @returns {Promise<Check[]>}
 */
export async function checks(facts, model, bytes, stated) {
  return [await sumCheck(bytes, stated), sameCheck(facts, model), priceCheck(facts, model.record_guarantee)];
}
