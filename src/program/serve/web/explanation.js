// Why a model expected a token: the parts of its logit, and the memories that it read.

import {post} from "./api.js";
import {make, makeTable} from "./dom.js";
import {MemoryText} from "./memory_text.js";
import {bytesOf, nameOf} from "./token_bytes.js";
import {percent, quoted, signed} from "./words.js";

const kMemories = 12;  // of each head
const kListed = 10;
const kAround = 6;     // tokens shown before a memory

// The ids of a text, and which of them holds the byte `offset`.
async function tokenAt(model, text, offset, signal) {
  const reply = await post("/tokenize", {model, prompt: text, return_token_strs: true}, {signal});
  let end = 0;
  const index = reply.token_strs.findIndex((name) => (end += bytesOf(name).length) > offset);
  return {ids: reply.tokens, index};
}

// The server's account of the token of `text` that holds the byte `offset`; null for the first
// token, which has nothing before it.
async function inspect(model, text, offset, signal) {
  const {ids, index} = await tokenAt(model, text, offset, signal);
  if (index < 1) return null;
  return post("/v1/inspect", {model, tokens: ids.slice(0, index + 1), position: index - 1,
    memories: kMemories, alternatives: 0}, {signal});
}

function diverging(value, most) {
  const bar = make("span", {class: value < 0 ? "minus" : "plus"});
  bar.style.width = `${Math.min(50, 50 * Math.abs(value) / most)}%`;
  return make("span", {class: "diverging", "aria-hidden": "true"}, bar);
}

// Memories of one position in several heads become one: what they added is summed, the largest
// weight counts.
function joined(memories) {
  const places = new Map();
  for (const memory of memories) {
    const place = places.get(memory.position);
    if (!place) places.set(memory.position, {...memory});
    else {
      place.logit += memory.logit;
      place.weight = Math.max(place.weight, memory.weight);
    }
  }
  return [...places.values()];
}

export class Explanation {
  constructor(box) {
    this.box = box;
  }

  clear() {
    this.asking?.abort();
    this.box.replaceChildren();
  }

  // written: a WrittenText by `model`, of which token `index` is to be explained.
  async show(model, written, index) {
    this.clear();
    this.asking = new AbortController();
    const name = nameOf(written.tokens[index].name);
    const memories = make("div", {class: "memories", "aria-live": "polite"}, make("p", {class: "soft"}, "Reading the memories\u2026"));
    this.box.append(make("div", {class: "card", role: "region", "aria-label": `The token ${quoted(name)}`},
      make("h3", {}, `Why ${quoted(name)}? `, make("small", {}, `${model} gave it ${percent(written.tokens[index].probability)}`)),
      make("div", {class: "two narrow-first"},
        make("div", {}, make("h4", {}, "What else could stand here"), written.alternativesOf(index)), memories)));
    try {
      memories.replaceChildren(...await this.memoriesOf(model, written, index));
      this.text?.drawArcs();
    } catch (error) {
      if (error.name !== "AbortError") memories.replaceChildren(make("p", {class: "problem"}, error.message));
    }
  }

  async memoriesOf(model, written, index) {
    const text = written.textWith(index, written.tokens[index].name);
    const before = written.textWith(index, "");
    if (text === null || before === null)
      throw new Error("This token begins or ends inside a character, and memories are shown of whole characters only.");
    const offset = new TextEncoder().encode(before).length;
    const reply = await inspect(model, text, offset, this.asking.signal);
    if (!reply) return [make("p", {}, "It is the first token: the model had read nothing before it.")];
    this.reply = reply;
    this.text = new MemoryText(reply.tokens.slice(0, reply.position + 1), reply.token);
    this.list = make("div");
    const parts = this.partsTable();
    this.choose(parts.querySelector("button"), null);
    return [make("h4", {}, `What made its logit, ${signed(reply.logit)}`), parts,
      make("h4", {}, "Where these memories were stored"), this.text.element, this.list];
  }

  // Layers and heads to choose from, with what each added.
  partsTable() {
    const {layers, embedding, biases} = this.reply;
    const parts = [embedding, biases, ...layers.flatMap((layer) => [layer.second_unit, ...layer.heads.map((head) => head.logit)])];
    const most = Math.max(1e-9, ...parts.map(Math.abs));
    const rows = [];
    const row = (label, value) => rows.push([label, signed(value), diverging(value, most)]);
    const chooser = (label, heads) => {
      const button = make("button", {type: "button", class: "head", "aria-pressed": "false"}, label);
      button.addEventListener("click", () => this.choose(button, heads));
      return button;
    };
    const all = layers.flatMap((layer) => layer.heads);
    row(chooser("All heads", null), all.reduce((sum, head) => sum + head.logit, 0));
    layers.forEach((layer, l) => {
      layer.heads.forEach((head, h) => row(chooser(`Layer ${l + 1}, head ${h + 1}`, [head]), head.logit));
      row(`Layer ${l + 1}, persistent memory or feed-forward`, layer.second_unit);
    });
    row("Embedding of the last token", embedding);
    row("Biases", biases);
    this.parts = makeTable({heads: ["Part", "Added", ""], rows, numbers: [1]});
    this.parts.classList.add("parts");
    return this.parts;
  }

  // Shows the memories of these heads; null: of all.
  choose(button, heads) {
    for (const other of this.parts.querySelectorAll("button")) other.setAttribute("aria-pressed", String(other === button));
    const read = heads ?? this.reply.layers.flatMap((layer) => layer.heads);
    const memories = joined(read.flatMap((head) => head.memories))
      .sort((a, b) => Math.abs(b.logit) - Math.abs(a.logit)).slice(0, kListed);
    this.text.show(memories);
    const most = Math.max(1e-9, ...memories.map((memory) => Math.abs(memory.logit)));
    const table = makeTable({
      heads: ["Position", "Stored there, and what came next", heads ? "Weight" : "Largest weight", "Added", ""],
      rows: memories.map((memory) => [String(memory.position), this.place(memory.position), percent(memory.weight),
        signed(memory.logit), diverging(memory.logit, most)]),
      numbers: [0, 2, 3],
    });
    table.classList.add("places");
    this.list.replaceChildren(table);
  }

  place(position) {
    const name = (i) => nameOf(this.reply.tokens[i]?.text ?? "");
    let before = position > kAround ? "\u2026" : "";
    for (let i = Math.max(0, position - kAround); i < position; ++i) before += name(i);
    const flat = (text) => text.replaceAll("\n", "\u21b5");
    return make("span", {class: "stored-at"}, flat(before), make("b", {}, flat(name(position))), " \u2192 ",
      make("b", {}, flat(position < this.reply.position ? name(position + 1) : "")));
  }
}
