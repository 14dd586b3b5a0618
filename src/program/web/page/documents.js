// The documents of a store: how full it is, memorizing files, forgetting.

import {get, longAnswer} from "./api.js";
import {make, makeSvg, makeTable} from "./dom.js";
import {bytes, count, date, percent, whole} from "./words.js";

const kRadius = 46;
const kListed = 100;  // documents at once
const kNamed = 3;  // documents in a message
const kErasedLater = "another program still reads the store, so the text stays in its files until the next change after that has ended";

function arc(share, kind) {
  const angle = Math.PI * (1 - Math.min(1, Math.max(0, share)));
  const x = 55 + kRadius * Math.cos(angle);
  const y = 55 - kRadius * Math.sin(angle);
  return makeSvg("path", {class: kind, d: `M${55 - kRadius} 55A${kRadius} ${kRadius} 0 0 1 ${x.toFixed(2)} ${y.toFixed(2)}`});
}

// A half circle that is filled up to `share`, 0 to 1; more is drawn as 1. text: what stands in it.
// good: more is better.
function gauge({label, share, text, good}) {
  const worry = good ? share < 0.9 : share > 1;
  return make("figure", {class: `meter${worry ? " worry" : ""}`, role: "meter", "aria-label": label, "aria-valuemin": 0,
    "aria-valuemax": 1, "aria-valuenow": Math.min(1, share), "aria-valuetext": text},
    makeSvg("svg", {viewBox: "0 0 110 62", "aria-hidden": "true"}, arc(1, "whole"), share > 0 ? arc(share, "filled") : "",
      makeSvg("text", {x: 55, y: 52, "text-anchor": "middle"}, text)),
    make("figcaption", {}, label));
}

// A bar, and what moves it.
function progressBar(label) {
  const bar = make("progress", {"aria-label": label});
  return {bar, onProgress: (done, of) => {
    bar.max = of;
    bar.value = done;
  }};
}

// "a.txt and b.txt are memorized; c.txt is replaced": what became of documents.
function outcomes(documents) {
  const words = {new: ["is memorized", "are memorized"], replaced: ["is replaced", "are replaced"],
    unchanged: ["was memorized already, with this text", "were memorized already, with these texts"]};
  return Object.entries(words).map(([outcome, [one, several]]) => {
    const ids = documents.filter((document) => document.outcome === outcome).map(({id}) => id);
    if (ids.length === 0) return null;
    const named = ids.length > kNamed ? count(ids.length, "document") : new Intl.ListFormat("en").format(ids);
    return `${named} ${ids.length === 1 ? one : several}`;
  }).filter((part) => part !== null).join("; ");
}

// What is begun with a store ends with it, whichever one is chosen meanwhile: `path` is that store's.
export class Documents {
  // onChange(what): the store has changed, said in words.
  constructor(section, onChange) {
    this.onChange = onChange;
    this.list = section.querySelector(".documents");
    this.gauges = section.querySelector(".gauge");
    this.jobs = section.querySelector(".memorizing");
    this.status = section.querySelector(".card .status");
    this.listenForFiles(section.querySelector(".drop"));
  }

  async show(store) {
    this.store = store;
    this.listed = kListed;
    this.path = `/v1/stores/${encodeURIComponent(store)}`;
    await this.refresh();
  }

  async refresh() {
    const {path} = this;
    const [stat, documents] = await Promise.all([get(`${path}/stat`), get(`${path}/documents?limit=${this.listed}`)]);
    if (path !== this.path) return;
    this.gauges.replaceChildren(
      gauge({label: "Load", share: stat.load, text: percent(stat.load), good: false}),
      gauge({label: "Expected recall", share: stat.expected_recall, text: percent(stat.expected_recall), good: true}),
      make("p", {class: "soft"}, `${count(stat.documents, "document")}, ${count(stat.tokens, "token")}, ${whole(stat.pairs)} pairs (a few tokens ` +
        `and the next one). At ${whole(stat.capacity_pairs)} pairs, or fewer if documents share passages, the load is 100 %: then 1 % of them are no longer recalled. ` +
        `The matrix takes ${bytes(stat.bytes.matrix)}.`));
    this.showList(documents);
  }

  showList({data: documents, total, has_more: hasMore}) {
    if (documents.length === 0) {
      this.list.replaceChildren(make("p", {}, "The store is empty."));
      return;
    }
    const more = () => {
      this.listed += kListed;
      return this.inStatus(() => this.refresh());
    };
    this.list.replaceChildren(makeTable({heads: ["Document", ""],
      rows: documents.map((document) => [this.described(document), this.forgetButton(document.id)])}),
    hasMore ? make("button", {type: "button", click: more}, `Show more of ${count(total, "document")}`) : "");
  }

