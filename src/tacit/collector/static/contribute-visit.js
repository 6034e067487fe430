/** One visit to the contributor's page, step by step: what it is, questions, the numbers, sending, receipt. */

import { byId, download, el, notice } from "./contribute-dom.js";
import { form } from "./contribute-form.js";
import { pendingElsewhere, shelf } from "./contribute-kept.js";
import { partsOf } from "./contribute-parts.js";
import { key, leavingTable, wholeTable } from "./contribute-numbers.js";
import { questionsOf, teller } from "./contribute-questions.js";
import { mayWithdraw, readReceiptFile, receiptView } from "./contribute-receipt.js";
import { fits, letter, send } from "./contribute-sending.js";
import { readCode } from "./contribute-words.js";
import { systemSource } from "./client/perturb.js";
import { gaussianDelta, submissionMu } from "./client/price.js";

/** What may be said of numbers by which the best guesser is right in at most so many of 100 cases. */
const STRENGTHS = [["nothing", 55], ["little", 65], ["much", 90]];
/** Above this epsilon a submission as good as tells the record; epsilon alone, without its delta, says little. */
const LITTLE = 10;
const STEPS = ["about", "questions", "numbers", "sending", "receipt"];
/** Refusals that the page has a sentence of its own for. */
const KNOWN = new Set(["closed", "withdrawn"]);

export class Visit {
  /** @param {string} slug - the study of the page's own address: what is kept and sent goes by this name alone */
  constructor(slug, study, prepared, say) {
    Object.assign(this, { slug, study, prepared, say, noise: null, submission: null, waiting: false, tried: false, lasting: true });
    this.shelf = shelf(slug);
    this.questions = questionsOf(study.protocol, teller(study.texts, say.language));
    this.parts = partsOf(study.facts, this.questions, say);
    this.form = form(this.questions, say);
    this.invited = study.admission === "invitation";
    this.code = this.invitation();
  }

  /** The invitation that the link brought, after its #: that part of an address is never sent to anyone. */
  invitation() {
    return this.invited ? readCode(location.hash.slice(1)) : null;
  }

  /** Go to the step where this device left off. */
  begin() {
    byId("starting").hidden = true;
    byId("fields").replaceChildren(...this.form.nodes);
    byId("invitation-field").hidden = !this.invited;
    byId("invitation").value = this.code ?? "";
    byId("start").hidden = this.study.state !== "open";
    byId("earlier").hidden = !mayWithdraw(this.study);
    this.sayInvited();
    this.listen();
    const kept = this.shelf.get();
    byId("progress").hidden = !kept && this.study.state !== "open";
    if (kept) this.goOn(kept);
    else this.show("about", false);
  }

  /** Numbers of this device that were sent before, in this visit or another. */
  goOn(kept) {
    if (kept.receipt) this.showReceipt(kept, true);
    else this.resume(kept);
  }

  /** At the top of the page, whether the link has brought an invitation; a study that is over says nothing of it. */
  sayInvited() {
    const place = byId("invited");
    if (place) place.textContent = this.say(this.code ? "about.brought" : "about.brought-none");
  }

  listen() {
    byId("start").addEventListener("click", () => {
      this.sayElsewhere();
      this.show("questions");
    });
    byId("back-to-about").addEventListener("click", () => this.show("about"));
    byId("questions").addEventListener("submit", (event) => this.answered(event));
    byId("fields").addEventListener("change", () => {
      if (!byId("fields").querySelector("[aria-invalid]")) byId("mistakes").replaceChildren();
    });
    byId("back-to-questions").addEventListener("click", () => this.show("questions"));
    byId("invitation").addEventListener("input", () => this.readInvitation());
    const name = `tacit-submission-${this.slug}.json`;
    byId("download-body").addEventListener("click", () => download(name, this.body()));
    byId("send").addEventListener("click", () => this.firstSend());
    byId("retry").addEventListener("click", () => this.send());
    byId("other-person").addEventListener("click", () => this.askOther());
    byId("device-forget").addEventListener("click", () => this.forget());
    byId("device-keep").addEventListener("click", () => this.keep());
    byId("receipt-file").addEventListener("change", (event) => this.earlier(event.target.files[0]));
    window.addEventListener("hashchange", () => {
      if (!this.invitation()) return;
      this.waiting = false; // another link may be another person's: nothing leaves with its code by itself
      byId("invitation").value = this.invitation();
      this.readInvitation();
    });
    window.addEventListener("online", () => {
      if (this.waiting) this.send();
    });
  }

  show(step, moves = true) {
    const current = STEPS.indexOf(step);
    STEPS.forEach((name, place) => {
      byId(`step-${name}`).hidden = place !== current;
      const mark = byId(`mark-${name}`);
      mark.classList.toggle("done", place < current);
      if (place === current) mark.setAttribute("aria-current", "step");
      else mark.removeAttribute("aria-current");
    });
    byId("device").hidden = true;
    if (!moves) return;
    window.scrollTo(0, 0);
    byId(`step-${step}`).querySelector("h2").focus({ preventScroll: true });
  }

