/**
 * The two letters that a contributor sends: a submission, and its withdrawal. No cookies, no referrer.
 *
 * An answer is {kind, reason, receipt}: `done`; `refused` (the service understood, and says no); `unknown` (no answer,
 * or none that says whether the numbers arrived): the very same letter may then be sent again.
 */

const PATIENCE = 30_000;
const LATER = new Set([408, 425, 429]);

/** The letter of a submission, byte for byte as it is sent. */
export function letter(submission, invitation) {
  return JSON.stringify({ invitation, submission });
}

/** Send a submission's letter. */
export function send(study, body) {
  return post(`/api/studies/${study}/submissions`, body);
}

/** Take a submission back: whoever knows its very numbers may. */
export function withdraw(study, submission) {
  return post(`/api/studies/${study}/withdrawals`, JSON.stringify({ submission }));
}

async function post(address, body) {
  let answer;
  try {
    answer = await fetch(address, {
      method: "POST",
      body,
      headers: { "Content-Type": "application/json" },
      credentials: "omit",
      cache: "no-store",
      redirect: "error",
      referrerPolicy: "no-referrer",
      signal: AbortSignal.timeout?.(PATIENCE),
    });
  } catch {
    return { kind: "unknown", reason: navigator.onLine === false ? "offline" : "unreachable" };
  }
  let said = null;
  try {
    said = await answer.json();
  } catch {
    // cut off, or not from the service itself: whether it arrived is not known
  }
  if (answer.ok && said !== null) return { kind: "done", receipt: said };
  if (answer.status >= 400 && answer.status < 500 && !LATER.has(answer.status) && typeof said?.reason === "string") {
    return { kind: "refused", reason: said.reason, status: answer.status };
  }
  return { kind: "unknown", reason: answer.status === 429 ? "busy" : "failed" };
}

/** Whether a receipt is one for these very numbers. */
export function fits(receipt, study, protocol, content) {
  const same = receipt?.study === study && receipt.protocol === protocol && receipt.content === content;
  return same && typeof receipt.code === "string";
}
