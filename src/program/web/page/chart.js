// A small line chart that follows its box's width and grows with its data.

import {make, makeSvg} from "./dom.js";
import {short} from "./words.js";

const kHeight = 300;
const kHalfDigit = 3.75;  // of a tick's text, at least half the width of one
const kMargin = {left: 58, right: 14, top: 12, bottom: 42};

// All digits of a tick, of which there are few: neighbours may differ in the last one alone.
function tickText(tick) {
  const size = Math.abs(tick);
  return size > 0 && (size < 1e-4 || size >= 1e15) ? tick.toExponential() : tick.toLocaleString("en", {maximumFractionDigits: 12});
}

// One direction of the chart: values to pixels, and where its ticks are.
class Scale {
  constructor(values, {log}, from, to) {
    this.log = log;
    let low = Math.min(...values), high = Math.max(...values);
    if (!values.length) [low, high] = log ? [1, 10] : [0, 1];
    const rounding = 1e-12 * Math.max(Math.abs(low), Math.abs(high));
    if (high - low <= rounding) [low, high] = log ? [low / 2, high * 2] : [low - (Math.abs(low) || 1) / 2, high + (Math.abs(high) || 1) / 2];
    this.low = low;
    this.high = high;
    this.from = from;
    this.to = to;
  }

  flat(value) {
    return this.log ? Math.log(value) : value;
  }

  at(value) {
    const share = (this.flat(value) - this.flat(this.low)) / (this.flat(this.high) - this.flat(this.low));
    return this.from + share * (this.to - this.from);
  }

  ticks() {
    return this.log ? this.logTicks() : this.evenTicks(5);
  }

  evenTicks(most) {
    const rough = (this.high - this.low) / most;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
    const ticks = [];
    for (let k = Math.ceil(this.low / step); k * step <= this.high * (1 + 1e-12); ++k) ticks.push(Number((k * step).toPrecision(12)));
    return ticks;
  }

  // Powers of ten, with 2 and 5 where they are few.
  logTicks() {
    const powers = Math.log10(this.high / this.low);
    const factors = powers > 3 ? [1] : powers > 1.2 ? [1, 3] : [1, 2, 5];
    const ticks = [];
    for (let power = Math.floor(Math.log10(this.low)); power <= Math.log10(this.high); ++power)
      for (const factor of factors) {
        const tick = Number(`${factor}e${power}`);
        if (tick >= this.low * 0.999 && tick <= this.high * 1.001) ticks.push(tick);
      }
    return ticks;
  }
}

export class LineChart {
  // label: what a screen reader says; x, y: {label, log}.
  constructor(box, {label, x, y}) {
    this.axes = {x, y};
    this.series = [];
    this.legend = make("div", {class: "chart-legend"});
    this.svg = makeSvg("svg", {class: "tessera-chart", role: "img", "aria-label": label, height: kHeight});
    this.readout = make("p", {class: "readout soft", "aria-hidden": "true"});
    box.replaceChildren(this.legend, this.svg, this.readout);
    this.svg.addEventListener("pointermove", (event) => this.read(event.offsetX));
    this.svg.addEventListener("pointerleave", () => this.read(null));
    new ResizeObserver(() => this.draw()).observe(box);
  }

  // series: {name, colour: 0-7, points: [[x, y, deviation]], kind: "line", "dots" or "ring"}, in
  // rising x. axes: where they are others than before.
  show(series, axes = {}) {
    Object.assign(this.axes, axes);
    const visible = ([x, y]) => Number.isFinite(x) && Number.isFinite(y) && (!this.axes.x.log || x > 0) && (!this.axes.y.log || y > 0);
    this.series = series.map((one) => ({...one, points: one.points.filter(visible)}));
    this.legend.replaceChildren(...series.map(({name, colour, kind}) =>
      make("span", {class: `s${colour}`}, make("span", {class: `swatch ${kind ?? "line"}`, "aria-hidden": "true"}), name)));
    this.draw();
  }

