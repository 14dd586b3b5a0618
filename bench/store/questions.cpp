// How often a store recites right after a question that was not typed as the document has it:
//   tessera_bench store/questions TEXTS [ERROR] [PROMPTS]
// memorizes the files of a folder (or one file) into a store planned for this error beyond what is
// ambiguous, in as many matrices as `memo create` makes, and asks it with 100 questions, or so
// many, of eight to ten words with slips, and with as many prompts of 8 and of 16 tokens that have
// a line break in them. Right: the next 20 characters are the document's.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "bench/support/clocks.h"
#include "bench/support/program.h"
#include "tessera/base/random.h"
#include "tessera/data/bpe_trainer.h"
#include "tessera/data/text_source.h"
#include "tessera/memo/recall_predictor.h"
#include "tessera/store/detail/normal_form.h"
#include "tessera/store/detail/word_alignment.h"
#include "tessera/store/memo_store.h"
#include "tessera/store/memo_writer.h"
#include "tessera/store/question.h"
#include "tessera/store/recall.h"
#include "tests/support/temporary_folder.h"

namespace tessera::bench::questions {
namespace {

constexpr size_t kCharacters = 20;  // bytes that must be right
constexpr size_t kPart = 400;       // bytes of a text, of which some words are a question

struct Prompt {
  std::string text, next;
};

void make_store(const std::filesystem::path& folder, const std::vector<std::string>& texts,
                double error) {
  const Tokenizer tokenizer = learn_bpe(texts, 4096);
  std::vector<std::vector<int32_t>> documents;
  for (const auto& text : texts) documents.push_back(tokenizer.encode(text));
  memo::TextMemoryConfig config{.vocabulary = tokenizer.vocabulary_size()};
  const memo::SizePlan plan = memo::plan_shards(documents, config, 0, [&](const auto& predictor) {
    return predictor.plan_for(error + predictor.floor());
  });
  config.dimension = plan.dimension.value();
  store::MemoStore::create(folder, config, tokenizer);
  store::MemoWriter writer(folder);
  for (size_t i = 0; i < texts.size(); ++i)
    writer.memorize(std::to_string(i), texts[i], store::Duplicates::kRefuse);
  writer.checkpoint();
  fmt::print("{} documents, {} tokens, {} x {} dimensions\n", texts.size(),
             writer.ledger().totals().tokens, config.shards, config.dimension);
}

/// Prompts of so many tokens, the first of which begins a word, with a line break in them.
std::vector<Prompt> prompts_of(const std::vector<std::string>& texts, const Tokenizer& tokenizer,
                               size_t tokens, size_t count, uint64_t seed) {
  RandomStream random(seed);
  std::vector<std::vector<int32_t>> documents;
  for (const auto& text : texts) documents.push_back(tokenizer.encode(text));
  std::vector<Prompt> prompts;
  for (int tries = 0; prompts.size() < count && tries < 1000000; ++tries) {
    const auto& document = documents[random.below(documents.size())];
    if (document.size() < tokens + 60) continue;
    const size_t at = random.below(document.size() - tokens - 50);
    const auto first = tokenizer.token_bytes(document[at]);
    if (first.size() < 2 || first[0] != ' ' || !std::isalpha(static_cast<uint8_t>(first[1])))
      continue;
    const auto prompt = std::span(document).subspan(at, tokens);
    const auto next = std::span(document).subspan(at + tokens, 50);
    const std::string text = tokenizer.decode(prompt).substr(1);
    if (text.find('\n') == std::string::npos) continue;
    prompts.push_back({text, tokenizer.decode(next)});
  }
  return prompts;
}

std::string with_spaces(std::string text) {
  return store::NormalForm(store::Matching::kTyped, text).text();
}

/// The prompt with its middle word wrong, or without it.
std::string with_error(const std::string& text, const std::string& word) {
  const auto words = store::words_of(text);
  const auto& middle = words[words.size() / 2];
  return text.substr(0, middle.begin) + word + text.substr(middle.end);
}

bool is_right(const store::MemoStore& store, const store::Question& question,
              const std::string& next) {
  if (std::ssize(question.tokens) < store.memory().window_lengths().front()) return false;
  std::string text;
  for (const auto& token : store::recall(store, question.tokens, {.tokens = 12}).tokens)
    text += store.tokenizer().token_bytes(token.token);
  if (!text.starts_with(question.rest)) return false;
  return text.substr(question.rest.size(), kCharacters) == next.substr(0, kCharacters);
}

using Words = std::vector<std::string>;
/// Spoils words of a question: the places are different, the first one is not the first word's.
using Slip = std::function<void(Words&, size_t place, size_t other)>;

const std::vector<std::pair<const char*, Slip>> kSlips = {
    {"as it stands", [](Words&, size_t, size_t) {}},
    {"one wrong word", [](Words& words, size_t i, size_t) { words[i] = "wombat"; }},
    {"one missing word",
     [](Words& words, size_t i, size_t) { words.erase(words.begin() + static_cast<long>(i)); }},
    {"one word too many",
     [](Words& words, size_t i, size_t) {
       words.insert(words.begin() + static_cast<long>(i), "wombat");
     }},
    {"two words swapped",
     [](Words& words, size_t i, size_t) { std::swap(words[i - 1], words[i]); }},
    {"two wrong words",
     [](Words& words, size_t i, size_t j) { words[i] = "wombat", words[j] = "zebra"; }}};

/// Asks with so many questions of eight to ten words that were copied from the texts and spoilt;
/// prints how many answers are the text's own, another's, or none, and the CPU time of each.
void ask_with_slips(const store::MemoStore& store, const std::vector<std::string>& texts,
                    size_t count) {
  check_argument(std::ranges::any_of(texts, [](const auto& text) { return text.size() > kPart; }),
                 "no text has more than {} bytes", kPart);
  fmt::print("questions of 8 to 10 words         right  wrong  none  CPU ms\n");
  for (const auto& [name, slip] : kSlips) {
    RandomStream random(7);
    int right = 0, wrong = 0, none = 0;
    const double started = cpu_seconds();
    for (size_t asked = 0; asked < count;) {
      const std::string& text = texts[random.below(texts.size())];
      if (text.size() <= kPart) continue;
      const size_t at = random.below(text.size() - kPart);
      const std::string part = text.substr(at, kPart);
      const auto all = store::words_of(part);
      const size_t length = 8 + random.below(3);
      if (all.size() < length + 12) continue;
      Words words;
      for (size_t i = 1; i <= length; ++i)
        words.push_back(part.substr(all[i].begin, all[i].end - all[i].begin));
      const std::string next = part.substr(all[length].end, 60);
      const size_t place =
          1 + random.below(length - 2);  // not the last: the text goes on behind it
      slip(words, place, (place + 1 + random.below(length - 2)) % (length - 1));
      ++asked;
      const auto question = store::read_question(store, fmt::format("{}", fmt::join(words, " ")));
      if (std::ssize(question.tokens) < store.memory().window_lengths().front()) {
        ++none;
        continue;
      }
      store::RecitedText recited(store.tokenizer(), question.rest);
      for (const auto& token : store::recall(store, question.tokens, {.tokens = 12}).tokens)
        recited.add(token.token);
      if (recited.text().empty())
        ++none;
      else
        ++(next.starts_with(recited.text().substr(0, kCharacters)) ? right : wrong);
    }
    const double ms = 1e3 * (cpu_seconds() - started);
    fmt::print("  {:30} {:7}{:7}{:6}{:8.1f}\n", name, right, wrong, none,
               ms / static_cast<double>(count));
    std::fflush(stdout);
  }
}

const Program program("store/questions", "TEXTS [ERROR [PROMPTS]]", [](const Words& words) {
  const auto texts = read_texts(words[0]);
  const test::TemporaryFolder temporary;
  const auto folder = temporary / "store";
  make_store(folder, texts, words.size() > 1 ? std::stod(words[1]) : 0.01);
  const size_t count = words.size() > 2 ? std::stoul(words[2]) : 100;
  const store::MemoStore store(folder);
  ask_with_slips(store, texts, count);
  const auto typed = [&](const std::string& text) { return store::read_question(store, text); };
  const auto as_typed = [&](const std::string& text) {
    return store::Question{store.tokenizer().encode(text), "", text};
  };
  using Ask = std::function<store::Question(const std::string&)>;
  const std::vector<std::pair<const char*, Ask>> ways = {
      {"verbatim, as typed", [&](const auto& text) { return as_typed(text); }},
      {"with spaces, as typed", [&](const auto& text) { return as_typed(with_spaces(text)); }},
      {"verbatim", [&](const auto& text) { return typed(text); }},
      {"with spaces for line breaks", [&](const auto& text) { return typed(with_spaces(text)); }},
      {"the middle word wrong",
       [&](const auto& text) { return typed(with_error(text, "wombat")); }},
      {"the middle word missing", [&](const auto& text) { return typed(with_error(text, "")); }},
      {"from inside the first word",
       [&](const auto& text) { return typed(text.substr(text.find(' ') > 2 ? 1 : 2)); }}};
  for (const size_t tokens : {8, 16}) {
    const auto prompts = prompts_of(texts, store.tokenizer(), tokens, count, 1);
    fmt::print("prompts of {} tokens\n", tokens);
    std::vector<bool> verbatim;
    for (const auto& [name, ask] : ways) {
      int right = 0, of_verbatim = 0;
      std::vector<bool> these;
      for (size_t i = 0; i < prompts.size(); ++i) {
        these.push_back(is_right(store, ask(prompts[i].text), prompts[i].next));
        right += these[i];
        of_verbatim += these[i] && (verbatim.empty() || verbatim[i]);
      }
      if (verbatim.empty()) verbatim = these;
      fmt::print("  {:30} {:3} of {}; {} of the {} where verbatim is right\n", name, right,
                 prompts.size(), of_verbatim, std::ranges::count(verbatim, true));
      std::fflush(stdout);
    }
  }
});

}  // namespace
}  // namespace tessera::bench::questions
