#include "program/cli/memo_answer.h"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "program/cli/memo_writing.h"
#include "program/cli/program.h"
#include "tessera/hosts/answer.h"
#include "tessera/report/table.h"
#include "tessera/store/recall.h"
#include "tessera/store/store_json.h"

namespace tessera::cli {
namespace {

/// Tokens in a row that stand so in one document.
struct Passage {
  size_t first, last;
};

std::vector<Passage> passages_of(const std::vector<store::TokenSources>& sources) {
  const auto continues_passage = [&](size_t i) {
    const auto &before = sources[i - 1].best, &here = sources[i].best;
    if (before.empty() || here.empty()) return before.empty() && here.empty();
    return here[0].document == before[0].document && here[0].position == before[0].position + 1;
  };
  std::vector<Passage> passages;
  for (size_t i = 0; i < sources.size(); ++i)
    if (i > 0 && continues_passage(i))
      passages.back().last = i;
    else
      passages.push_back({i, i});
  return passages;
}

/// Documents that say the same as far as the text goes.
std::string also_in(const std::vector<store::Source>& best) {
  std::string names;
  for (size_t i = 1; i < best.size(); ++i)
    if (best[i].matched_length == best[0].matched_length && best[i].document != best[0].document)
      names += (names.empty() ? "" : ", ") + best[i].document;
  return names;
}

void print_sources(const store::Recall& recall) {
  Table table("", {"tokens", "document", "line", "position", "matched", "probability", "also in"});
  for (const auto [first, last] : passages_of(recall.sources)) {
    double least = 1;
    int64_t matched = INT64_MAX;
    for (size_t i = first; i <= last; ++i) {
      least = std::min(least, recall.tokens[i].probability);
      matched = std::min(matched, recall.tokens[i].matched_length);
    }
    const auto& best = recall.sources[first].best;
    table.add_row(
        {fmt::format("{}-{}", first + 1, last + 1), best.empty() ? "none" : best[0].document,
         best.empty() ? Cell() : Cell(best[0].line), best.empty() ? Cell() : Cell(best[0].position),
         Cell(matched), Cell::fixed(least, 4), also_in(recall.sources[last].best)});
  }
  fmt::print("\n{}", table.text());
}

}  // namespace

bool answer(const store::QuestionedStore& store, const std::string& prompt,
            const store::RecallOptions& options, bool json) {
  const store::Question question = store::read_question(store, prompt, options);
  store::check_prompt(store, question.tokens.size());
  const Writing writing(store, question, !json);
  store::RecitedText text(store.tokenizer(), question.rest);
  const store::Recall result =
      store::recall(store, question.tokens, options,
                    [&](const memo::NextToken& token) { writing.add(text.add(token.token)); });
  writing.end(result.finish, result.tokens.size());
  if (json)
    print_json(store::json_of(store, prompt, question, result));
  else if (!result.tokens.empty())
    print_sources(result);
  std::fflush(stdout);
  return !result.tokens.empty();
}

bool answer(hosts::StoresOfHosts& stores, const std::string& prompt,
            const store::RecallOptions& options, bool json) {
  const auto started = std::chrono::steady_clock::now();
  const hosts::Answer answer = hosts::recall(stores, prompt, options);
  if (json) {
    print_json(hosts::json_of(stores, prompt, answer));
  } else {
    const Writing writing(stores, answer.question, true, started);
    store::RecitedText text(stores.tokenizer(), answer.question.rest);
    for (const memo::NextToken& token : answer.recall.tokens) writing.add(text.add(token.token));
    writing.end(answer.recall.finish, answer.recall.tokens.size());
    if (!answer.recall.tokens.empty()) print_sources(answer.recall);
  }
  std::fflush(stdout);
  for (const auto& [address, reason] : answer.absent)
    fmt::print(stderr, "answered without {}: {}\n", address, reason);
  return !answer.recall.tokens.empty();
}

}  // namespace tessera::cli
