// Why a model expected a token: the parts of its logit, and the memories that it read.

import {make, makeTable} from "./dom.js";
import {MemoryText} from "./memory_text.js";
import {nameOf} from "./token_bytes.js";
import {percent, quoted, signed} from "./words.js";

const kListed = 10;
const kAround = 6;  // tokens shown before a memory
const kReaders = 3;  // shown of a slot
const kLeastShown = 0.005;  // what is less is shown as 0.00
const kTiers = {short_term: "short-term head", long_term: "long-term head"};
const kUnits = {persistent_memory: "persistent memory", feed_forward: "feed-forward layer"};

function diverging(value, most) {
  const bar = make("span", {class: value < 0 ? "minus" : "plus"});
  bar.style.width = `${Math.min(50, 50 * Math.abs(value) / most)}%`;
  return make("span", {class: "diverging", "aria-hidden": "true"}, bar);
}

// A place of a text: what stood before a token, the token, and what came next.
function storedAt(before, token, next) {
  const flat = (text) => text.replaceAll("\n", "\u21b5");
  return make("span", {class: "stored-at"}, flat(before), make("b", {}, flat(token)), " \u2192 ", make("b", {}, flat(next)));
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
  // answers, or a promise of that. parts: a promise of elements that are shown instead.
  async show({name, note, alternatives, inspection, parts}) {
    this.clear();
    const memories = make("div", {class: "memories", "aria-live": "polite"}, make("p", {class: "soft"}, "Looking\u2026"));
    this.box.append(make("div", {class: "card", role: "region", "aria-label": `The token ${quoted(nameOf(name))}`},
      make("h3", {}, `Why ${quoted(nameOf(name))}? `, make("small", {}, note)),
      make("div", {class: "two narrow-first"},
        make("div", {}, make("h4", {}, "What else could stand here"), alternatives), memories)));
    try {
      memories.replaceChildren(...(parts ? await parts : this.memoriesOf(await inspection)));
      if (!parts) this.text?.drawArcs();
    } catch (error) {
      if (error.name !== "AbortError") memories.replaceChildren(make("p", {class: "problem"}, error.message));
    }
  }

  memoriesOf(inspection) {
    this.reply = inspection;
    this.text = new MemoryText(inspection.tokens.slice(0, inspection.position + 1), inspection.token);
    this.list = make("div");
    const parts = this.partsTable();
    this.showPairs(parts.querySelector("button.part"), null);
    return [make("h4", {}, "Where its memories were stored"), this.text.element,
      make("p", {class: "soft"}, "Orange places raised this token\u2019s score, blue ones lowered it."),
      make("h4", {}, `What made its logit, ${signed(inspection.logit)}`),
      make("p", {class: "soft"}, "The logit is this score; the parts below make it up. Memories of the text were stored while the " +
        "model read it; all other parts come from its training."), parts, this.list];
  }

  // What each part added. The heads of a layer are folded away behind their sum.
  partsTable() {
    const {layers, embedding, biases, logit} = this.reply;
    const unit = Object.keys(kUnits).find((name) => name in layers[0]);
    const parts = [embedding, biases, ...layers.flatMap((layer) => [layer[unit], ...layer.heads.map((head) => head.logit)])];
    const most = Math.max(1e-9, ...parts.map(Math.abs));
    const sum = (heads) => heads.reduce((total, head) => total + head.logit, 0);
    const rounding = parts.reduce((left, part) => left - part, logit);
    const rows = [], folded = [];
    const row = (label, value) => rows.push([label, signed(value), diverging(value, most)]);
    const chooser = (label, choose, place = "") => make("button", {type: "button", class: `part ${place}`, "aria-pressed": "false",
      click: (event) => choose(event.currentTarget)}, label);
    row(chooser("All memories of the text", (button) => this.showPairs(button, null)), sum(layers.flatMap((layer) => layer.heads)));
    layers.forEach((layer, l) => {
      const first = rows.length + 1, end = first + layer.heads.length;
      const fold = make("button", {type: "button", class: "fold", "aria-expanded": "false", "aria-label": `Heads of layer ${l + 1}`,
        click: () => this.unfold(fold, first, end)});
      row(make("span", {}, chooser(`Layer ${l + 1}`, (button) => this.showPairs(button, layer.heads)), fold), sum(layer.heads));
      layer.heads.forEach((head, h) => {
        folded.push(rows.length);
        const number = layer.heads.slice(0, h + 1).filter((other) => other.tier === head.tier).length;
        row(chooser(`Layer ${l + 1}, ${kTiers[head.tier] ?? "head"} ${number}`, (button) => this.showPairs(button, [head]), "inner"), head.logit);
      });
      const name = `Layer ${l + 1}, ${kUnits[unit]}`;
      row(layer.slots ? chooser(name, (button) => this.showSlots(button, l)) : name, layer[unit]);
    });
    row("Embedding of the last token", embedding);
    if (biases !== 0) row("Biases", biases);
    if (Math.abs(rounding) >= kLeastShown) row("Rounding to weights of fewer bits", rounding);
    this.parts = makeTable({heads: ["Part", "Added", ""], rows, numbers: [1]});
    this.parts.classList.add("parts");
    for (const index of folded) this.row(index).hidden = true;
    return this.parts;
  }

  row(index) {
    return this.parts.querySelector("tbody").rows[index];
  }

  unfold(button, first, end) {
    const open = button.getAttribute("aria-expanded") === "false";
    button.setAttribute("aria-expanded", String(open));
    for (let index = first; index < end; ++index) this.row(index).hidden = !open;
  }

  press(button) {
    for (const other of this.parts.querySelectorAll(".part")) other.setAttribute("aria-pressed", String(other === button));
  }

  // The memories of these heads; null: of all.
  showPairs(button, heads) {
    this.press(button);
    const read = heads ?? this.reply.layers.flatMap((layer) => layer.heads);
    const memories = joined(read.flatMap((head) => head.memories))
      .sort((a, b) => Math.abs(b.logit) - Math.abs(a.logit)).slice(0, kListed);
    this.text.show(memories);
    this.showPlaces(["Stored at \u2192 what came next", heads?.length === 1 ? "Weight" : "Largest weight"],
      memories.map((memory) => [this.place(memory.position), memory]));
  }

  // The learned slots of a layer's persistent memory, and where they are used, where that is known.
  showSlots(button, layer) {
    this.press(button);
    this.text.show([]);
    const {slots} = this.reply.layers[layer];
    const readers = this.reply.slot_readers;
    const spoken = (head, slot) => (readers?.[`${layer}.${head}.${slot}`] ?? []).slice(0, kReaders).map((reader) =>
      make("div", {}, storedAt(reader.before.map(nameOf).join(""), nameOf(reader.token), nameOf(reader.next ?? ""))));
    this.showPlaces([readers ? "Slot, and where it is used most in the training text" : "Slot", "Weight"],
      slots.map((slot) => [make("div", {}, `Head ${slot.head + 1}, slot ${slot.slot}`, ...spoken(slot.head, slot.slot)), slot]));
    if (!readers)
      this.list.append(make("p", {class: "soft"}, make("code", {}, "tessera inspect --slots"),
        " finds the places of the training text where each slot is used most; they are then shown here."));
  }

  // rows: [element, {weight, logit}].
  showPlaces([what, weight], rows) {
    const most = Math.max(1e-9, ...rows.map(([, {logit}]) => Math.abs(logit)));
    const table = makeTable({
      heads: [what, weight, "Added", ""],
      rows: rows.map(([element, share]) => [element, percent(share.weight), signed(share.logit), diverging(share.logit, most)]),
      numbers: [1, 2],
    });
    table.classList.add("places");
    this.list.replaceChildren(table);
  }

  place(position) {
    const name = (i) => nameOf(this.reply.tokens[i]?.text ?? "");
    let before = position > kAround ? "\u2026" : "";
    for (let i = Math.max(0, position - kAround); i < position; ++i) before += name(i);
    return storedAt(before, name(position), position < this.reply.position ? name(position + 1) : "");
  }
}
