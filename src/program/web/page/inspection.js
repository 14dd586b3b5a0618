// The page of `tessera inspect --page`: a text, of which every token shows the memories behind it.

import {Explanation} from "./explanation.js";
import {nameOf} from "./token_bytes.js";
import {percent} from "./words.js";
import {shadeLegend, WrittenText} from "./written_text.js";

// inspections[i]: why the model expected tokens[i + 1], as POST /v1/inspect answers, but for the readers of slots,
// which stand once for all.
const {tokens, inspections, slot_readers} = JSON.parse(document.getElementById("inspections").textContent);
const explanation = new Explanation(document.querySelector(".explanation"));
const text = new WrittenText({onChoose: explain});

function explain(index) {
  text.mark(index);
  const {name, probability} = text.tokens[index];
  explanation.show({name, note: `the model gave it ${percent(probability)}`, alternatives: text.alternativesOf(index),
    inspection: {tokens, slot_readers, ...inspections[index]}});
}

text.begin(nameOf(tokens[0].text));  // nothing stands before it
for (const {token, log_probability: logProbability, alternatives} of inspections)
  text.addToken({name: token.text, probability: Math.exp(logProbability),
    alternatives: alternatives.map((other) => ({text: other.text, probability: Math.exp(other.log_probability)}))});
document.querySelector(".inspected").append(text.box, shadeLegend());
if (inspections.length > 0) explain(inspections.length - 1);
