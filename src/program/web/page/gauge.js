// A half circle that is filled up to a share.

import {make, makeSvg} from "./dom.js";

const kRadius = 46;

function arc(share, kind) {
  const angle = Math.PI * (1 - Math.min(1, Math.max(0, share)));
  const x = 55 + kRadius * Math.cos(angle);
  const y = 55 - kRadius * Math.sin(angle);
  return makeSvg("path", {class: kind, d: `M${55 - kRadius} 55A${kRadius} ${kRadius} 0 0 1 ${x.toFixed(2)} ${y.toFixed(2)}`});
}

// share: 0 to 1, more is drawn as 1; text: what stands in the gauge. good: more is better.
export function gauge({label, share, text, good}) {
  const worry = good ? share < 0.9 : share > 1;
  return make("figure", {class: `meter${worry ? " worry" : ""}`, role: "meter", "aria-label": label, "aria-valuemin": 0,
    "aria-valuemax": 1, "aria-valuenow": Math.min(1, share), "aria-valuetext": text},
    makeSvg("svg", {viewBox: "0 0 110 62", "aria-hidden": "true"}, arc(1, "whole"), share > 0 ? arc(share, "filled") : "",
      makeSvg("text", {x: 55, y: 52, "text-anchor": "middle"}, text)),
    make("figcaption", {}, label));
}
