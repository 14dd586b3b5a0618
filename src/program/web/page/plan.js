// The place where a memory is planned: its error against its dimension, predicted and simulated.

import {isAborted, post} from "./api.js";
import {LineChart} from "./chart.js";
import {make, makeTable, showProblem} from "./dom.js";
import {changedValues, fillForm, saveState} from "./state.js";
import {percent, short, whole} from "./words.js";

const kRuns = 3;        // simulated, for each dimension
const kHalvings = 3;    // of the dimension, and as many doublings, are drawn
const kMostDimension = 1 << 14;
const kWait = 250;      // milliseconds after the last move of a slider

// What the sliders' positions mean: all but the exponent move on a logarithmic scale.
function settingsOf({elements}) {
  const number = (name) => Number(elements[name].value);
  return {
    alpha: number("alpha"),
    inputs: Math.round(10 ** number("inputs")),
    outputs: Math.round(10 ** number("outputs")),
    dimension: Math.round(2 ** number("dimension")),
    error: Number((10 ** number("error")).toPrecision(2)),
    known: elements.known.value,
  };
}

export class Planner {
  constructor(section) {
    this.section = section;
    this.form = section.querySelector("form");
    this.status = section.querySelector(".status");
    this.answer = section.querySelector(".answer");
    this.chart = new LineChart(section.querySelector(".chart"), {
      label: "Error against dimension; the numbers are in the table below",
      x: {label: "dimension", log: true}, y: {label: "error", log: true}});
    this.form.addEventListener("submit", (event) => event.preventDefault());
    this.form.addEventListener("input", () => {
      this.say();
      clearTimeout(this.waiting);
      this.waiting = setTimeout(() => this.plan(), kWait);
    });
    this.form.addEventListener("change", () => saveState("plan", changedValues(this.form)));
  }

  async open(values) {
    fillForm(this.form, values);
    this.say();
    await this.plan();
  }

  close() {
    clearTimeout(this.waiting);
    this.planning?.abort();
  }

  // The values beside the sliders, and which of the two last sliders counts.
  say() {
    const {elements} = this.form;
    const settings = settingsOf(this.form);
    const texts = {alpha: String(settings.alpha), inputs: whole(settings.inputs), outputs: whole(settings.outputs),
      dimension: whole(settings.dimension), error: percent(settings.error)};
    for (const [name, text] of Object.entries(texts)) {
      this.form.querySelector(`[data-of=${name}]`).textContent = text;
      elements[name].setAttribute("aria-valuetext", text);
    }
    this.form.querySelector(".of-dimension").hidden = settings.known !== "dimension";
    this.form.querySelector(".of-error").hidden = settings.known !== "error";
  }

  async plan() {
    this.planning?.abort();
    const planning = this.planning = new AbortController();
    const settings = settingsOf(this.form);
    showProblem(this.section, null);
    try {
      await this.draw(settings, planning.signal);
    } catch (error) {
      if (isAborted(error)) return;
      this.status.textContent = "";
      this.answer.replaceChildren();
      this.chart.show([]);
      showProblem(this.section, error);
    }
  }

  // The chosen memory first, then the predicted curve around it, then the simulated points.
  async draw(settings, signal) {
    const {alpha, inputs, outputs, known} = settings;
    const ask = (more) => post("/v1/plan", {alpha, inputs, outputs, ...more}, {signal});
    this.status.textContent = "Planning\u2026";
    const chosen = await ask({[known]: settings[known], runs: 0});
    const dimensions = [];
    for (let k = -kHalvings; k <= kHalvings; ++k) {
      const dimension = Math.round(chosen.dimension * 2 ** k);
      if (dimension >= 2 && (dimension <= kMostDimension || k === 0)) dimensions.push(dimension);
    }
    const predicted = [], simulated = [], rows = new Map();
    const show = () => this.show({chosen, settings, predicted, simulated, rows});
    for (const dimension of dimensions) {
      const plan = await ask({dimension, runs: 0, error_only: true});
      predicted.push([dimension, plan.predicted_error]);
      rows.set(dimension, plan);
      show();
    }
    for (const dimension of dimensions) {
      this.status.textContent = `Simulating dimension ${whole(dimension)}\u2026`;
      const plan = await ask({dimension, runs: kRuns, error_only: true});
      rows.set(dimension, plan);
      if (plan.simulated) simulated.push([dimension, plan.simulated.error, plan.simulated.standard_error]);
      show();
    }
    this.status.textContent = simulated.length === dimensions.length ? `Each dot is the mean of ${kRuns} simulated memories.`
      : "Dimensions without a dot would take the server too long to simulate.";
  }

  show({chosen, settings, predicted, simulated, rows}) {
    this.chart.show([
      {name: "Predicted", colour: 0, points: predicted},
      {name: "Simulated", colour: 1, kind: "dots", points: simulated},
      {name: "Chosen", colour: 7, kind: "ring", points: [[chosen.dimension, chosen.predicted_error]]},
    ]);
    const parts = [summaryOf(chosen, settings), curveTable(rows), schemesTable(chosen), holdsTable(chosen)];
    this.answer.replaceChildren(...parts);
  }
}

function summaryOf(plan, {known}) {
  const seen = plan.samples === null ? "" : ` It needs to see ${whole(plan.samples)} samples.`;
  const start = known === "error" ? "Needed: dimension " : "Dimension ";
  return make("p", {class: "summary"}, start, make("b", {}, whole(plan.dimension)), `, ${whole(plan.parameters)} numbers, storing the `,
    make("b", {}, whole(plan.stored)), " most frequent inputs: predicted error ", make("b", {}, percent(plan.predicted_error)), `.${seen}`);
}

function curveTable(rows) {
  return makeTable({
    caption: "Error against dimension",
    heads: ["Dimension", "Stored", "Predicted", "Simulated"],
    rows: [...rows].map(([dimension, plan]) => [whole(dimension), whole(plan.stored), percent(plan.predicted_error),
      plan.simulated ? `${percent(plan.simulated.error)} \u00b1 ${short(Number((100 * plan.simulated.standard_error).toPrecision(1)))} %` : "\u2013"]),
    numbers: [0, 1, 2, 3],
  });
}

function schemesTable(plan) {
  return make("div", {}, makeTable({
    caption: `Ways to store in dimension ${whole(plan.dimension)}`,
    heads: ["Scheme", "Predicted error"],
    rows: plan.schemes.map(({scheme, predicted_error: error}) => [scheme, percent(error)]),
    numbers: [1],
  }), make("p", {class: "soft"}, "A threshold stores the most frequent inputs only, all with the same weight. " +
    "Otherwise every input is stored with its frequency to the power rho as weight."));
}

function holdsTable(plan) {
  return makeTable({
    caption: `What dimension ${whole(plan.dimension)} holds, stored with equal weight`,
    heads: ["Error of each", "Inputs"],
    rows: plan.holds.map(({error_per_item: error, items}) => [percent(error), whole(items)]),
    numbers: [0, 1],
  });
}
