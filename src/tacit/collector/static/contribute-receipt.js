/** The receipt: what it says, what it is good for, how to keep it, and how to take the contribution back. */

import { download, el, notice } from "./contribute-dom.js";
import { fits, withdraw } from "./contribute-sending.js";

const UNTRAINED = new Set(["open", "closed"]);

/** Whether a contribution can be taken back now: the study allows it, and its model has not been made. */
export function mayWithdraw(study) {
  return study.withdrawal && UNTRAINED.has(study.state);
}

/**
 * The content of the receipt's step.
 * @param {{study: object, kept: import("./contribute-kept.js").Kept, again: boolean, say: Function,
 *   onWithdrawn: () => void, onOther: (() => void) | null, onForget: (() => void) | null}} options - again: it was
 *   there before this visit; onOther: null for a receipt from a file; onForget: null where this browser keeps nothing
 */
export function receiptView({ study, kept, again, say, onWithdrawn, onOther, onForget }) {
  const { receipt } = kept;
  const save = el("button", { type: "button", class: "primary", id: "download-receipt" }, say("receipt.download"));
  save.addEventListener("click", () => download(`tacit-receipt-${study.study}.json`, receiptFile(kept)));
  const print = el("button", { type: "button", id: "print-receipt" }, say("receipt.print"));
  print.addEventListener("click", () => window.print());
  const other = onOther && el("button", { type: "button", id: "forget" }, say("device.other"));
  other?.addEventListener("click", onOther);
  const arrived = onOther === null ? "receipt.opened" : again ? "receipt.again" : "receipt.done";
  return [
    kept.withdrawn
      ? notice("info", say("withdrawn.title"), say("withdrawn.means"))
      : notice("success", say(arrived), say("receipt.counted")),
    el(
      "dl", { class: "receipt" },
      ...["code", "content", "study", "protocol"].flatMap((name) => [
        el("dt", {}, say(`receipt.${name}`)),
        el("dd", { id: `receipt-${name}` }, receipt[name]),
      ]),
    ),
    el("p", {}, say(kept.withdrawn ? "receipt.meant" : "receipt.means")),
    kept.withdrawn ? null : el("p", {}, say("receipt.file")),
    el("div", { class: "actions" }, save, print),
    kept.withdrawn ? null : takingBack({ study, kept, say, onWithdrawn }),
    onForget && keptHere(say, onForget),
    other && el("div", { class: "actions" }, other),
  ].filter((node) => node !== null);
}

/** What this browser keeps, who can see it, and how it is forgotten: others may use the same device. */
function keptHere(say, onForget) {
  const forget = el("button", { type: "button", id: "forget-receipt" }, say("device.forget-receipt"));
  forget.addEventListener("click", onForget);
  const [heading, what] = [el("h3", {}, say("device.kept")), el("p", {}, say("device.kept-why"))];
  return el("div", { class: "no-print", id: "kept-here" }, heading, what, el("div", { class: "actions" }, forget));
}

/** The receipt's file: with the numbers inside, because whoever knows them may take them back. */
export function receiptFile(kept) {
  return JSON.stringify({ receipt: kept.receipt, submission: kept.submission }, null, 1);
}

/** Read such a file; null for anything else, or numbers that are not those of the receipt. */
export function readReceiptFile(text, study, contentOf) {
  try {
    const { receipt, submission } = JSON.parse(text);
    const { fingerprint } = study.protocol;
    const own = submission.protocol === fingerprint && fits(receipt, study.study, fingerprint, contentOf(submission));
    return own ? { submission, receipt, withdrawn: false } : null;
  } catch {
    return null;
  }
}

function takingBack({ study, kept, say, onWithdrawn }) {
  const heading = el("h3", {}, say("withdraw.heading"));
  if (!study.withdrawal) return el("div", { class: "no-print" }, heading, el("p", {}, say("withdraw.never")));
  if (!mayWithdraw(study)) return el("div", { class: "no-print" }, heading, el("p", {}, say("withdraw.late")));
  const ask = el("button", { type: "button", class: "danger", id: "withdraw" }, say("withdraw.ask"));
  const sure = el("button", { type: "button", class: "danger", id: "withdraw-sure" }, say("withdraw.sure"));
  const no = el("button", { type: "button", id: "withdraw-no" }, say("withdraw.no"));
  const answers = el("div", { class: "actions" }, sure, no);
  const question = el("div", { hidden: true }, el("p", {}, say("withdraw.question")), answers);
  const state = el("div", { role: "alert" });
  const first = el("div", { class: "actions" }, ask);
  const open = (opened) => {
    question.hidden = !opened;
    first.hidden = opened;
    (opened ? sure : ask).focus();
  };
  ask.addEventListener("click", () => open(true));
  no.addEventListener("click", () => open(false));
  sure.addEventListener("click", async () => {
    sure.disabled = true;
    const answer = await withdraw(study.study, kept.submission);
    sure.disabled = false;
    const { kind, receipt: said } = answer;
    if (kind === "done" && said.withdrawn === true && said.content === kept.receipt.content) onWithdrawn();
    else state.replaceChildren(notice("danger", say("withdraw.failed"), say(withdrawProblem(answer))));
  });
  return el("div", { class: "no-print" }, heading, el("p", {}, say("withdraw.may")), first, question, state);
}

function withdrawProblem(answer) {
  if (answer.kind !== "refused") return "problem.unreachable";
  return { 404: "withdraw.unknown", 409: "withdraw.late", 403: "withdraw.never" }[answer.status] ?? "problem.refused";
}