  // Its name, and below it size and date, as far as the store knows them.
  described({id, bytes: size, tokens, memorized}) {
    const facts = [size === undefined ? null : bytes(size), count(tokens, "token"), memorized ? date(memorized) : null];
    return make("span", {}, make("span", {class: "name"}, id),
      make("small", {}, facts.filter((fact) => fact !== null).join(" \u00b7 ")));
  }

  forgetButton(id) {
    const {path} = this;
    const button = make("button", {type: "button", "aria-label": `Forget ${id}`}, "Forget");
    const cell = make("span", {class: "forget"}, button);
    button.addEventListener("click", () => {
      const sure = make("button", {type: "button", class: "danger", click: () => this.forget(path, id, cell, button)}, "Forget for good");
      const keep = make("button", {type: "button", click: () => {
        cell.replaceChildren(button);
        button.focus();
      }}, "Keep");
      cell.replaceChildren(sure, keep);
      sure.focus();
    });
    return cell;
  }

  // button: what a refusal leaves to be pressed once more.
  async forget(path, id, cell, button) {
    const {bar, onProgress} = progressBar(`Forgetting ${id}`);
    cell.replaceChildren(bar);
    try {
      const forgotten = await longAnswer("DELETE", `${path}/documents/${encodeURIComponent(id)}`, {onProgress});
      const place = [...this.list.querySelectorAll(".forget")].indexOf(cell);
      await this.changed(`${id} is forgotten`, forgotten.erasure_pending);
      this.focusNear(place);
    } catch (error) {
      cell.replaceChildren(make("span", {class: "problem", role: "alert"}, error.message), button);
    }
  }

  // Keys go on where the document was, unless they are elsewhere by now.
  focusNear(place) {
    const buttons = this.list.querySelectorAll(".forget button");
    if (document.activeElement === document.body) buttons[Math.min(place, buttons.length - 1)]?.focus();
  }

  // pending: whether earlier text is still in the store's files.
  async changed(done, pending) {
    const what = pending ? `${done}; ${kErasedLater}` : done;
    await this.refresh();
    this.status.textContent = `${what}.`;
    await this.onChange(what);
  }

  async inStatus(action) {
    try {
      await action();
    } catch (error) {
      this.status.textContent = error.message;
    }
  }

  listenForFiles(drop) {
    const input = drop.querySelector("input");
    input.addEventListener("change", () => {
      this.memorizeAll([...input.files]);
      input.value = "";
    });
    drop.addEventListener("dragover", (event) => {
      event.preventDefault();
      drop.classList.add("over");
    });
    drop.addEventListener("dragleave", () => drop.classList.remove("over"));
    drop.addEventListener("drop", (event) => {
      event.preventDefault();
      drop.classList.remove("over");
      this.memorizeAll([...event.dataTransfer.files]);
    });
  }

  // What several files change is shown once, after the last of them.
  async memorizeAll(files, path = this.path, replace = false) {
    const memorized = [];
    for (const file of files) {
      const document = await this.memorize(path, file, replace);
      if (document) memorized.push(document);
    }
    if (memorized.length === 0) return;
    await this.inStatus(() => this.changed(outcomes(memorized), memorized.some((document) => document.erasure_pending)));
  }

  // Under the file's name, with a bar; returns the document, null where it is refused. Where a
  // document of this name exists, it asks.
  async memorize(path, file, replace) {
    const {bar, onProgress} = progressBar(`Memorizing ${file.name}`);
    const job = make("div", {class: "job"}, make("span", {}, file.name), bar);
    this.jobs.append(job);
    const query = new URLSearchParams({id: file.name, ...(replace ? {replace: "true"} : {})});
    try {
      const document = await longAnswer("POST", `${path}/documents?${query}`, {body: file, onProgress});
      job.remove();
      return document;
    } catch (error) {
      this.refused(path, job, file, error);
      return null;
    }
  }

  refused(path, job, file, error) {
    const away = make("button", {type: "button", click: () => job.remove()}, error.code === "document_exists" ? "Keep the old one" : "Close");
    if (error.code !== "document_exists") {
      job.replaceChildren(make("span", {class: "problem", role: "alert"}, error.message.startsWith(file.name) ? error.message : `${file.name}: ${error.message}`), away);
      return;
    }
    const replace = make("button", {type: "button", class: "main", click: () => {
      job.remove();
      this.memorizeAll([file], path, true);
    }}, "Replace it");
    job.replaceChildren(make("span", {role: "alert"}, `${file.name} is stored already.`), replace, away);
  }
}
