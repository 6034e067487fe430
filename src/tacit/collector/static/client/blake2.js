/**
 * BLAKE2b with a key and a personalisation (RFC 7693; section 2.8 of the BLAKE2 paper for the latter): what a
 * submission is known by.
 */

const MASK = (1n << 64n) - 1n;
const BLOCK = 128;
/** Fractional parts of the square roots of the first eight primes. */
const START = [
  0x6a09e667f3bcc908n, 0xbb67ae8584caa73bn, 0x3c6ef372fe94f82bn, 0xa54ff53a5f1d36f1n,
  0x510e527fade682d1n, 0x9b05688c2b3e6c1fn, 0x1f83d9abfb41bd6bn, 0x5be0cd19137e2179n,
];
/** In which order each round takes the sixteen words of a block. */
const ORDERS = [
  [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
  [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
  [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
  [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
  [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
  [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
  [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
  [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
  [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
  [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
];
/** Columns, then diagonals, of the four by four words of the state. */
const QUARTERS = [
  [0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15],
  [0, 5, 10, 15], [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14],
];

const rotated = (word, by) => (word >> by) | ((word << (64n - by)) & MASK);

/** @param {bigint[]} v */
function mix(v, [a, b, c, d], x, y) {
  v[a] = (v[a] + v[b] + x) & MASK;
  v[d] = rotated(v[d] ^ v[a], 32n);
  v[c] = (v[c] + v[d]) & MASK;
  v[b] = rotated(v[b] ^ v[c], 24n);
  v[a] = (v[a] + v[b] + y) & MASK;
  v[d] = rotated(v[d] ^ v[a], 16n);
  v[c] = (v[c] + v[d]) & MASK;
  v[b] = rotated(v[b] ^ v[c], 63n);
}

/**
 * @param {bigint[]} state
 * @param {bigint[]} words sixteen of them
 * @param {number} seen bytes so far, those of this block included
 */
function compress(state, words, seen, last) {
  const v = [...state, ...START];
  v[12] ^= BigInt(seen);
  if (last) v[14] ^= MASK;
  for (let round = 0; round < 12; round += 1) {
    const order = ORDERS[round % 10];
    QUARTERS.forEach((quarter, i) => mix(v, quarter, words[order[2 * i]], words[order[2 * i + 1]]));
  }
  for (let i = 0; i < 8; i += 1) state[i] ^= v[i] ^ v[i + 8];
}

/** Bytes as words, the lowest byte first, whatever the machine's own order is. */
function wordsOf(bytes, start, count) {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  return Array.from({ length: count }, (_, i) => view.getBigUint64(start + 8 * i, true));
}

/**
 * @param {Uint8Array} message
 * @param {{size: number, key: Uint8Array, person: Uint8Array}} how size in bytes; a key of 1 to 64, a person of 16
 * @returns {string} hexadecimal
 */
export function blake2b(message, { size, key, person }) {
  const state = [...START];
  state[0] ^= 0x01010000n ^ (BigInt(key.length) << 8n) ^ BigInt(size);
  const [first, second] = wordsOf(person, 0, 2);
  state[6] ^= first;
  state[7] ^= second;
  const blocks = 1 + Math.ceil(message.length / BLOCK); // the key fills a block of its own
  const padded = new Uint8Array(blocks * BLOCK);
  padded.set(key);
  padded.set(message, BLOCK);
  for (let i = 0; i < blocks; i += 1) {
    const last = i === blocks - 1;
    compress(state, wordsOf(padded, i * BLOCK, 16), last ? BLOCK + message.length : (i + 1) * BLOCK, last);
  }
  const out = new Uint8Array(64);
  state.forEach((word, i) => new DataView(out.buffer).setBigUint64(8 * i, word, true));
  return [...out.subarray(0, size)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
