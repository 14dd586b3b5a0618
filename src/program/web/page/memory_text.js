// The text before a token, with marks where memories were stored and arcs from there to the token.

import {make, makeSvg} from "./dom.js";
import {isFragment} from "./token_bytes.js";
import {visible} from "./words.js";

const kShown = 600;  // tokens; of longer texts the last ones

export class MemoryText {
  // tokens: {text} of the server; explained: the token after them.
  constructor(tokens, explained) {
    this.first = Math.max(0, tokens.length - kShown);
    const shown = (text) => (isFragment(text) ? "\u00b7" : visible(text, true));
    this.marks = tokens.slice(this.first).map(({text}) => make("span", {class: "stored"}, shown(text)));
    this.target = make("span", {class: "explained"}, shown(explained.text));
    this.arcs = makeSvg("svg", {class: "arcs", "aria-hidden": "true"});
    this.element = make("div", {class: "text memory-text"}, this.arcs,
      this.first > 0 ? make("span", {class: "soft"}, "\u2026") : null, ...this.marks, this.target);
    this.memories = [];
    new ResizeObserver(() => this.drawArcs()).observe(this.element);
  }

  // memories: {position, weight, logit}
  show(memories) {
    this.memories = memories.filter(({position}) => position >= this.first);
    this.most = Math.max(1e-9, ...memories.map(({logit}) => Math.abs(logit)));
    for (const mark of this.marks) mark.className = "stored";
    for (const {position, logit} of this.memories) {
      const strength = Math.ceil(4 * Math.abs(logit) / this.most);
      this.marks[position - this.first].classList.add(logit < 0 ? "against" : "for", `strength-${strength}`);
    }
    this.drawArcs();
  }

  drawArcs() {
    const box = this.element.getBoundingClientRect();
    if (box.width === 0) return;
    this.arcs.setAttribute("height", 0);  // their old height does not count to that of the text
    this.arcs.setAttribute("width", this.element.clientWidth);
    this.arcs.setAttribute("height", this.element.scrollHeight);
    const top = (element) => {
      const at = element.getClientRects()[0];
      return [at.left + at.width / 2 - box.left, at.top + 3 - box.top + this.element.scrollTop];
    };
    const [endX, endY] = top(this.target);
    this.arcs.replaceChildren(...this.memories.map(({position, logit}) => {
      const [x, y] = top(this.marks[position - this.first]);
      const rise = Math.min(28, 8 + Math.abs(endX - x) / 12);
      const share = Math.abs(logit) / this.most;
      return makeSvg("path", {class: logit < 0 ? "against" : "for", "stroke-width": (0.6 + 2 * share).toFixed(2),
        "stroke-opacity": (0.25 + 0.6 * share).toFixed(2),
        d: `M${x} ${y}C${x} ${y - rise} ${endX} ${endY - rise} ${endX} ${endY}`});
    }));
  }
}