  draw() {
    const width = this.svg.parentElement.clientWidth;
    if (width === 0) return;
    this.svg.setAttribute("width", width);
    const points = this.series.flatMap(({points: own}) => own);
    const lowest = ([, y, spread = 0]) => (this.axes.y.log && y <= spread ? y : y - spread);
    this.x = new Scale(points.map(([x]) => x), this.axes.x, kMargin.left, width - kMargin.right);
    this.y = new Scale([...points.map(([, y, spread = 0]) => y + spread), ...points.map(lowest)], this.axes.y,
      kHeight - kMargin.bottom, kMargin.top);
    this.guide = makeSvg("line", {class: "leader", y1: kMargin.top, y2: kHeight - kMargin.bottom, visibility: "hidden"});
    this.svg.replaceChildren(...this.grid(width), this.guide, ...this.series.flatMap((one) => this.marks(one)));
  }

  grid(width) {
    const bottom = kHeight - kMargin.bottom;
    const rows = this.y.ticks().flatMap((tick) => [
      makeSvg("line", {class: "grid", x1: kMargin.left, x2: width - kMargin.right, y1: this.y.at(tick), y2: this.y.at(tick)}),
      makeSvg("text", {class: "muted", x: kMargin.left - 8, y: this.y.at(tick) + 4, "text-anchor": "end"}, tickText(tick))]);
    const columns = this.x.ticks().map((tick) => {
      const text = tickText(tick);
      const x = Math.min(this.x.at(tick), width - kHalfDigit * text.length);  // none is cut off at the edge
      return makeSvg("text", {class: "muted", x, y: bottom + 17, "text-anchor": "middle"}, text);
    });
    return [...rows, makeSvg("line", {class: "axis", x1: kMargin.left, x2: width - kMargin.right, y1: bottom, y2: bottom}), ...columns,
      makeSvg("text", {class: "muted", x: width - kMargin.right, y: kHeight - 6, "text-anchor": "end"}, this.axes.x.label),
      makeSvg("text", {class: "muted", x: 2, y: kHeight - 6}, `\u2191 ${this.axes.y.label}`)];
  }

  marks({colour, points, kind = "line"}) {
    const place = ([x, y]) => `${this.x.at(x).toFixed(1)} ${this.y.at(y).toFixed(1)}`;
    if (kind === "line" && points.length > 1) return [makeSvg("path", {class: `line s${colour}`, d: "M" + points.map(place).join("L")})];
    return points.flatMap((point) => {
      const [x, y, spread = 0] = point;
      const circle = {cx: this.x.at(x).toFixed(1), cy: this.y.at(y).toFixed(1)};
      if (kind === "ring") return [makeSvg("circle", {class: `hollow s${colour}`, r: 7, ...circle})];
      const low = this.axes.y.log && y <= spread ? y : y - spread;
      return [makeSvg("line", {class: `whisker s${colour}`, x1: circle.cx, x2: circle.cx, y1: this.y.at(low), y2: this.y.at(y + spread)}),
        makeSvg("circle", {class: `fill s${colour}`, r: 4, ...circle})];
    });
  }

  // Says the values at the pixel column `left`.
  read(left) {
    const all = this.series.flatMap(({points}) => points);
    if (left === null || all.length === 0) {
      this.readout.textContent = "";
      this.guide.setAttribute("visibility", "hidden");
      return;
    }
    const distance = ([x]) => Math.abs(this.x.at(x) - left);
    const nearest = (points) => points.reduce((best, point) => (distance(point) < distance(best) ? point : best));
    const [x] = nearest(all);
    this.guide.setAttribute("x1", this.x.at(x));
    this.guide.setAttribute("x2", this.x.at(x));
    this.guide.setAttribute("visibility", "visible");
    const values = this.series.filter(({points}) => points.length > 0).map(({name, points}) => [name, nearest(points)])
      .filter(([, point]) => Math.abs(this.x.at(point[0]) - this.x.at(x)) < 3)
      .map(([name, [, y]]) => `${name} ${short(y)}`);
    this.readout.textContent = `${this.axes.x.label} ${short(x)}: ${values.join(", ")}`;
  }
}
