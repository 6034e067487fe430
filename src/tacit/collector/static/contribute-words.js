/** What the page says, in one language, and numbers as people write them. */

const DIGITS = 21;
const GROUPED = /^[+-]?\d{1,3}([ \u00a0\u202f'’]\d{3})+(?=[.,]|$)/;
const PLAIN = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?$/i;

/**
 * Says sentences of a language file, by key, with {place: value}. Numbers in places are written as the language does;
 * a sentence with a `count` may stand as `key.one` and `key.other`.
 * @param {Record<string, string>} words
 * @param {string} language
 */
export function speaker(words, language) {
  const rules = new Intl.PluralRules(language);
  const shown = new Intl.NumberFormat(language, { maximumSignificantDigits: DIGITS });
  const say = (key, values = {}) => {
    const form = typeof values.count === "number" ? words[`${key}.${rules.select(values.count)}`] : undefined;
    const sentence = form ?? words[`${key}.other`] ?? words[key] ?? key;
    return sentence.replace(/\{(\w+)\}/g, (whole, place) =>
      typeof values[place] === "number" ? shown.format(values[place]) : (values[place] ?? whole),
    );
  };
  say.language = language;
  say.number = (value) => shown.format(value);
  const near = new Intl.NumberFormat(language, { minimumFractionDigits: 2, maximumFractionDigits: 2 });
  const small = new Intl.NumberFormat(language, { maximumSignificantDigits: 2 });
  say.noisy = (value) => near.format(value).replace("-", "−");
  say.bare = (value) => (Math.abs(value) < 0.1 ? small : near).format(value).replace("-", "−");
  say.list = (parts) => new Intl.ListFormat(language, { type: "conjunction" }).format(parts);
  return say;
}

/**
 * A number as it was typed: "1234.5", "1234,5", "1 234,5", "1.234.567" and "1,234.5" are all read; null if it is none.
 * `unsure` where a single mark could part thousands as well as decimals ("1,234"): it is read as a decimal mark.
 * @param {string} text
 * @returns {{value: number, unsure: boolean} | null}
 */
export function readNumber(text) {
  let typed = text.trim().replace(/^\u2212/, "-");
  if (GROUPED.test(typed)) typed = typed.replace(/[ \u00a0\u202f'’]/g, "");
  const marks = typed.match(/[.,]/g) ?? [];
  const unsure = marks.length === 1 && /^[+-]?[1-9]\d{0,2}[.,]\d{3}$/.test(typed);
  if (new Set(marks).size === 2) {
    const decimal = marks[marks.length - 1];
    const thousands = decimal === "," ? "." : ",";
    if (marks.filter((mark) => mark === decimal).length > 1 || !parted(typed.split(decimal)[0], thousands)) return null;
    typed = typed.split(thousands).join("").replace(decimal, ".");
  } else if (marks.length > 1) {
    if (!parted(typed, marks[0])) return null;
    typed = typed.split(marks[0]).join("");
  } else {
    typed = typed.replace(",", ".");
  }
  const value = PLAIN.test(typed) ? Number(typed) : NaN;
  return Number.isFinite(value) ? { value, unsure } : null;
}

/** Whether the digits stand in groups of three. */
function parted(digits, mark) {
  const [first, ...others] = digits.replace(/^[+-]/, "").split(mark);
  return /^\d{1,3}$/.test(first) && others.every((group) => /^\d{3}$/.test(group));
}

/**
 * An invitation code as it is sent, XXXXX-XXXXX-XXXXX-XXXXX, or null. Crockford's base 32 takes O for 0, I and L for 1.
 * @param {string} text
 */
export function readCode(text) {
  const code = text.toUpperCase().replace(/[\s\-\u2010-\u2015]/g, "").replace(/O/g, "0").replace(/[IL]/g, "1");
  return /^[0-9A-HJKMNP-TV-Z]{20}$/.test(code) ? code.match(/.{5}/g).join("-") : null;
}
