/** The form: one field a question, what is typed read gently, mistakes said in words. Nothing typed is kept. */

import { el } from "./contribute-dom.js";
import { readNumber } from "./contribute-words.js";
import { within } from "./contribute-questions.js";

const MOST_RADIOS = 8;
const NOT_SAID = "none";

/**
 * The fields of all questions.
 * @param {import("./contribute-questions.js").Question[]} questions
 */
export function form(questions, say) {
  const fields = questions.map((question, place) =>
    question.kind === "number" ? numberField(question, `q${place}`, say) : categoryField(question, `q${place}`, say),
  );
  for (const { node, read } of fields) {
    const again = () => node.querySelector("[aria-invalid]") && read(); // a mistake is gone once it is corrected
    node.addEventListener("input", again);
    node.addEventListener("change", again);
  }
  return {
    nodes: fields.map((field) => field.node),
    /** {answers, target}, or the mistakes: [{label, message, go}] with a function that moves the focus to the field. */
    read() {
      const found = fields.map((field) => field.read());
      const mistakes = questions
        .map(({ label }, place) => ({ label, message: found[place].mistake, go: fields[place].go }))
        .filter(({ message }) => message);
      if (mistakes.length) return { mistakes };
      const entries = questions.map((question, place) => [question.name, found[place].answer]);
      return { answers: Object.fromEntries(entries.slice(0, -1)), target: entries.at(-1)[1], mistakes };
    },
  };
}

function helpText(question, say) {
  const { lower, upper, unit } = question;
  const bounds = lower === null ? "" : say("question.bounds", { lower, upper, unit: unit ? ` ${unit}` : "" });
  return [question.help, bounds].filter(Boolean).join(" ");
}

function numberField(question, id, say) {
  const described = `${id}-help ${id}-hint ${id}-error`;
  const input = el("input", {
    id, name: id, type: "text", inputmode: "decimal", autocomplete: "off", "aria-describedby": described,
    "aria-required": question.required,
  });
  const skip = question.required ? null : el("input", { type: "checkbox", id: `${id}-skip` });
  const hint = el("p", { class: "hint", id: `${id}-hint`, "aria-live": "polite" });
  const error = el("p", { class: "error", id: `${id}-error` });
  const about = () => {
    const typed = readNumber(input.value);
    if (skip?.checked) hint.textContent = say(question.slot ? "hint.missing" : "hint.middle");
    else if (typed?.unsure) hint.textContent = say("hint.unsure", { value: typed.value });
    else if (typed && within(question, typed.value) !== typed.value) {
      hint.textContent = say("hint.bound", { value: within(question, typed.value) });
    } else hint.textContent = "";
  };
  input.addEventListener("input", () => {
    if (skip && input.value.trim()) skip.checked = false;
    about();
  });
  skip?.addEventListener("change", () => {
    if (skip.checked) input.value = "";
    about();
  });
  const whose = el("span", { class: "visually-hidden" }, ` (${question.label})`);
  const choice = skip && el("label", { class: "choice quiet" }, skip, el("span", {}, say("question.skip"), whose));
  const unit = question.unit ? el("span", { class: "soft" }, question.unit) : null;
  const node = el(
    "div", { class: "field", id: `${id}-field` },
    el("label", { for: id }, question.label),
    el("p", { class: "help", id: `${id}-help` }, helpText(question, say)),
    el("div", { class: "with-unit" }, input, unit, choice),
    hint,
    error,
  );
  const read = () => {
    const typed = readNumber(input.value);
    const left = skip?.checked ?? false;
    const mistake = left || typed ? "" : say(input.value.trim() ? "mistake.number" : mistakeOfNone(question));
    mark(input, error, mistake);
    return { answer: left ? null : typed?.value, mistake };
  };
  return { node, read, go: () => input.focus() };
}

function categoryField(question, id, say) {
  const options = question.values.map((value, place) => [String(place), question.called(value)]);
  if (!question.required) options.push([NOT_SAID, say("question.other")]);
  const error = el("p", { class: "error", id: `${id}-error` });
  const few = options.length <= MOST_RADIOS;
  const made = few ? radios(question, id, options, error, say) : select(question, id, options, error, say);
  const read = () => {
    const chosen = made.chosen();
    const mistake = chosen === null ? say(mistakeOfNone(question)) : "";
    made.marked.forEach((control) => mark(control, error, mistake));
    return { answer: chosen === null || chosen === NOT_SAID ? null : question.values[Number(chosen)], mistake };
  };
  return { node: made.node, read, go: () => made.marked[0].focus() };
}

function radios(question, id, options, error, say) {
  const buttons = options.map(([value]) => el("input", { type: "radio", name: id, value, autocomplete: "off" }));
  const labels = options.map(([, called], place) =>
    el("label", { class: "choice" }, buttons[place], el("span", {}, called)),
  );
  const help = el("p", { class: "help", id: `${id}-help` }, helpText(question, say));
  const node = el(
    "fieldset", { id: `${id}-field`, "aria-describedby": `${id}-help ${id}-error` },
    el("legend", {}, question.label), help, el("div", { class: "choices" }, ...labels), error,
  );
  return { node, marked: buttons, chosen: () => buttons.find((button) => button.checked)?.value ?? null };
}

function select(question, id, options, error, say) {
  const list = el(
    "select",
    { id, name: id, autocomplete: "off", "aria-describedby": `${id}-help ${id}-error`, "aria-required": true },
    el("option", { value: "" }, say("question.choose")),
    ...options.map(([value, called]) => el("option", { value }, called)),
  );
  const help = el("p", { class: "help", id: `${id}-help` }, helpText(question, say));
  const label = el("label", { for: id }, question.label);
  const node = el("div", { class: "field", id: `${id}-field` }, label, help, list, error);
  return { node, marked: [list], chosen: () => list.value || null };
}

function mistakeOfNone(question) {
  return question.required ? "mistake.needed" : "mistake.open";
}

function mark(control, error, mistake) {
  error.textContent = mistake;
  if (mistake) control.setAttribute("aria-invalid", "true");
  else control.removeAttribute("aria-invalid");
}
