#include "tessera/report/token_view.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "tessera/base/error.h"
#include "tessera/report/text.h"

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const ViewedToken& token, size_t tokens) {
  Json memories = Json::array();
  for (const ViewedMemory& memory : token.memories) {
    if (memory.position < 0 || memory.position >= static_cast<int64_t>(tokens))
      throw UsageError("token_view: a memory at position {} of {} tokens", memory.position, tokens);
    memories.push_back({memory.layer, memory.head, memory.position, memory.weight, memory.logit});
  }
  const auto pairs = [](const std::vector<std::pair<std::string, double>>& named) {
    Json list = Json::array();
    for (const auto& [name, value] : named) list.push_back({printable_text(name), value});
    return list;
  };
  return {{"probability", token.probability},
          {"alternatives", pairs(token.alternatives)},
          {"parts", pairs(token.parts)},
          {"memories", std::move(memories)}};
}

/// JSON that can stand inside <script>: without '<' nothing ends the element.
std::string script_data(const Json& json) {
  std::string text;
  for (char c : json.dump()) {
    if (c == '<' || c == '>' || c == '&')
      text += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      text += c;
  }
  return text;
}

}  // namespace

std::string token_view(const std::vector<ViewedToken>& tokens) {
  Json data = Json::array();
  std::string text;
  for (size_t position = 0; position < tokens.size(); ++position) {
    data.push_back(json_of(tokens[position], tokens.size()));
    text += fmt::format("<span role=\"button\" tabindex=\"0\" data-position=\"{}\">{}</span>",
                        position, escape_markup(tokens[position].text));
  }
  return fmt::format(
      "<div class=\"token-view\">\n<div class=\"tokens\">{}</div>\n"
      "<div class=\"explanation\" aria-live=\"polite\"></div>\n"
      "<script type=\"application/json\">{}</script>\n</div>\n",
      text, script_data(data));
}

const std::string_view kTokenViewStyle = R"(.token-view{--told:#c2410c;--against:#1d63a8}
.tokens{white-space:pre-wrap;overflow-wrap:anywhere;background:var(--card);border:1px solid var(--rule);border-radius:10px;padding:1rem;line-height:2;
max-height:24rem;overflow:auto;font-size:1.02rem}
.tokens span{cursor:pointer;border-radius:4px;padding:.12em 0}
.tokens span:hover{text-decoration:underline}
.tokens span.chosen{outline:2px solid var(--link);outline-offset:1px;font-weight:600}
.tokens span.read{background:color-mix(in srgb,var(--told) calc(var(--share)*1%),transparent)}
.tokens span.peeked{text-decoration:underline dotted var(--told);text-underline-offset:.25em}
.explanation{margin:1rem 0;display:grid;grid-template-columns:repeat(auto-fit,minmax(15rem,1fr));gap:.5rem 1.75rem}
.explanation .memories{grid-column:1/-1}
.explanation h3{font-size:.95rem;margin:.6rem 0 .3rem}
.explanation table{width:100%;min-width:0}
.explanation td{padding:.22rem .6rem .22rem 0;min-width:0}
.explanation td:not(:first-child):not(.place){white-space:nowrap}
.explanation td.place{white-space:pre-wrap}
.explanation td.place b{color:var(--told)}
.explanation .bar{display:inline-block;height:.7em;border-radius:2px;background:var(--told);vertical-align:baseline}
.explanation .bar.minus{background:var(--against)}
)";

const std::string_view kTokenViewScript = R"js(
for (const view of document.querySelectorAll(".token-view")) {
  const tokens = [...view.querySelectorAll(".tokens span")];
  const data = JSON.parse(view.querySelector("script").textContent);
  const panel = view.querySelector(".explanation");
  const make = (name, text, kind) => {
    const element = document.createElement(name);
    if (text !== undefined) element.textContent = text;
    if (kind) element.className = kind;
    return element;
  };
  const percent = (share) => (100 * share).toFixed(share < 0.1 ? 1 : 0) + " %";
  const signed = (value) => (value < 0 ? "\u2212" : "+") + Math.abs(value).toFixed(2);
  const shown = (position) => tokens[position]?.textContent ?? "";
  const quoted = (text) => "\u201c" + text.replaceAll("\n", "\u21b5") + "\u201d";
  const bar = (value, most) => {
    const element = make("span", undefined, value < 0 ? "bar minus" : "bar");
    element.style.width = (5 * Math.abs(value) / most).toFixed(2) + "rem";
    return element;
  };
  const table = (title, heads, rows) => {
    const box = make("div");
    box.append(make("h3", title));
    const body = make("table");
    const line = make("tr");
    for (const head of heads) line.append(make("th", head));
    body.append(line);
    for (const cells of rows) {
      const row = make("tr");
      for (const cell of cells) {
        if (cell instanceof Element && cell.tagName === "TD") { row.append(cell); continue; }
        const field = make("td");
        field.append(cell);
        row.append(field);
      }
      body.append(row);
    }
    box.append(body);
    return box;
  };
  const place = (position) => {
    const cell = make("td", undefined, "place");
    let before = "";
    for (let i = Math.max(0, position - 6); i < position; ++i) before += shown(i);
    cell.append((position > 6 ? "\u2026" : "") + before.replaceAll("\n", "\u21b5"));
    cell.append(make("b", shown(position).replaceAll("\n", "\u21b5")));
    cell.append(" \u2192 ", make("b", shown(position + 1).replaceAll("\n", "\u21b5")));
    return cell;
  };
  const widest = (rows, value) => Math.max(1e-9, ...rows.map((row) => Math.abs(value(row))));
  const explain = (position) => {
    for (const token of tokens) token.classList.remove("chosen", "read", "peeked");
    tokens[position].classList.add("chosen");
    const {probability, alternatives, parts, memories} = data[position];
    panel.replaceChildren();
    if (position === 0) {
      panel.append(make("p", "The first token: the model had read nothing before it."));
      return;
    }
    const mostMemory = widest(memories, (memory) => memory[4]);
    for (const [, , read, , logit] of memories) {
      if (logit <= 0) continue;
      tokens[read].classList.add("read");
      const share = 15 + 60 * logit / mostMemory;
      const before = Number(tokens[read].style.getPropertyValue("--share") || 0);
      tokens[read].style.setProperty("--share", Math.max(share, tokens[read].dataset.of == position ? before : 0));
      tokens[read].dataset.of = position;
      tokens[read + 1]?.classList.add("peeked");
    }
    const mostPart = widest(parts, (part) => part[1]);
    panel.append(
      table("Expected here (" + quoted(shown(position)) + ": " + percent(probability) + ")", ["token", "probability"],
            alternatives.map(([text, share]) => [quoted(text), percent(share)])),
      table("What made the logit of " + quoted(shown(position)), ["part", "logit", ""],
            parts.map(([name, logit]) => [name, signed(logit), bar(logit, mostPart)])));
    const list = table("Memories of this text that added most",
      ["layer", "head", "weight", "logit", "", "stored at \u2192 what came next"],
      memories.map(([layer, head, read, weight, logit]) =>
        [String(layer), String(head), percent(weight), signed(logit), bar(logit, mostMemory), place(read)]));
    list.className = "memories";
    panel.append(list);
  };
  for (const [position, token] of tokens.entries()) {
    for (const kind of ["pointerenter", "focus", "click"]) token.addEventListener(kind, () => explain(position));
    token.addEventListener("keydown", (event) => {
      const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
      if (!step) return;
      tokens[position + step]?.focus();
      event.preventDefault();
    });
  }
  if (tokens.length > 0) explain(tokens.length - 1);
}
)js";

}  // namespace tessera
