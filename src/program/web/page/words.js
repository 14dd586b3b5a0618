// Numbers, tokens and the ends of texts as people read them.

// By `finish` of the server's answers.
export const kEndings = {
  max_tokens: "reached the number of tokens",
  stop_string: "reached the stop text",
  end_of_text: "the text ended",
  not_stored: "no stored document continues this with enough certainty",
};

export function percent(share) {
  if (share > 0 && share < 0.0005) return "below 0.1 %";
  return (100 * share).toFixed(share < 0.0995 ? 1 : 0) + " %";
}

export function signed(value) {
  return (value < 0 ? "\u2212" : "+") + Math.abs(value).toFixed(2);
}

export function whole(value) {
  return Math.round(value).toLocaleString("en");
}

// "1 token", "1,200 tokens"
export function count(number, noun) {
  return `${whole(number)} ${noun}${number === 1 ? "" : "s"}`;
}

// Three significant digits, as short as they get.
export function short(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e15 || size < 1e-4) return value.toExponential(2);
  if (size >= 1000) return whole(value);
  return String(Number(value.toPrecision(3)));
}

export function bytes(number) {
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  let unit = 0;
  for (; number >= 1000 && unit + 1 < units.length; ++unit) number /= 1000;
  return `${unit === 0 ? number : short(number)} ${units[unit]}`;
}

export function date(unixSeconds) {
  return new Date(1000 * unixSeconds).toLocaleString("en-GB", {dateStyle: "medium", timeStyle: "short"});
}

// Line ends become visible; the line still ends where `breaks`.
export function visible(text, breaks = false) {
  return text.replaceAll("\n", breaks ? "\u21b5\n" : "\u21b5").replaceAll("\t", "\u21e5");
}

export function quoted(text) {
  return "\u201c" + visible(text) + "\u201d";
}
