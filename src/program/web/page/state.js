// What a place shows is in the address, "#write?prompt=And+the+king", so that a link holds it.

export function readState() {
  const [place, query = ""] = location.hash.slice(1).split(/\?(.*)/s);
  return {place, values: Object.fromEntries(new URLSearchParams(query))};
}

export function addressOf(place, values) {
  const query = new URLSearchParams(values).toString();
  return `#${place}${query ? "?" + query : ""}`;
}

// keepOld: "back" returns to what was shown before.
export function saveState(place, values, {keepOld = false} = {}) {
  const address = addressOf(place, values);
  if (address === location.hash) return;
  if (keepOld) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
}

function controlsOf(form) {
  return [...form.elements].filter((control) => control.name && control.willValidate && control.type !== "file" && control.tagName !== "BUTTON");
}

function defaultOf(control) {
  return control.tagName === "SELECT" ? control.options[0]?.value ?? "" : control.defaultValue;
}

// The controls that differ from what they are at first, by name.
export function changedValues(form) {
  const values = {};
  for (const control of controlsOf(form)) {
    if (control.type === "radio") {
      if (control.checked && !control.defaultChecked) values[control.name] = control.value;
    } else if (control.value !== defaultOf(control)) {
      values[control.name] = control.value;
    }
  }
  return values;
}

// The reverse; a choice that a list does not have becomes its first one.
export function fillForm(form, values) {
  for (const control of controlsOf(form)) {
    const value = values[control.name];
    if (control.type === "radio") {
      control.checked = value === undefined ? control.defaultChecked : control.value === value;
      continue;
    }
    if (control.tagName === "SELECT") choose(control, value);
    else control.value = value ?? defaultOf(control);
  }
}

function choose(select, value) {
  select.value = value ?? defaultOf(select);
  if (select.selectedIndex < 0) select.selectedIndex = 0;
}

export function fillSelect(select, options, chosen) {
  select.replaceChildren(...options.map(({value, text}) => new Option(text, value)));
  choose(select, chosen);
}
