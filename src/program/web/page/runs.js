// The place where trainings are followed and compared.

import {events, get, getBlob, hasKey, isAborted} from "./api.js";
import {LineChart} from "./chart.js";
import {make, makeTable, NotServed, showProblem} from "./dom.js";
import {changedValues, fillForm, saveState} from "./state.js";
import {date, short, whole} from "./words.js";

const kMostFollowed = 4;  // a browser opens six connections to a server; two stay free
const kMostPoints = 600;  // of a curve, that are drawn

// The values of a line of metrics.jsonl, by the names of their curves: [["training loss", 4.2], …].
function valuesOf(line) {
  if (line.kind === "evaluation")
    return Object.entries(line.metrics).map(([name, value]) => [`validation ${name}`, value]);
  const axes = ["kind", "step", "tokens", "elapsed_seconds"];
  return Object.entries(line).filter(([name, value]) => !axes.includes(name) && typeof value === "number")
    .map(([name, value]) => [`training ${name}`, value]);
}

function thinned(points) {
  const every = Math.ceil(points.length / kMostPoints);
  return points.filter((_, i) => i % every === 0 || i === points.length - 1);
}

// {"train": {"steps": 3}} -> [["train.steps", "3"]]
function flatConfig(config, path = "") {
  return Object.entries(config).flatMap(([name, value]) =>
    value !== null && typeof value === "object" && !Array.isArray(value) ? flatConfig(value, `${path}${name}.`)
      : [[path + name, typeof value === "string" ? value : JSON.stringify(value)]]);
}

// The runs that an address names, which somebody may have written by hand.
function namedRuns(text) {
  try {
    return [JSON.parse(text)].flat();
  } catch {
    return [text];
  }
}

// One run that is followed: its lines so far, and its configuration.
class FollowedRun {
  constructor(id) {
    this.id = id;
    this.path = `/v1/runs/${encodeURIComponent(id)}`;
    this.lines = [];
    this.following = new AbortController();
  }

  async follow(onLine) {
    const {signal} = this.following;
    this.config = new Map(flatConfig(await get(`${this.path}/config`, {signal})));
    onLine();
    for await (const line of events("GET", `${this.path}/metrics?follow=true`, {signal})) {
      if (this.lines.length > 0 && line.step < this.lines.at(-1).step) this.lines = [];  // it began once more
      this.lines.push(line);
      onLine();
    }
  }

  stop() {
    this.following.abort();
  }

  // Evaluations have no number of tokens; it is that of the last step before them.
  points(curve, against) {
    const points = [];
    let tokens = 0;
    for (const line of this.lines) {
      tokens = line.tokens ?? tokens;
      const value = valuesOf(line).find(([name]) => name === curve)?.[1];
      if (value !== undefined) points.push([against === "tokens" ? tokens : line[against], value]);
    }
    return thinned(points);
  }
}

export class Runs {
  constructor(section) {
    this.section = section;
    this.form = section.querySelector(".curves");
    this.list = section.querySelector(".list");
    this.status = section.querySelector(".status");
    this.differences = section.querySelector(".differences");
    this.samples = section.querySelector(".samples");
    this.followed = new Map();  // by id
    this.colours = new Map();
    this.chart = new LineChart(section.querySelector(".chart"), {label: "Learning over time of the chosen runs; the last values are below",
      x: {label: "", log: false}, y: {label: "", log: false}});
    this.form.addEventListener("submit", (event) => event.preventDefault());
    this.form.addEventListener("change", () => {
      this.save();
      this.draw();
    });
  }

  async open(values) {
    this.runs = (await get("/v1/runs")).data;
    if (this.runs.length === 0)
      throw new NotServed("This server has no runs. Start it with: tessera serve --runs DIR, the folder above the run folders");
    this.section.querySelector(".content").hidden = false;
    const asked = values.runs ? namedRuns(values.runs) : [this.newest()];
    this.wantedCurve = values.curve ?? "validation loss";  // where there is none, the first one listed
    fillForm(this.form, {against: values.against});
    const known = (id) => this.runs.some((run) => run.id === id);
    this.follow(asked.filter(known));
    if (!asked.every(known)) throw new Error(`This server has no run ${asked.find((id) => !known(id))}.`);
  }

  close() {
    this.follow([]);
  }

  newest() {
    return this.runs.reduce((best, run) => (run.modified > best.modified ? run : best)).id;
  }

  save() {
    const {against} = changedValues(this.form);
    this.wantedCurve = this.form.elements.curve.value || this.wantedCurve;
    saveState("runs", {runs: JSON.stringify([...this.followed.keys()]), curve: this.wantedCurve, ...(against && {against})});
  }

  // Follows these runs and no others.
  follow(ids) {
    for (const [id, run] of this.followed) {
      if (ids.includes(id)) continue;
      run.stop();
      this.followed.delete(id);
    }
    for (const id of ids.slice(0, kMostFollowed)) {
      if (this.followed.has(id)) continue;
      const run = new FollowedRun(id);
      this.followed.set(id, run);
      if (!this.colours.has(id)) this.colours.set(id, this.colours.size % 8);
      run.follow(() => this.drawSoon()).catch((error) => {
        if (!isAborted(error)) showProblem(this.section, error);
      });
    }
    this.showList();
    this.drawSoon();
  }

