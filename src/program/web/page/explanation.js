// Why a model expected a token: the parts of its logit, and the memories that it read.

import {make, makeTable} from "./dom.js";
import {MemoryText} from "./memory_text.js";
import {nameOf} from "./token_bytes.js";
import {percent, quoted, signed} from "./words.js";

const kListed = 10;
const kAround = 6;  // tokens shown before a memory
const kUnits = {persistent_memory: "persistent memory", feed_forward: "feed-forward layer"};

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
    this.box.replaceChildren();
  }

  // name: the token's. note: said beside it. alternatives: an element. inspection: what the server
  // answers, or a promise of that; null for a first token.
  async show({name, note, alternatives, inspection}) {
    this.clear();
    const memories = make("div", {class: "memories", "aria-live": "polite"}, make("p", {class: "soft"}, "Reading the memories\u2026"));
    this.box.append(make("div", {class: "card", role: "region", "aria-label": `The token ${quoted(nameOf(name))}`},
      make("h3", {}, `Why ${quoted(nameOf(name))}? `, make("small", {}, note)),
      make("div", {class: "two narrow-first"},
        make("div", {}, make("h4", {}, "What else could stand here"), alternatives), memories)));
    try {
      memories.replaceChildren(...this.memoriesOf(await inspection));
      this.text?.drawArcs();
    } catch (error) {
      if (error.name !== "AbortError") memories.replaceChildren(make("p", {class: "problem"}, error.message));
    }
  }

  memoriesOf(inspection) {
    if (!inspection) return [make("p", {}, "It is the first token: the model had read nothing before it.")];
    this.reply = inspection;
    this.text = new MemoryText(inspection.tokens.slice(0, inspection.position + 1), inspection.token);
    this.list = make("div");
    const parts = this.partsTable();
    this.choose(parts.querySelector("button"), null);
    return [make("h4", {}, `What made its logit, ${signed(inspection.logit)}`), parts,
      make("h4", {}, "Where these memories were stored"), this.text.element, this.list];
  }

  // Layers and heads to choose from, with what each added.
  partsTable() {
    const {layers, embedding, biases} = this.reply;
    const unit = Object.keys(kUnits).find((name) => name in layers[0]);
    const parts = [embedding, biases, ...layers.flatMap((layer) => [layer[unit], ...layer.heads.map((head) => head.logit)])];
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
      row(`Layer ${l + 1}, ${kUnits[unit]}`, layer[unit]);
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
