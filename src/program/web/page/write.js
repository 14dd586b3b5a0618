// The place where a model goes on from a text, or two models beside each other.

import {events, get, isAborted} from "./api.js";
import {make, NotServed, showProblem} from "./dom.js";
import {Explanation} from "./explanation.js";
import {findSources, inspect, sourcesView} from "./origins.js";
import {addressOf, changedValues, fillForm, fillSelect, saveState} from "./state.js";
import {shadeLegend, WrittenText} from "./written_text.js";
import {count, kEndings, percent, short} from "./words.js";

const kAlternatives = 8;
const kDrawing = ["temperature", "top_p", "top_k", "min_p", "repetition_penalty", "seed"];  // how tokens are drawn
const kExample = "Once upon a time";

export class Writer {
  constructor(section) {
    this.section = section;
    this.form = section.querySelector("form");
    this.stopButton = section.querySelector(".stop");
    this.status = section.querySelector(".status");
    this.columns = section.querySelector(".columns");
    this.explanation = new Explanation(section.querySelector(".explanation"));
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.write();
    });
    this.form.addEventListener("change", () => saveState("write", changedValues(this.form)));
    // What is folded away cannot say that its value is wrong.
    this.form.addEventListener("invalid", (event) => event.target.closest("details")?.setAttribute("open", ""), {capture: true});
    this.form.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.form.requestSubmit();
    });
    this.stopButton.addEventListener("click", () => this.writing?.abort());
  }

  async open(values) {
    if (addressOf("write", values) === this.shown) return;
    fillForm(this.form, values);
    if (!this.models) await this.loadModels(values);  // what is typed meanwhile stays
    for (const name of [values.model, values.beside])
      if (name && !this.models.some(({id}) => id === name)) throw new Error(`This server has no model ${name}.`);
    if (values.prompt !== undefined) this.write();
    else if (this.form.elements.prompt.value === "") this.form.elements.prompt.value = kExample;
  }

  close() {
    this.writing?.abort();
  }

  async loadModels(chosen) {
    const {data} = await get("/v1/models");
    this.form.hidden = data.length === 0;
    if (data.length === 0)
      throw new NotServed("This server has no model to write with. Start it with: tessera serve --model DIR");
    const options = data.map(({id, kind}) => ({value: id, text: `${id} (${kind.replaceAll("_", " ")})`}));
    fillSelect(this.form.elements.model, options, chosen.model);
    fillSelect(this.form.elements.beside, [{value: "", text: "no other model"}, ...options], chosen.beside);
    this.models = data;
  }

  // Writes with the chosen models what the form asks for.
  async write({keepOld = false} = {}) {
    if (!this.form.reportValidity()) return;
    this.writing?.abort();
    const writing = this.writing = new AbortController();
    const values = {prompt: "", ...changedValues(this.form)};
    saveState("write", values, {keepOld});
    this.shown = addressOf("write", values);
    showProblem(this.section, null);
    this.asking?.abort();
    this.explanation.clear();
    const {model, beside} = this.form.elements;
    const names = [model.value, beside.value].filter((name) => name !== "");
    const columns = names.map((name) => this.column(name));
    this.columns.replaceChildren(make("div", {class: "beside"}, ...columns.map((column) => column.element)), shadeLegend());
    if (keepOld) columns[0].element.focus();  // the alternative that was picked had the focus, and is gone
    this.stopButton.disabled = false;
    this.status.textContent = "Writing\u2026";
    const complete = await Promise.all(columns.map((column) => this.stream(column, writing.signal)));
    if (this.writing !== writing) return;
    this.stopButton.disabled = true;
    this.status.textContent = writing.signal.aborted ? "Stopped." : complete.every(Boolean) ? "Done." : "Failed.";
  }

  column(model) {
    const written = new WrittenText({
      onChoose: (index) => this.explain(model, written, index),
      onGoOn: (prompt) => {
        this.form.elements.prompt.value = prompt;
        this.write({keepOld: true});
      },
    });
    const facts = make("p", {class: "soft facts"});
    const element = make("article", {class: "card", tabindex: -1, "aria-label": `Text by ${model}`},
      make("h3", {}, model), written.box, facts);
    return {model, written, facts, element};
  }

  explain(model, written, index) {
    for (const token of this.columns.querySelectorAll(".chosen")) token.classList.remove("chosen");
    written.mark(index);
    this.asking?.abort();
    this.asking = new AbortController();
    const {name, probability} = written.tokens[index];
    const {signal} = this.asking;
    const isStore = this.models.find(({id}) => id === model).kind === "store";
    this.explanation.show({name, note: `${model} gave it ${percent(probability)}`, alternatives: written.alternativesOf(index),
      ...(isStore ? {parts: findSources(model, written, index, signal).then(sourcesView)} : {inspection: inspect(model, written, index, signal)})});
  }

  request(model) {
    const {elements} = this.form;
    const number = (name) => Number(elements[name].value);
    return {
      model,
      prompt: elements.prompt.value,
      max_tokens: number("tokens"),
      ...Object.fromEntries(kDrawing.map((name) => [name, number(name)])),
      stop: elements.stop.value === "" ? null : elements.stop.value,
      logprobs: kAlternatives,
      return_token_ids: true,
      stream: true,
    };
  }

  // Returns false where it failed.
  async stream({model, written, facts}, signal) {
    const body = this.request(model);
    written.begin(body.prompt);
    const began = performance.now();
    let ending = "stopped by you", complete = true;
    try {
      for await (const {choices} of events("POST", "/v1/completions", {body, signal})) {
        for (const choice of choices) {
          written.add(choice);
          if (choice.finish) ending = kEndings[choice.finish];
        }
      }
    } catch (error) {
      if (!isAborted(error)) {
        ending = "failed";
        complete = false;
        showProblem(this.section, error);
      }
    }
    written.finish();
    facts.textContent = this.factsOf(written.tokens, (performance.now() - began) / 1000, ending);
    return complete;
  }

  factsOf(tokens, seconds, ending) {
    if (tokens.length === 0) return `No token; ${ending}.`;
    const mean = tokens.reduce((sum, token) => sum + Math.log(token.probability), 0) / tokens.length;
    return `${count(tokens.length, "token")}, ${short(tokens.length / seconds)} a second; ${ending}. ` +
      `Mean probability of a token (geometric): ${percent(Math.exp(mean))}.`;
  }
}
