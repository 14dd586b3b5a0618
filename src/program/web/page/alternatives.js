// What else could have stood at a place, as a list, maybe to pick from.

import {make} from "./dom.js";
import {nameOf} from "./token_bytes.js";
import {percent, quoted} from "./words.js";

function bar(share) {
  const full = make("span", {class: "share-bar"});
  full.style.width = `${Math.max(0.5, 100 * share)}%`;
  return make("span", {class: "share", "aria-hidden": "true"}, full);
}

// alternatives: {text, probability}, best first. pickable(text): whether one can go on from it with
// onPick(text); without onPick they are only shown.
export function alternativesList({alternatives, chosen, pickable, onPick}) {
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