  showList() {
    const rows = this.runs.map((run) => [this.choice(run), date(run.modified), run.last?.step === undefined ? "" : whole(run.last.step),
      run.has_report ? this.reportLink(run) : ""]);
    this.list.replaceChildren(makeTable({heads: ["Run", "Last written", "Updates", ""], rows, numbers: [2]}),
      make("p", {class: "soft"}, `Up to ${kMostFollowed} runs are shown together.`));
  }

  choice({id}) {
    const checked = this.followed.has(id);
    const box = make("input", {type: "checkbox", checked, disabled: !checked && this.followed.size >= kMostFollowed, change: () => {
      const ids = [...this.followed.keys()].filter((other) => other !== id);
      this.follow(box.checked ? [...ids, id] : ids);
      this.save();
      [...this.list.querySelectorAll("input")].find((other) => other.value === id).focus();
    }, value: id});
    return make("label", {class: "inline"}, box, id,
      checked ? make("span", {class: `swatch line s${this.colours.get(id)}`, "aria-hidden": "true"}) : null);
  }

  // A link cannot send a key: then the report is saved instead.
  reportLink({id}) {
    const path = `/v1/runs/${encodeURIComponent(id)}/report`;
    if (!hasKey()) return make("a", {href: path, target: "_blank", rel: "noopener"}, "Report");
    return make("button", {type: "button", click: async () => {
      try {
        const address = URL.createObjectURL(await getBlob(path));
        make("a", {href: address, download: `${id}.html`}).click();
        URL.revokeObjectURL(address);
      } catch (error) {
        showProblem(this.section, error);
      }
    }}, "Save the report");
  }

  drawSoon() {
    this.drawing ??= requestAnimationFrame(() => {
      this.drawing = null;
      this.draw();
      this.showDifferences();
      this.showSamples();
    });
  }

  draw() {
    this.listCurves();
    const curve = this.form.elements.curve.value;
    const {value: against, selectedOptions: [axis]} = this.form.elements.against;
    const series = [...this.followed.values()].map((run) =>
      ({name: run.id, colour: this.colours.get(run.id), points: curve ? run.points(curve, against) : []}));
    this.chart.show(series, {x: {label: axis.textContent, log: false}, y: {label: this.nameOf(curve), log: false}});
    this.status.textContent = series.filter(({points}) => points.length > 0)
      .map(({name, points}) => `${name}: ${short(points.at(-1)[1])} after ${short(points.at(-1)[0])} ${axis.textContent}`).join("; ");
  }

  // With the unit, where the chosen runs are of language models; the loss of a task has one of its own.
  nameOf(curve) {
    const onText = [...this.followed.values()].every(({config}) => config?.has("data.tokenizer"));
    return curve.replaceAll("_", " ") + (onText && curve.endsWith(" loss") ? " (nats per token)" : "");
  }

  // Those of validation stand before those of training.
  listCurves() {
    const select = this.form.elements.curve;
    const known = new Set([...select.options].map((option) => option.value));
    for (const run of this.followed.values())
      for (const [name] of run.lines.slice(-50).concat(run.lines.slice(0, 50)).flatMap(valuesOf))
        if (!known.has(name)) {
          known.add(name);
          const training = [...select.options].find((option) => option.value.startsWith("training "));
          select.add(new Option(name.replaceAll("_", " "), name), name.startsWith("validation ") ? training : null);
        }
    select.value = known.has(this.wantedCurve) ? this.wantedCurve : select.options[0]?.value;
  }

  // The settings that are not the same in all the chosen runs.
  showDifferences() {
    const runs = [...this.followed.values()].filter((run) => run.config);
    const keys = new Set(runs.flatMap((run) => [...run.config.keys()]));
    const rows = [...keys].filter((key) => new Set(runs.map((run) => run.config.get(key))).size > 1)
      .map((key) => [key, ...runs.map((run) => run.config.get(key) ?? "\u2013")]);
    if (runs.length < 2) this.differences.replaceChildren();
    else this.differences.replaceChildren(make("div", {class: "card"}, rows.length === 0 ? make("p", {}, "These runs have the same settings.")
      : makeTable({caption: "Settings that differ", heads: ["Setting", ...runs.map((run) => run.id)], rows})));
  }

  // What the chosen runs wrote while they were trained (train.sample_every), the latest first.
  showSamples() {
    const samples = [...this.followed.values()].flatMap((run) =>
      run.lines.filter(({kind}) => kind === "sample").map(({step, text}) => ({run: run.id, step, text})))
      .sort((a, b) => b.step - a.step);
    const shown = JSON.stringify(samples);
    if (shown === this.shownSamples) return;  // a selected text stays selected
    this.shownSamples = shown;
    const rows = samples.map(({run, step, text}) => [run, whole(step), make("span", {class: "sample"}, text)]);
    if (rows.length === 0) this.samples.replaceChildren();
    else this.samples.replaceChildren(make("div", {class: "card"},
      makeTable({caption: "Samples during training", heads: ["Run", "Updates", "Text"], rows, numbers: [1]})));
  }
}
