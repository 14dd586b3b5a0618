#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "program/model_jobs/model_jobs.h"
#include "program/web/web_files.h"
#include "tessera/report/text.h"

namespace tessera::jobs {
namespace {

using config::Json;

constexpr size_t kShownReaders = 3;  // of each slot

/// The modules of the page, each behind those that it imports.
constexpr const char* kModules[] = {"/dom.js",         "/words.js",        "/token_bytes.js",
                                    "/token_row.js",   "/written_text.js", "/memory_text.js",
                                    "/explanation.js", "/inspection.js"};

constexpr const char* kPage = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>Memories behind a text</title>
<style>
{style}</style>
</head>
<body>
<header><h1>Memories behind a text</h1></header>
<main>
<p class="soft">{model}. A token is a word or a part of one. Point at a token to see how probable it was and what else
could have stood there; click it to see which memories made it. The arrow keys step through the text.</p>
<noscript><p class="problem">This page needs JavaScript.</p></noscript>
<div class="card inspected"></div>
<div class="explanation"></div>
<p class="soft">What a memory changes in a later layer counts as a share of that layer. Made by Tessera. This file holds
everything it shows and loads nothing.</p>
</main>
<div id="card" class="card" hidden></div>
<script type="application/json" id="inspections">{data}</script>
<script type="module">
{script}</script>
</body>
</html>
)";

std::string_view web_file(std::string_view path) {
  return std::ranges::find(web::web_files(), path, &web::WebFile::path)->content;
}

/// The lines of a module as a part of one script, which holds the modules that it imports, too.
std::string part_of_script(std::string_view module) {
  std::string lines;
  while (!module.empty()) {
    std::string_view line = module.substr(0, module.find('\n') + 1);
    module.remove_prefix(line.size());
    if (line.starts_with("import ")) continue;
    if (line.starts_with("export ")) line.remove_prefix(std::string_view("export ").size());
    lines += line;
  }
  return lines;
}

/// JSON that can stand inside <script>: without '<' nothing ends the element.
std::string script_data(const Json& json) {
  std::string text;
  for (const char c : json.dump(-1, ' ', false, Json::error_handler_t::replace))
    text += c == '<' ? "\\u003c" : std::string(1, c);
  return text;
}

}  // namespace

std::string inspection_page(const std::string& title, const Tokens& text,
                            const std::vector<Inspection>& inspections, const ModelFolder& folder) {
  Json data = {{"tokens", tessera::json_of(text, folder.tokenizer)},
               {"inspections", Json::array()}};
  for (const Inspection& inspection : inspections)
    data["inspections"].push_back(tessera::json_of(inspection, folder.tokenizer));
  if (folder.slot_readers)
    data["slot_readers"] =
        slot_readers_json(*folder.slot_readers, inspections, folder.tokenizer, kShownReaders);
  std::string script;
  for (const char* module : kModules) script += part_of_script(web_file(module));
  return fmt::format(fmt::runtime(kPage), fmt::arg("model", escape_markup(title)),
                     fmt::arg("style", web_file("/page.css")), fmt::arg("script", script),
                     fmt::arg("data", script_data(data)));
}

}  // namespace tessera::jobs
