/**
 * The one way in which this client says no.
 *
 * `reason` is a short code for programs, the message a sentence for people. Neither ever quotes an answer: what is
 * thrown here may end up in a log.
 */
export class Refused extends Error {
  /**
   * @param {"facts" | "answer" | "target" | "noise" | "long" | "source" | "price" | "model"} reason
   * @param {string} sentence
   */
  constructor(reason, sentence) {
    super(sentence);
    this.name = "Refused";
    this.reason = reason;
  }
}

/**
 * @param {boolean} holds
 * @param {"facts" | "answer" | "target" | "noise" | "long" | "source" | "price" | "model"} reason
 * @param {string} sentence
 */
export function check(holds, reason, sentence) {
  if (!holds) throw new Refused(reason, sentence);
}
