/** Elements in one line each. Text is always text: nothing here reads HTML, whoever wrote a study's words. */

const SVG = "http://www.w3.org/2000/svg";
const PICTURES = new Set(["svg", "line", "circle", "rect", "title"]);

/**
 * An element with attributes and children.
 * @param {string} tag
 * @param {Record<string, string | number | boolean | null | undefined>} attributes - false, null: left out; true: empty
 * @param {...(Node | string | null)} children - null: left out
 */
export function el(tag, attributes = {}, ...children) {
  const element = PICTURES.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** The element of this id; the template has it. */
export function byId(id) {
  return document.getElementById(id);
}

/** A notice with a title and paragraphs; kind: info, success, warning or danger. */
export function notice(kind, title, ...paragraphs) {
  const body = paragraphs.map((text) => el("p", {}, text));
  return el("div", { class: `notice ${kind}` }, el("p", { class: "title" }, title), ...body);
}

/** Give a file to its owner: made in the page, it never touches the network. */
export function download(name, text) {
  const address = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  const link = el("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
