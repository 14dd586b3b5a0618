// Elements, made without markup in strings.

const kSvg = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

// make("button", {class: "main", click: send}, "Send"): functions listen to the event of that name.
export function make(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

export function makeSvg(name, attributes = {}, ...children) {
  return fill(document.createElementNS(kSvg, name), attributes, children);
}

// A table of `heads` (texts) and rows of cells (texts or elements). numbers: the columns that are
// aligned to the right.
export function makeTable({caption, heads, rows, numbers = []}) {
  const kind = (column) => (numbers.includes(column) ? "number" : null);
  const head = make("tr", {}, ...heads.map((text, i) => make("th", {scope: "col", class: kind(i)}, text)));
  const body = rows.map((cells) =>
    make("tr", {}, ...cells.map((cell, i) => make("td", {class: kind(i)}, cell))));
  return make("div", {class: "wide-table"},
    make("table", {}, caption ? make("caption", {}, caption) : null,
      make("thead", {}, head), make("tbody", {}, ...body)));
}

// What a server was not given to serve: worth saying, and no fault.
export class NotServed extends Error {}

// The problem of a place in words; null takes it away.
export function showProblem(section, error) {
  const problem = section.querySelector(".problem");
  problem.hidden = !error;
  problem.classList.toggle("no-fault", error instanceof NotServed);
  problem.textContent = error ? error.message : "";
}
