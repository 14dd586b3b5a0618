// The place where a store memorizes, recites and forgets.

import {get, isAborted, longAnswer} from "./api.js";
import {make, NotServed, showProblem} from "./dom.js";
import {Documents} from "./documents.js";
import {DocumentColours, recitalView} from "./recital.js";
import {addressOf, changedValues, fillForm, fillSelect, saveState} from "./state.js";
import {count} from "./words.js";

// Each token with the place that it comes from: equal letters of different texts have nothing in common.
function origins(recital) {
  return recital.tokens.map(({id, sources: [source]}) => JSON.stringify([id, source?.document, source?.position]));
}

// What two lists have in common, their longest common subsequence: for each list, whether each of
// its members is in the other one, too, in the same order.
function inBoth(before, now) {
  const lengths = Array.from({length: before.length + 1}, () => new Uint32Array(now.length + 1));
  for (let i = before.length - 1; i >= 0; --i)
    for (let j = now.length - 1; j >= 0; --j)
      lengths[i][j] = before[i] === now[j] ? lengths[i + 1][j + 1] + 1
        : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
  const common = {before: before.map(() => false), now: now.map(() => false)};
  for (let i = 0, j = 0; i < before.length && j < now.length;) {
    if (before[i] === now[j]) {
      common.before[i++] = common.now[j++] = true;
    } else if (lengths[i + 1][j] >= lengths[i][j + 1]) {
      ++i;
    } else {
      ++j;
    }
  }
  return common;
}

export class Remember {
  constructor(section) {
    this.section = section;
    this.form = section.querySelector(".ask");
    this.select = section.querySelector("select[name=store]");
    this.output = section.querySelector(".recital");
    this.colours = new DocumentColours();
    this.documents = new Documents(section, (what) => this.askAgain(what));
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.saveState();
      this.ask();
    });
    this.select.addEventListener("change", () => {
      this.forgetAnswer();
      this.saveState();
      this.inWords(() => this.documents.show(this.select.value));
    });
  }

  async open(values) {
    if (!this.stores) await this.loadStores();
    if (addressOf("remember", values) === this.shown) return;
    const {prompt} = this.form.elements;
    const known = this.stores.some(({id}) => id === values.store);
    this.select.value = known ? values.store : this.stores[0].id;
    if (values.store && !known) showProblem(this.section, new Error(`This server has no store ${values.store}.`));
    fillForm(this.form, values);
    this.forgetAnswer();
    await this.documents.show(this.select.value);
    if (prompt.value !== "") await this.ask();
    this.shown = addressOf("remember", values);
  }

  close() {}

  async loadStores() {
    const {data} = await get("/v1/stores");
    if (data.length === 0)
      throw new NotServed("This server has no store. Start it with: tessera serve --store DIR");
    this.stores = data;
    fillSelect(this.select, data.map(({id}) => ({value: id, text: id})));
    this.section.querySelector(".content").hidden = false;
  }

  saveState() {
    const values = {store: this.select.value, ...changedValues(this.form)};
    saveState("remember", values);
    this.shown = addressOf("remember", values);
  }

  forgetAnswer() {
    this.asking?.abort();
    this.recital = null;
    this.output.replaceChildren();
  }

  async inWords(action) {
    showProblem(this.section, null);
    try {
      await action();
    } catch (error) {
      if (!isAborted(error)) showProblem(this.section, error);
    }
  }

  // Ends the question before, whose answer could come later than this one.
  async recitalNow() {
    this.asking?.abort();
    this.asking = new AbortController();
    const {signal} = this.asking;
    const {prompt, tokens} = this.form.elements;
    return longAnswer("POST", `/v1/stores/${encodeURIComponent(this.select.value)}/recall`,
      {signal, body: {prompt: prompt.value, tokens: Number(tokens.value)}});
  }

  ask() {
    return this.inWords(async () => {
      this.output.replaceChildren(make("p", {class: "soft", role: "status"}, "Reciting\u2026"));
      try {
        this.recital = await this.recitalNow();
      } catch (error) {
        if (!isAborted(error)) this.forgetAnswer();
        throw error;
      }
      this.output.replaceChildren(recitalView(this.recital, this.colours));
    });
  }

  // After a change of the store: the same question, and how its answer differs.
  async askAgain(what) {
    const before = this.recital;
    if (!before) return;
    await this.inWords(async () => {
      this.form.elements.prompt.value = before.prompt;
      const now = await this.recitalNow();
      this.recital = now;
      const common = inBoth(origins(before), origins(now));
      const same = common.now.filter(Boolean).length;
      const view = (recital, title, kept, mark) =>
        recitalView(recital, this.colours, {title, changed: kept.map((is) => !is), mark});
      this.output.replaceChildren(
        make("p", {role: "status", class: "difference"}, make("b", {}, `${what}. `), same === before.tokens.length && same === now.tokens.length
          ? "The answer has not changed."
          : `Of ${count(before.tokens.length, "token")} before, ${same} are recited from the same places; ${now.tokens.length - same} are new.`),
        view(before, "Before", common.before, "gone"), view(now, "Now", common.now, "new"));
    });
  }
}
