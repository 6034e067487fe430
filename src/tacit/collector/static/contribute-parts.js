/** Which of the numbers belong to which question: the order in which the client encodes a record. */

/**
 * @param {import("./client/facts.js").Facts} facts
 * @param {import("./contribute-questions.js").Question[]} questions
 * @returns {import("./contribute-numbers.js").Part[]}
 */
export function partsOf(facts, questions, say) {
  const asked = new Map(questions.map((question) => [question.name, question]));
  const label = (column) => asked.get(column.name).label;
  const slots = (column) => slotsOf(column, asked.get(column.name), say);
  const singles = facts.encoding.columns.map((column) => ({
    title: label(column), slots: slots(column), question: asked.get(column.name),
  }));
  const pairs = facts.encoding.pairs.map(([one, other]) => ({
    title: say("numbers.pair", { first: label(one), second: label(other) }),
    slots: slots(one).flatMap((a) => slots(other).map((b) => [a || label(one), b || label(other)].join(" × "))),
    note: "numbers.both",
  }));
  const constant = { title: say("numbers.constant"), slots: [""], note: "numbers.same" };
  return [...singles, ...pairs, ...(facts.intercept === 0 ? [] : [constant])];
}

/** What each slot of a column stands for; empty where it is the number itself. */
function slotsOf(column, question, say) {
  if (column.kind === "category") return [...column.values.map(question.called), say("slot.other")];
  const edges = [column.lower, ...(column.points ?? []), column.upper];
  const named = {
    number: () => [""],
    bins: () => edges.slice(1).map((upper, place) => say("slot.range", { lower: edges[place], upper })),
    hats: () => edges.map((value) => say("slot.near", { value })),
  }[column.kind]();
  return column.missing ? [...named, say("slot.missing")] : named;
}
