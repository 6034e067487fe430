/**
 * Questions made from a protocol's schema: every column once, then the target.
 *
 * @typedef {object} Question
 * @property {string} name - the column
 * @property {"number" | "category"} kind
 * @property {boolean} required - the target must be answered; any other question may be left out
 * @property {number | null} lower
 * @property {number | null} upper - numbers beyond the bounds count as the bound
 * @property {Array<string | number | boolean>} values - of a category, as they were declared
 * @property {boolean} slot - whether a missing number has a place of its own; otherwise it counts as the middle
 * @property {string} label
 * @property {string} help
 * @property {string} unit
 * @property {(value: string | number | boolean) => string} called - what a value is called
 */

/** @returns {Question[]} */
export function questionsOf(protocol, told) {
  const found = new Map();
  for (const [name, entries] of encodings(protocol)) found.set(name, joined(found.get(name), entries));
  const questions = [...found].map(([name, entries]) => question(name, entries, told(name), false));
  const { name, classes, lower, upper } = protocol.target;
  return [...questions, question(name, classes ? { values: classes } : { lower, upper }, told(name), true)];
}

/**
 * A study's words about its columns: those of the language, else English, else the schema's own names.
 * @param {Record<string, any>} texts
 */
export function teller(texts, language) {
  const about = (code, name) => own(texts?.[code]?.questions, name) ?? {};
  return (name) => {
    const [local, english] = [about(language, name), about("en", name)];
    return { ...english, ...local, values: { ...english.values, ...local.values } };
  };
}

/** What was said under this name: a column or a value may be called "constructor", which every object has. */
function own(words, name) {
  return Object.hasOwn(words ?? {}, name) ? words[name] : undefined;
}

/** [name, entries] of every encoding of a column, by itself and in pairs. */
function encodings({ schema }) {
  return [...schema.columns, ...(schema.pairs ?? []).flat()];
}

/** One question for a column that is encoded in several ways: the widest bounds, all values. */
function joined(one, other) {
  if (!one) return other;
  const values = one.values && other.values ? [...new Set([...one.values, ...other.values])] : undefined;
  if (values) return { values };
  const numeric = [one, other].filter((entries) => !entries.values);
  return {
    lower: Math.min(...numeric.map((entries) => entries.lower)),
    upper: Math.max(...numeric.map((entries) => entries.upper)),
    missing: numeric.some((entries) => entries.missing),
  };
}

function question(name, entries, words, required) {
  return {
    name,
    required,
    kind: entries.values ? "category" : "number",
    lower: entries.lower ?? null,
    upper: entries.upper ?? null,
    values: entries.values ?? [],
    slot: Boolean(entries.missing),
    label: words.label || name,
    help: words.help || "",
    unit: words.unit || "",
    called: (value) => own(words.values, String(value)) || String(value),
  };
}

/** The number that an answer counts as. */
export function within(question, value) {
  return Math.min(Math.max(value, question.lower), question.upper);
}

/** What was answered, in words: for the table that stands beside the numbers. */
export function answerInWords(question, answer, say) {
  if (answer === null) return say(question.kind === "category" ? "answer.other" : "answer.none");
  if (question.kind === "category") return question.called(answer);
  const unit = question.unit ? ` ${question.unit}` : "";
  const counted = within(question, answer);
  const typed = `${say.number(answer)}${unit}`;
  return counted === answer ? typed : say("answer.counted", { typed, counted: `${say.number(counted)}${unit}` });
}
