// A text that a model writes, token by token, each shaded by how improbable it was.

import {make} from "./dom.js";
import {letTabReach, makeTokenRow} from "./token_row.js";
import {bytesOf, nameOf, textOf} from "./token_bytes.js";
import {percent, quoted, visible} from "./words.js";

// Probabilities from which on a token has no shade, the lightest one, and so on (class "p0", …).
const kShades = [0.5, 0.2, 0.05, 0.01, 0.001];

function shadeOf(probability) {
  const shade = kShades.findIndex((least) => probability >= least);
  return shade < 0 ? kShades.length : shade;
}

export function shadeLegend() {
  const entries = kShades.map((least, shade) =>
    make("span", {class: `written p${shade}`}, `\u2265 ${100 * least} %`));
  return make("p", {class: "soft legend"}, "Probability of a token: ", ...entries,
    make("span", {class: `written p${kShades.length}`}, "less"));
}

function bar(share) {
  const full = make("span", {class: "share-bar"});
  full.style.width = `${Math.max(0.5, 100 * share)}%`;
  return make("span", {class: "share", "aria-hidden": "true"}, full);
}

// What else could have stood at a place, as a list, maybe to pick from.
// alternatives: {text, probability}, best first. pickable(text): whether one can go on from it with
// onPick(text); without onPick they are only shown.
function alternativesList({alternatives, chosen, pickable, onPick}) {
  const entry = ({text, probability}) => {
    const cells = [make("span", {class: "token-name"}, quoted(nameOf(text))), bar(probability),
      make("span", {class: "number"}, percent(probability))];
    const shown = onPick ? make("button", {type: "button", class: "alternative", disabled: !pickable(text),
      title: pickable(text) ? "Go on from here with this token" : "A part of a character; one cannot go on from it alone",
      "aria-label": `Go on with ${quoted(nameOf(text))}, probability ${percent(probability)}`,
      click: () => onPick(text)}, ...cells) : make("div", {class: "alternative"}, ...cells);
    if (text === chosen) shown.classList.add("chosen");
    return make("li", {}, shown);
  };
  return make("ol", {class: "alternatives"}, ...alternatives.map(entry));
}

export class WrittenText {
  // onChoose(index): a token was clicked. onGoOn(prompt), if alternatives can be picked: prompt is the
  // text up to and with the one that was.
  constructor({onChoose, onGoOn}) {
    this.tokens = [];  // {id, name, probability, alternatives: [{text, probability}]}
    this.prompt = "";
    this.onGoOn = onGoOn;
    this.box = make("div", {class: "text", role: "group", "aria-label": "The written text; arrow keys go from token to token"});
    makeTokenRow(this.box, {contentOf: (index) => this.cardOf(index), onChoose});
  }

  begin(prompt) {
    this.tokens = [];
    this.prompt = prompt;
    this.promptIds = [];
    this.length = 0;  // of the text that the server counts as written, in UTF-16 units
    this.stopped = false;
    this.decoder = new TextDecoder("utf-8", {ignoreBOM: true});
    this.box.replaceChildren(make("span", {class: "prompt"}, prompt));
  }

  // What is new, as the server sends it.
  add({text, logprobs, finish, token_ids: ids, prompt_token_ids: promptIds}) {
    if (promptIds) this.promptIds = promptIds;
    this.length += text.length;
    this.stopped ||= finish === "stop_string" || finish === "end_of_text";
    if (!logprobs) return;
    logprobs.tokens.forEach((name, i) => {
      const alternatives = Object.entries(logprobs.top_logprobs[i])
        .map(([other, logprob]) => ({text: other, probability: Math.exp(logprob)}))
        .sort((a, b) => b.probability - a.probability);
      this.addToken({id: ids[i], name, probability: Math.exp(logprobs.token_logprobs[i]), alternatives});
    });
  }

  addToken(token) {
    const index = this.tokens.length;
    this.tokens.push(token);
    token.text = this.decoder.decode(bytesOf(token.name), {stream: true});
    const label = `${quoted(nameOf(token.name))}, ${percent(token.probability)}`;
    const shown = token.text === "" ? "\u00b7" : visible(token.text, true);
    this.box.append(make("span", {class: `written p${shadeOf(token.probability)}`, role: "button",
      tabindex: -1, "data-index": index, "aria-label": label}, shown));
    if (index === 0) letTabReach(this.box);
  }

  // Tokens behind the end of the text (the end of text itself, or those of a stop) are struck out.
  finish() {
    if (!this.stopped) return;
    let length = 0;
    for (const [index, token] of this.tokens.entries()) {
      length += token.text.length;
      if (length > this.length) this.element(index).classList.add("cut");
    }
  }

  element(index) {
    return this.box.querySelector(`[data-index="${index}"]`);
  }

  mark(index) {
    this.box.querySelector(".chosen")?.classList.remove("chosen");
    this.element(index)?.classList.add("chosen");
  }

  // The prompt, the first `index` tokens and then `next`; null where that ends inside a character.
  textWith(index, next) {
    return textOf([this.prompt, ...this.tokens.slice(0, index).map((token) => token.name), next]);
  }

  alternativesOf(index) {
    const token = this.tokens[index];
    return alternativesList({
      alternatives: token.alternatives,
      chosen: token.name,
      pickable: (text) => this.textWith(index, text) !== null,
      onPick: this.onGoOn && ((text) => this.onGoOn(this.textWith(index, text))),
    });
  }

  cardOf(index) {
    const token = this.tokens[index];
    return [make("p", {class: "title"}, make("b", {}, quoted(nameOf(token.name))), ` ${percent(token.probability)}`),
      this.alternativesOf(index),
      make("p", {class: "soft"}, this.onGoOn ? "Pick one to go on from here. Click the token for its memories." : "Click the token for its memories.")];
  }
}
