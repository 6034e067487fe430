/**
 * What this device keeps of a contribution: the perturbed numbers, and the receipt once it is there. Never what was
 * typed, never the invitation. Once numbers may have left they are fixed: a second draw would tell more about the same
 * person, so retries, reloads and other tabs all find the same ones here.
 *
 * @typedef {{submission: object, receipt: object | null, withdrawn: boolean}} Kept
 */

const PREFIX = "tacit-contribution-";
const memory = new Map();

/** The shelf of one study on this device. `lasting` is false where the browser keeps nothing beyond this page. */
export function shelf(study) {
  const key = PREFIX + study;
  const read = () => {
    try {
      return localStorage.getItem(key) ?? memory.get(key) ?? null;
    } catch {
      return memory.get(key) ?? null;
    }
  };
  return {
    /** @returns {Kept | null} */
    get() {
      return keptIn(read());
    },
    /** Keep it; false where it lasts only as long as this page. */
    put(kept) {
      const text = JSON.stringify(kept);
      memory.set(key, text);
      try {
        localStorage.setItem(key, text);
        return localStorage.getItem(key) === text;
      } catch {
        return false;
      }
    },
    forget() {
      memory.delete(key);
      try {
        localStorage.removeItem(key);
      } catch {
        // a browser that keeps nothing has nothing to forget
      }
    },
  };
}

/**
 * Other studies on this device whose numbers may have left and have no receipt. A server that only says that nothing
 * arrived, and then asks again under another address, would get a second draw of the same answers.
 * @returns {string[]} their names
 */
export function pendingElsewhere(study) {
  try {
    return Object.keys(localStorage)
      .filter((key) => key.startsWith(PREFIX) && key !== PREFIX + study)
      .filter((key) => keptIn(localStorage.getItem(key))?.receipt === null)
      .map((key) => key.slice(PREFIX.length));
  } catch {
    return []; // a browser that keeps nothing knows of nothing
  }
}

/** @returns {Kept | null} */
function keptIn(text) {
  try {
    const kept = JSON.parse(text ?? "null");
    return [kept?.submission?.q, kept?.submission?.p].every(Array.isArray) ? kept : null;
  } catch {
    return null;
  }
}
