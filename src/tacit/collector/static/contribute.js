/**
 * The first script of the contributor's page: it asks whether this browser can do what the page needs, and only then
 * loads the rest. What an old browser cannot even read (whole numbers as 1n) stands in the modules behind `import()`.
 */

const able =
  typeof BigInt === "function" &&
  typeof BigUint64Array === "function" &&
  typeof crypto === "object" &&
  typeof crypto.getRandomValues === "function" &&
  typeof fetch === "function" &&
  typeof Intl === "object" &&
  typeof Intl.PluralRules === "function";

function unable() {
  document.getElementById("starting").hidden = true;
  document.getElementById("old-browser").hidden = false;
}

if (able) {
  import("./contribute-page.js").then((page) => page.run()).catch(unable);
} else {
  unable();
}
