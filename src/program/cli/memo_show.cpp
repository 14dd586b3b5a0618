// tessera memo show STORE ID [--range LINES]

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "program/cli/memo_verbs.h"
#include "program/cli/program.h"
#include "tessera/base/config.h"
#include "tessera/base/error.h"
#include "tessera/store/document_text.h"
#include "tessera/store/memo_store.h"

namespace tessera::cli {
namespace {

struct ShowOptions {
  std::string store, id, range;
  bool json = false;
};

/// Lines, from 1, both included.
struct LineRange {
  int64_t first = 1, last = INT64_MAX;
};

/// "12", "12-20" or "12-".
LineRange parse_lines(const std::string& text) {
  LineRange lines;
  if (text.empty()) return lines;
  const char* const end = text.data() + text.size();
  const auto refuse = [&] {
    return UsageError("--range is '{}', expected lines such as 12, 12-20 or 12-", text);
  };
  const auto [dash, failure] = std::from_chars(text.data(), end, lines.first);
  if (failure != std::errc() || (dash != end && *dash != '-')) throw refuse();
  if (dash == end) lines.last = lines.first;
  if (dash != end && dash + 1 != end) {
    const auto [stop, no_number] = std::from_chars(dash + 1, end, lines.last);
    if (no_number != std::errc() || stop != end) throw refuse();
  }
  if (lines.first < 1 || lines.last < lines.first) throw refuse();
  return lines;
}

void run_show(const ShowOptions& options) {
  const LineRange lines = parse_lines(options.range);
  const store::MemoStore store(options.store);
  const store::StoredDocument document = store.ledger().get(options.id);
  int64_t line = 1;
  std::string text;
  store::read_text(store, document, [&](int32_t, std::string_view bytes) {
    for (const char byte : bytes) {
      if (line >= lines.first && line <= lines.last) text += byte;
      line += byte == '\n';
    }
  });
  if (text.empty())
    throw UsageError("--range is '{}', but '{}' has {}", options.range, options.id,
                     counted(line, "line"));
  if (options.json)
    print_json({{"id", document.id},
                {"tokens", document.tokens},
                {"pairs", document.pairs},
                {"first_line", lines.first},
                {"text", text}});
  else
    fmt::print("{}{}", text, text.ends_with('\n') ? "" : "\n");
}

}  // namespace

void add_memo_show(Verb& memo) {
  auto options = std::make_shared<ShowOptions>();
  Verb& verb = memo.verb("show", "Print the text of a document");
  add_store(verb, options->store);
  verb.option("id", options->id, "Its id, as 'tessera memo documents' prints it").required();
  verb.option("--range", options->range, "Only these lines: 12, 12-20 or 12-");
  verb.flag("--json", options->json, "Print a JSON object");
  verb.run([options] { run_show(*options); });
}

}  // namespace tessera::cli
