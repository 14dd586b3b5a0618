// What a store recites, each token in the colour of the document that it comes from.

import {make, makeTable} from "./dom.js";
import {letTabReach, makeTokenRow} from "./token_row.js";
import {count, kEndings, percent, quoted, visible, whole} from "./words.js";

const kColours = 8;

// Documents keep their colours while the page is open.
export class DocumentColours {
  constructor() {
    this.numbers = new Map();
  }

  classOf(document) {
    if (!this.numbers.has(document)) this.numbers.set(document, this.numbers.size);
    return `s${this.numbers.get(document) % kColours}`;
  }
}

function cardOf(token) {
  const rows = token.sources.map((source) =>
    [source.document, whole(source.line), count(source.matched_length, "token")]);
  return [make("p", {class: "title"}, make("b", {}, quoted(token.text)), ` ${percent(token.probability)}`),
    rows.length === 0 ? make("p", {}, "No document has the tokens before it; the memory has mixed several.")
      : makeTable({heads: ["Document", "Line", "Matched"], rows, numbers: [1, 2]}),
    token.places > rows.length ? make("p", {class: "soft"}, `${count(token.places, "place")} in all`) : null]
    .filter((child) => child !== null);
}

function runsOf(tokens) {
  const counts = new Map();
  for (const token of tokens) {
    const source = token.sources[0];
    if (!source) continue;
    const known = counts.get(source.document) ?? {tokens: 0, first: source.line, last: source.line};
    known.tokens += 1;
    known.first = Math.min(known.first, source.line);
    known.last = Math.max(known.last, source.line);
    counts.set(source.document, known);
  }
  return counts;
}

// A list of the documents; pressing one dims the tokens of the others.
function legend(tokens, colours, box) {
  const buttons = [...runsOf(tokens)].map(([document, {tokens: number, first, last}]) => {
    const button = make("button", {type: "button", class: `source ${colours.classOf(document)}`, "aria-pressed": "false"},
      make("span", {class: "swatch", "aria-hidden": "true"}), `${document}: ${count(number, "token")}, `,
      first === last ? `line ${whole(first)}` : `lines ${whole(first)} to ${whole(last)}`);
    button.addEventListener("click", () => {
      const pressed = button.getAttribute("aria-pressed") !== "true";
      for (const other of buttons) other.setAttribute("aria-pressed", String(pressed && other === button));
      for (const [index, token] of tokens.entries())
        box.querySelector(`[data-index="${index}"]`).classList.toggle("dim", pressed && token.sources[0]?.document !== document);
    });
    return button;
  });
  return make("div", {class: "sources"}, ...buttons);
}

// recital: the server's answer. changed[i]: token i is marked with `mark`, "gone" or "new".
export function recitalView(recital, colours, {title = null, changed = [], mark = ""} = {}) {
  const box = make("div", {class: "text", role: "group", "aria-label": "The recital; arrow keys go from token to token"},
    make("span", {class: "prompt"}, recital.prompt));
  for (const [index, token] of recital.tokens.entries()) {
    const document = token.sources[0]?.document;
    const label = `${quoted(token.text)}, ${document ? `from ${document}` : "from no document"}${changed[index] ? `, ${mark}` : ""}`;
    box.append(make("span", {class: `recited ${document ? colours.classOf(document) : "no-source"} ${changed[index] ? mark : ""}`,
      role: "button", tabindex: -1, "data-index": index, "aria-label": label}, visible(token.text, true)));
  }
  letTabReach(box);
  makeTokenRow(box, {contentOf: (index) => cardOf(recital.tokens[index])});
  const ending = `${recital.tokens.length === 0 ? "It recites nothing" : "It ends here"}: ${kEndings[recital.finish]}.`;
  return make("div", {class: "one-recital"}, title ? make("h4", {}, title) : null, box, legend(recital.tokens, colours, box),
    make("p", {class: "soft"}, ending));
}
