/** The model user's page: it loads the model once, checks what a page can, and predicts. Nothing typed leaves it. */

import { byId, el, notice } from "./contribute-dom.js";
import { speaker } from "./contribute-words.js";
import { checks } from "./model-checks.js";
import { predicting } from "./model-predict.js";

const page = byId("model");
const { study: slug, language, sum } = page.dataset;

async function fetched(place) {
  const answer = await fetch(place, { credentials: "omit", cache: "no-store" });
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  return answer.arrayBuffer();
}

const read = (bytes) => JSON.parse(new TextDecoder().decode(bytes));

/** The command can be copied where browsers allow it: over https, and on this very machine. */
function offerCopy(say) {
  if (!navigator.clipboard) return;
  const button = byId("copy");
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(byId("command").textContent);
    byId("copied").textContent = say("verify.copied");
  });
}

function showChecks(found, say) {
  const kinds = { good: "good", bad: "danger", none: "warning" };
  const lines = found.map(({ outcome, key, places }) =>
    el("li", { "data-outcome": outcome }, el("span", { class: `badge ${kinds[outcome]}` }, say(`verify.${outcome}`)), el("span", {}, say(key, places))),
  );
  byId("checks").replaceChildren(...lines);
}

async function run() {
  const say = speaker(read(await fetched(`/words/model.${language}.json`)), language);
  offerCopy(say);
  byId("checking").hidden = false;
  try {
    const [study, file] = await Promise.all([fetched(`/api/studies/${slug}`), fetched(`/api/studies/${slug}/model`)]);
    const [described, model] = [read(study), read(file)];
    const found = await checks(described.facts, model, file, sum);
    showChecks(found, say);
    if (found.every(({ outcome }) => outcome !== "bad")) predicting(described, model, say);
  } catch {
    byId("checks").replaceChildren(el("li", {}, notice("danger", say("verify.unreachable"))));
  }
  byId("checking").hidden = true;
}

run();
