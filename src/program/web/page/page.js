// The page: its places, which of them is shown, and the key where the server asks for one.

import {setKey} from "./api.js";
import {showProblem} from "./dom.js";
import {Planner} from "./plan.js";
import {Remember} from "./remember.js";
import {Runs} from "./runs.js";
import {readState} from "./state.js";
import {Writer} from "./write.js";

// Each is made of its section; open(values) is called again when the address changes, close() when
// another place is shown.
const kPlaces = {write: Writer, remember: Remember, runs: Runs, plan: Planner};

const started = {};
let shown = null;

function linkOf(place) {
  return document.querySelector(`nav a[data-place="${place}"]`);
}

// A link of the navigation leads back to what its place showed last.
function keepOldState(event) {
  const {hash} = new URL(event.oldURL);
  const link = linkOf(hash.slice(1).split("?")[0]);
  if (link) link.href = hash;
}

async function show() {
  const {place, values} = readState();
  const name = Object.hasOwn(kPlaces, place) ? place : "write";
  if (shown && shown !== name) started[shown]?.close();
  shown = name;
  document.title = `${linkOf(name).textContent} \u2013 Tessera`;
  for (const other of Object.keys(kPlaces)) document.getElementById(other).hidden = other !== name;
  for (const link of document.querySelectorAll("nav a")) {
    if (link === linkOf(name)) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const section = document.getElementById(name);
  started[name] ??= new kPlaces[name](section);
  try {
    showProblem(section, null);
    await started[name].open(values);
  } catch (error) {
    showProblem(section, error);
  }
}

function askForKey() {
  const form = document.getElementById("key");
  document.addEventListener("key-needed", () => {
    form.hidden = false;
    form.elements.key.focus();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    setKey(form.elements.key.value);
    form.hidden = true;
    show();
  });
}

document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();  // the address holds the state, not an anchor
  document.getElementById("place").focus();
});
askForKey();
window.addEventListener("hashchange", (event) => {
  keepOldState(event);
  show();
});
show();