  /** The questions were answered: draw the noise, once, and show what would leave. */
  answered(event) {
    event.preventDefault();
    const { answers, target, mistakes } = this.form.read();
    this.sayMistakes(mistakes);
    if (mistakes.length) return;
    try {
      this.noise ??= this.prepared.draw(systemSource()); // changed answers keep it: nobody draws until it pleases
      this.submission = this.prepared.submission(answers, target, this.noise);
    } catch {
      byId("mistakes").replaceChildren(notice("danger", this.say("mistake.refused"), this.say("mistake.refused-why")));
      return;
    }
    const { row, cross } = this.study.facts;
    const shown = {
      parts: this.parts, questions: this.questions, answers, target, submission: this.submission, say: this.say,
      exact: this.prepared.exact(answers, target),
      scales: { row: row.step / row.scale, cross: cross.step / cross.scale },
    };
    byId("numbers-table").replaceChildren(key(this.say), leavingTable(shown));
    byId("meaning").replaceChildren(this.meaning());
    this.showParcel(byId("numbers-parcel"));
    this.show("numbers");
  }

  /** Before anything is drawn: numbers for another study that may have left, which may be of the same answers. */
  sayElsewhere() {
    const found = pendingElsewhere(this.slug);
    if (!found.length) return;
    const links = found.map((slug) => el("li", {}, el("a", { href: `/s/${slug}` }, slug)));
    const warning = notice("warning", this.say("device.elsewhere"), this.say("device.elsewhere-why"));
    warning.append(el("ul", {}, ...links));
    byId("elsewhere").replaceChildren(warning);
  }

  sayMistakes(mistakes) {
    const box = byId("mistakes");
    box.replaceChildren();
    if (!mistakes.length) return;
    const list = mistakes.map(({ label, message, go }) => {
      const link = el("a", { href: "#fields" }, label);
      link.addEventListener("click", (event) => {
        event.preventDefault();
        go();
      });
      return el("li", {}, link, ` ${message}`);
    });
    const summary = notice("danger", this.say("mistake.title", { count: mistakes.length }));
    summary.append(el("ul", {}, ...list));
    box.append(summary);
    box.focus();
  }

  /** What one person's numbers tell, as strongly as the noise allows to say it: computed here, taken from nobody. */
  meaning() {
    const { epsilon, delta } = this.study.guarantees.record;
    const apart = gaussianDelta(submissionMu(this.study.facts), 0); // the total variation, 2 Phi(mu/2) - 1
    const guess = Math.ceil(50 * (1 + apart)); // how many of 100 best guesses between two people are right
    const [strength] = STRENGTHS.find(([, most]) => guess <= most && epsilon <= LITTLE) ?? ["everything"];
    const checked = this.say("price.checked", { epsilon: rounded(epsilon), delta });
    if (strength === "everything") {
      return notice("danger", this.say("meaning.everything"), this.say("meaning.everything-why", { guess }), checked);
    }
    const sentences = [this.say("meaning.guess", { guess }), this.say("meaning.crowd"), checked];
    return notice("info", this.say(`meaning.${strength}`), ...sentences);
  }

  /** The invitation and the letter stand in the step from which they can be sent. */
  showParcel(place) {
    place.append(byId("parcel"));
    byId("exact-table").replaceChildren(wholeTable({ parts: this.parts, submission: this.submission, say: this.say }));
    byId("body").textContent = this.body();
  }

  body() {
    return letter(this.submission, this.code);
  }

  readInvitation() {
    this.code = readCode(byId("invitation").value);
    this.sayInvited();
    if (this.submission) byId("body").textContent = this.body();
    if (this.code) this.markInvitation("");
  }

  markInvitation(mistake) {
    byId("invitation-error").textContent = mistake;
    if (mistake) byId("invitation").setAttribute("aria-invalid", "true");
    else byId("invitation").removeAttribute("aria-invalid");
  }

  hasInvitation() {
    if (!this.invited || this.code) return true;
    this.markInvitation(this.say("invitation.mistake"));
    byId("invitation").focus();
    return false;
  }

  /** The moment from which the numbers are fixed: they are kept first, then sent. */
  firstSend() {
    if (!this.hasInvitation()) return;
    this.clear();
    const kept = this.shelf.get(); // another tab may have been faster
    if (kept) {
      this.goOn(kept);
      return;
    }
    this.lasting = this.shelf.put({ submission: this.submission, receipt: null, withdrawn: false });
    this.showParcel(byId("sending-parcel"));
    this.show("sending");
    this.send();
  }

