// Asks the server where a token of a WrittenText comes from: of a model the memories that made it, of a store the
// documents in which its words stand.

import {post} from "./api.js";
import {make, makeTable} from "./dom.js";
import {whole} from "./words.js";

const kMemories = 12;  // of each head
const kWords = 8;  // up to a token that are looked for; fewer where no document has as many together
const kPlaces = 5;

// The server's account of token `index` by `model`.
export async function inspect(model, written, index, signal) {
  const tokens = [...written.promptIds, ...written.tokens.slice(0, index + 1).map(({id}) => id)];
  return post("/v1/inspect", {model, tokens, position: tokens.length - 2, memories: kMemories, alternatives: 0}, {signal});
}

// Where the words up to token `index` by a store stand: what its /find answers.
export async function findSources(store, written, index, signal) {
  const text = written.textWith(index, written.tokens[index].name);
  if (text === null) throw new Error("This token ends inside a character; its source is shown at the next one.");
  const words = text.trimEnd().match(/\s*\S+/g) ?? [];
  let found = {data: []};
  for (let count = Math.min(kWords, words.length); count > 0 && found.data.length === 0; count = Math.floor(count / 2))
    found = await post(`/v1/stores/${encodeURIComponent(store)}/find`,
      {text: words.slice(-count).join("").trimStart(), limit: kPlaces}, {signal});
  return found;
}

export function sourcesView({data, places}) {
  const title = make("h4", {}, "Where its words are stored");
  if (data.length === 0) return [title, make("p", {}, "No document has them: the memory has mixed several.")];
  const passage = (place) => make("span", {class: "stored-at"}, place.goes_on_before ? "\u2026" : "", place.before,
    make("b", {}, place.text), place.after, place.goes_on_after ? "\u2026" : "");
  const table = makeTable({heads: ["Document", "Line", "Passage"], numbers: [1],
    rows: data.map((place) => [place.document, whole(place.line), passage(place)])});
  table.classList.add("sources-found");
  return [title, table, places > data.length ? make("p", {class: "soft"}, `${whole(places)} places in all`) : null]
    .filter((element) => element !== null);
}
