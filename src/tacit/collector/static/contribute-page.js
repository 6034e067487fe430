/** The contributor's page begins here: fetch the study, check what its noise is worth, and go on if it holds. */

import { byId, notice } from "./contribute-dom.js";
import { Visit } from "./contribute-visit.js";
import { speaker } from "./contribute-words.js";
import { prepare } from "./client/perturb.js";
import { confirmRecord } from "./client/price.js";

/** The name of a study, in the page's address and in what the server says of it. */
const SLUG = /^[a-z2-9]{10}$/;

/** Fetch the study and its words, then hand over to a {@link Visit}. */
export async function run() {
  const { study: slug, language } = byId("contribution").dataset;
  for (const link of document.querySelectorAll("a[hreflang]")) link.hash = location.hash; // the invitation comes along
  let words, study;
  try {
    [words, study] = await Promise.all([`/words/page.${language}.json`, `/api/studies/${slug}`].map(fetched));
  } catch {
    byId("starting").textContent = byId("contribution").dataset.unreachable;
    return;
  }
  const say = speaker(words, language);
  let prepared = null;
  try {
    if (!SLUG.test(slug) || study.study !== slug) throw new Error("This is another study than that of the address.");
    prepared = prepare(study.facts);
    confirmRecord(study.facts, study.guarantees.record);
    if (study.facts.protocol !== study.protocol.fingerprint) throw new Error("These facts are of another protocol.");
  } catch {
    byId("starting").hidden = true;
    byId("about-problem").replaceChildren(notice("danger", say("price.refused"), say("price.refused-why")));
    return;
  }
  new Visit(slug, study, prepared, say).begin();
}

async function fetched(address) {
  const answer = await fetch(address, { credentials: "omit", cache: "no-store", referrerPolicy: "no-referrer" });
  if (!answer.ok) throw new Error(address);
  return answer.json();
}