  /** What was typed, and the numbers without noise, have done their duty: nobody finds them on the screen later. */
  clear() {
    for (const id of ["fields", "numbers-table"]) byId(id).replaceChildren();
    this.noise = this.form = null;
  }

  /** Numbers of an earlier visit that may have left: the same ones, if whoever is here now says that they are theirs. */
  resume(kept) {
    this.submission = kept.submission;
    this.showParcel(byId("sending-parcel"));
    byId("sending-problem").replaceChildren(notice("info", this.say("device.pending"), this.say("device.pending-why")));
    this.offerRetry("sending.mine");
    this.show("sending");
  }

  async send() {
    if (!this.hasInvitation()) return;
    this.waiting = false;
    this.tried = true;
    this.offerRetry(null);
    byId("sending-problem").replaceChildren();
    byId("sending-state").textContent = this.say("sending.busy");
    byId("sending-progress").hidden = false;
    const answer = await send(this.slug, this.body());
    byId("sending-progress").hidden = true;
    byId("sending-state").textContent = "";
    if (answer.kind === "done") this.received(answer.receipt);
    else this.failed(answer);
  }

  received(receipt) {
    if (!fits(receipt, this.slug, this.study.protocol.fingerprint, this.prepared.content(this.submission))) {
      this.problem("danger", "receipt.wrong", "sending.retry");
      return;
    }
    const kept = { submission: this.submission, receipt, withdrawn: false };
    this.lasting = this.shelf.put(kept);
    this.showReceipt(kept, false);
  }

  failed({ kind, reason }) {
    this.waiting = kind === "unknown";
    if (kind === "unknown") {
      this.problem("warning", `problem.${reason}`, "sending.retry", this.say(this.lasting ? "problem.kept" : "problem.not-kept"));
    } else if (reason.startsWith("invitation-")) {
      this.problem("warning", `problem.${reason}`, "sending.other-code");
      this.markInvitation(this.say("invitation.other"));
      byId("invitation").focus();
    } else {
      this.problem("danger", KNOWN.has(reason) ? `problem.${reason}` : "problem.refused", null);
    }
  }

  problem(kind, sentence, again, ...more) {
    byId("sending-problem").replaceChildren(notice(kind, this.say(sentence), this.say(`${sentence}-why`), ...more));
    this.offerRetry(again);
    if (again) byId("retry").focus();
  }

  /** The button that sends the same numbers, with these words on it; null: none. */
  offerRetry(words) {
    byId("retry").hidden = words === null;
    if (words !== null) byId("retry").textContent = this.say(words);
    byId("other-person").hidden = !byId("sending-progress").hidden;
  }

  showReceipt(kept, again, own = true) {
    const onWithdrawn = () => {
      const taken = { ...kept, withdrawn: true };
      if (own) this.shelf.put(taken);
      this.showReceipt(taken, false, own);
    };
    const onOther = own ? () => this.askOther() : null;
    const onForget = own && this.lasting ? () => this.forgetReceipt() : null;
    const view = receiptView({ study: this.study, kept, again, say: this.say, onWithdrawn, onOther, onForget });
    byId("receipt").replaceChildren(...view);
    this.show("receipt");
  }

  /** A receipt from a file. */
  async earlier(file) {
    const kept = file && readReceiptFile(await file.text(), this.study, this.prepared.content);
    const wrong = notice("danger", this.say("earlier.wrong"), this.say("earlier.wrong-why"));
    if (kept) this.showReceipt(kept, true, false);
    else byId("earlier-problem").replaceChildren(wrong);
  }

  askOther() {
    byId("device").hidden = false;
    byId("device-title").focus();
    byId("device").scrollIntoView({ block: "nearest" });
  }

  keep() {
    byId("device").hidden = true;
  }

  /** Its owner is done, and others use this device: nothing stays in the browser, the address or the page. */
  forgetReceipt() {
    this.shelf.forget();
    this.submission = this.code = null;
    history.replaceState(null, "", location.pathname + location.search);
    for (const link of document.querySelectorAll("a[hreflang]")) link.hash = "";
    byId("invitation").value = "";
    for (const id of ["exact-table", "body"]) byId(id).replaceChildren();
    byId("receipt").replaceChildren(notice("info", this.say("device.gone"), this.say("device.gone-why")));
    this.show("receipt");
  }

  /** Someone else takes this device: nothing of the one before stays, and the page starts anew. */
  forget() {
    this.shelf.forget();
    if (this.tried) location.hash = ""; // a code of this visit is used; one that a new link brought is the new person's
    location.reload();
  }
}

/** Rounded up to three digits, as a price is. */
function rounded(value) {
  if (value === 0) return 0;
  const unit = 10 ** (Math.floor(Math.log10(value)) - 2);
  return Number((Math.ceil(value / unit) * unit).toPrecision(3));
}
