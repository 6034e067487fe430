/**
 * The numbers that will leave, beside what was typed. First by question and in units of the noise, so that anyone sees
 * how little of a number is the answer; then all of them, whole, as they are sent.
 *
 * @typedef {{title: string, slots: string[], question?: object, note?: string}} Part - neighbouring numbers: of a
 *   question, or of what `note` says
 */

import { el } from "./contribute-dom.js";
import { answerInWords } from "./contribute-questions.js";

const REACH = 4;
const WIDTH = 240;
const HEIGHT = 24;

/** The table of questions, answers and what leaves. */
export function leavingTable({ parts, questions, answers, target, exact, submission, scales, say }) {
  const aim = questions.at(-1);
  let start = 0;
  const rows = parts.map((part) => {
    const places = part.slots.map((_, place) => start + place);
    start += part.slots.length;
    const answer = part.question ? answerInWords(part.question, answers[part.question.name], say) : say(part.note);
    return row(part.title, answer, sent(places, exact, submission, scales, say));
  });
  rows.push(row(aim.label, answerInWords(aim, target, say), [el("span", {}, say("numbers.target"))]));
  const heads = ["numbers.question", "numbers.answer", "numbers.leaves"];
  return el(
    "table", { class: "leaving" },
    el("caption", {}, say("numbers.caption")),
    el("colgroup", {}, el("col", { class: "question" }), el("col", { class: "answer" }), el("col")),
    el("thead", {}, el("tr", {}, ...heads.map((key) => el("th", { scope: "col" }, say(key))))),
    el("tbody", {}, ...rows),
  );
}

/** What the marks of the little pictures mean. */
export function key(say) {
  const entry = (kind, word) => {
    const dot = el("circle", { class: kind, cx: 8, cy: 8, r: 5 });
    return el("li", {}, el("svg", { class: "strip", viewBox: "0 0 16 16", "aria-hidden": "true" }, dot), say(word));
  };
  const kinds = [["without", "numbers.key-without"], ["sent-own", "numbers.key-sent"], ["other", "numbers.key-other"]];
  return el("ul", { class: "key" }, ...kinds.map(([kind, word]) => entry(kind, word)));
}

/** Every whole number, as it is sent. */
export function wholeTable({ parts, submission, say }) {
  const names = parts.flatMap((part) => part.slots.map((slot) => (slot ? `${part.title} (${slot})` : part.title)));
  const rows = names.map((name, place) =>
    el(
      "tr", {},
      el("th", { scope: "row" }, name),
      el("td", { class: "number" }, String(submission.q[place])),
      el("td", { class: "number" }, String(submission.p[place])),
    ),
  );
  const heads = [["exact.number", ""], ["exact.first", "number"], ["exact.second", "number"]];
  return el(
    "div", { class: "scroll", tabindex: "0", role: "region", "aria-label": say("exact.table") },
    el(
      "table", {},
      el("thead", {}, el("tr", {}, ...heads.map(([word, kind]) => el("th", { scope: "col", class: kind }, say(word))))),
      el("tbody", {}, ...rows),
    ),
  );
}

function row(title, answer, cells) {
  return el("tr", {}, el("th", { scope: "row" }, title), el("td", {}, answer), el("td", {}, ...cells));
}

/** Both numbers of every slot in units of the noise; the slots that the answer fills are marked. */
function sent(places, exact, submission, scales, say) {
  const own = new Set(places.filter((place) => places.length === 1 || exact.q[place] !== 0));
  const values = (part, scale) =>
    places.map((place) => [submission[part][place] * scale, exact[part][place] * scale, own.has(place)]);
  const [first, second] = [values("q", scales.row), values("p", scales.cross)];
  return [
    strip(first), ...listed("numbers.first", first, say),
    strip(second), ...listed("numbers.second", second, say),
  ];
}

function listed(title, values, say) {
  const items = values.map(([value, , own]) =>
    el("li", { class: own && values.length > 1 ? "own" : null }, say.noisy(value)),
  );
  const bare = values.filter(([, , own]) => own).map(([, without]) => say.bare(without));
  return [
    el("p", { class: "part" }, bare.length ? say(title, { bare: say.list(bare) }) : say(`${title}-none`)),
    el("ul", { class: "sent" }, ...items),
  ];
}

/** A line from -REACH to REACH noise units: where the number would be without noise, and where it is sent. */
function strip(values) {
  const at = (value) => (WIDTH / 2) * (1 + Math.max(-1, Math.min(1, value / REACH)) * 0.96);
  const unit = at(1) - at(0);
  const dot = (kind, value, r) => el("circle", { class: kind, cx: at(value), cy: HEIGHT / 2, r });
  const others = values.filter(([, , own]) => !own).map(([value]) => dot("other", value, 3));
  const owns = values.filter(([, , own]) => own);
  const dots = [...others, ...owns.flatMap(([value, bare]) => [dot("without", bare, 4.5), dot("sent-own", value, 5)])];
  return el(
    "svg",
    { class: "strip", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true", preserveAspectRatio: "xMinYMid meet" },
    el("rect", { class: "typical", x: at(-1), y: 3, width: 2 * unit, height: HEIGHT - 6, rx: 3 }),
    el("line", { class: "axis", x1: at(-REACH), x2: at(REACH), y1: HEIGHT / 2, y2: HEIGHT / 2 }),
    ...dots,
  );
}
