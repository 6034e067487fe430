/** The form to predict: the study's questions but for the last, and an answer in plain words. */

import { score } from "./client/predict.js";
import { byId, el, notice } from "./contribute-dom.js";
import { form } from "./contribute-form.js";
import { questionsOf, teller } from "./contribute-questions.js";

/**
 * @param {object} study what the service says of the study
 * @param {object} model its model file
 */
export function predicting(study, model, say) {
  const all = questionsOf(study.protocol, teller(study.texts, say.language));
  const [questions, target] = [all.slice(0, -1), all.at(-1)];
  const fields = form(questions, say);
  byId("fields").replaceChildren(...fields.nodes);
  const asked = byId("questions");
  asked.hidden = false;
  asked.addEventListener("submit", (event) => {
    event.preventDefault();
    const read = fields.read();
    if (!showMistakes(read.mistakes, say)) return;
    // The form takes its last question for the target; here it is one of the answers.
    const answers = { ...read.answers, [questions.at(-1).name]: read.target };
    byId("prediction").replaceChildren(...told(study.facts, model, answers, target, say));
  });
  asked.addEventListener("input", () => byId("prediction").replaceChildren()); // it was of other answers
}

/** Say what has to be corrected, and move there; whether there is nothing. */
function showMistakes(mistakes, say) {
  const place = byId("mistakes");
  place.replaceChildren();
  if (!mistakes.length) return true;
  byId("prediction").replaceChildren();
  const lines = mistakes.map(({ label, message, go }) => {
    const button = el("button", { type: "button", class: "quiet" }, `${label}: ${message}`);
    button.addEventListener("click", go);
    return el("li", {}, button);
  });
  const shown = notice("danger", say("predict.mistakes", { count: mistakes.length }));
  shown.append(el("ul", {}, ...lines));
  place.append(shown);
  place.focus();
  return false;
}

function told(facts, model, answers, target, say) {
  let found;
  try {
    found = score(facts, model, answers);
  } catch {
    return [notice("danger", say("predict.failed"))];
  }
  const { worth, quality } = byId("model").dataset;
  const useful = worth === "yes"; // what is no better than guessing has no probability, and is said to be so first
  const ofTarget = found.value === undefined ? ofClasses : ofNumber;
  const sentences = ofTarget(facts, found, target, say, useful);
  const [first, ...others] = sentences;
  return [
    el("h3", {}, say("predict.result")),
    ...(useful ? [] : [notice("danger", quality)]),
    el("p", { class: "result", id: "result" }, first),
    ...others.map((sentence) => el("p", {}, sentence)),
    ...(useful ? [el("p", {}, quality)] : []),
    el("p", { class: "soft" }, say("predict.caution")),
  ];
}

function ofClasses(facts, { probability, label }, target, say, useful) {
  const first = say("predict.class", { target: target.label, label: target.called(label) });
  if (!useful) return [first];
  const own = label === facts.target.classes[1] ? probability : 1 - probability;
  const share = Math.round(100 * own);
  const words = share > 99 ? say("predict.share-most") : say("predict.share", { share });
  return [first, words];
}

function ofNumber(facts, { value, score: raw }, target, say) {
  const near = new Intl.NumberFormat(say.language, { maximumSignificantDigits: 4 }).format(value);
  const first = say("predict.value", { target: target.label, value: near, unit: target.unit ? ` ${target.unit}` : "" });
  return raw === value ? [first] : [first, say("predict.bound")];
}
