// What it costs to hold texts and to ask how they go on, for a store in one matrix or in shards,
// beside SQLite's full-text index and an array of suffixes:
//   tessera_bench store/cost TEXTS TOKENS plan | SHARDS | fts5 | suffixes
// Takes the first TOKENS tokens of a folder or file of texts, holds them in the way named, asks for
// the token after 16 others at 500 random places, and prints one row. A store is planned for an
// error of 0.01. One start for each row, so that the memory is that of this row.

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "bench/support/clocks.h"
#include "bench/support/peak_memory.h"
#include "bench/support/program.h"
#include "tessera/base/error.h"
#include "tessera/base/random.h"
#include "tessera/data/bpe_trainer.h"
#include "tessera/data/text_source.h"
#include "tessera/memo/recall_predictor.h"
#include "tessera/store/memo_store.h"
#include "tessera/store/memo_writer.h"
#include "tessera/store/recall.h"
#include "tessera/store/sqlite.h"
#include "tests/support/temporary_folder.h"

namespace tessera::bench::cost {
namespace {
using bench::PeakMemory;
using Tokens = std::vector<int32_t>;
namespace fs = std::filesystem;

constexpr size_t kContext = 16;  // tokens
constexpr int64_t kQuestions = 500;
constexpr double kError = 0.01;

struct Sample {
  std::vector<std::string> texts;
  std::vector<Tokens> documents;
  Tokenizer tokenizer;
  size_t tokens = 0;
};

Sample sample_of(const std::string& path, size_t tokens) {
  std::vector<std::string> all;
  size_t bytes = 0;  // a token has four, about
  TextSource::from_path(path).for_each([&](const std::string&, std::string_view text) {
    if (bytes < 8 * tokens) all.emplace_back(text);
    bytes += text.size();
  });
  Sample sample{{}, {}, learn_bpe(all, 4096)};
  for (const std::string& text : all) {
    if (sample.tokens == tokens) break;
    Tokens document = sample.tokenizer.encode(text);
    document.resize(std::min(document.size(), tokens - sample.tokens));
    sample.tokens += document.size();
    sample.texts.push_back(sample.tokenizer.decode(document));
    sample.documents.push_back(std::move(document));
  }
  return sample;
}

struct Question {
  Tokens context;
  int32_t answer;
};

std::vector<Question> questions_of(const Sample& sample) {
  const auto is_long = [](const Tokens& document) { return document.size() > kContext; };
  check_argument(std::ranges::any_of(sample.documents, is_long), "no text has more than {} tokens",
                 kContext);
  std::vector<Question> questions;
  RandomStream random(1);
  while (std::ssize(questions) < kQuestions) {
    const Tokens& document = sample.documents[random.below(sample.documents.size())];
    if (!is_long(document)) continue;
    const size_t place = kContext + random.below(document.size() - kContext);
    const auto end = document.begin() + place;
    questions.push_back({{end - kContext, end}, *end});
  }
  return questions;
}

double bytes_in(const fs::path& folder) {
  double bytes = 0;
  for (const auto& entry : fs::directory_iterator(folder))
    bytes += static_cast<double>(entry.file_size());
  return bytes;
}

/// Whether a question was answered rightly.
using Answer = std::function<bool(const Question&)>;

/// A way to hold texts.
struct Held {
  Answer answer;
  std::string description;  ///< size, and the CPU seconds that it took to hold them
  double bytes;             ///< on disk
  PeakMemory memory;        ///< since it began to hold them
};

Held hold_in_store(const Sample& sample, const std::string& shards, const fs::path& folder) {
  memo::TextMemoryConfig memory{.vocabulary = sample.tokenizer.vocabulary_size()};
  const auto choose = [](const memo::RecallPredictor& predictor) {
    return predictor.plan_for(kError + predictor.floor());
  };
  if (shards != "plan") memory.shards = std::stoi(shards);
  const memo::SizePlan plan = shards == "plan"
                                  ? memo::plan_shards(sample.documents, memory, 1, choose)
                                  : memo::plan_memory(sample.documents, memory, 1, choose);
  memory.dimension = plan.dimension.value();
  const PeakMemory memory_used;
  const double before = cpu_seconds();
  store::MemoStore::create(folder / "store", memory, sample.tokenizer);
  {
    store::MemoWriter writer(folder / "store");
    for (size_t n = 0; n < sample.texts.size(); ++n)
      if (!sample.texts[n].empty())
        writer.memorize(std::to_string(n), sample.texts[n], store::Duplicates::kRefuse);
    writer.checkpoint();
  }
  const double seconds = cpu_seconds() - before;
  const auto opened = std::make_shared<store::MemoStore>(folder / "store");
  const auto reader = std::make_shared<store::StoreReader>(*opened);
  return {[opened, reader](const Question& question) {
            const std::span<const int32_t> context = question.context;
            return reader->next_of({&context, 1}).front().token == question.answer;
          },
          fmt::format("{:>3} x {:>5}: {:8.1f} s", memory.shards, memory.dimension, seconds),
          bytes_in(folder / "store"), memory_used};
}

/// Words of a text that are whole: the first and the last one may be cut off.
std::string inner_words(const std::string& text) {
  std::vector<std::string> words(1);
  for (const char c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || (c & 0x80) != 0)
      words.back() += c;
    else if (!words.back().empty())
      words.emplace_back();
  std::string phrase;
  for (size_t i = 1; i + 1 < words.size(); ++i) phrase += words[i] + ' ';
  return phrase;
}

/// Passages of 1000 bytes that overlap by 250. A phrase of the context's whole words finds
/// passages; the first that has the context itself says how it goes on.
Held hold_in_fts5(const Sample& sample, const fs::path& folder) {
  using store::sqlite::Statement;
  constexpr size_t kPassage = 1000, kStep = 750;
  const PeakMemory memory_used;
  const double before = cpu_seconds();
  auto database = std::make_shared<store::sqlite::Database>(folder / "words.sqlite",
                                                            store::sqlite::Access::kWrite);
  database->execute("CREATE VIRTUAL TABLE words USING fts5 (text); BEGIN");
  for (const std::string& text : sample.texts)
    for (size_t at = 0; at < text.size(); at += kStep)
      Statement(*database, "INSERT INTO words VALUES (?1)", text.substr(at, kPassage)).run();
  database->execute("COMMIT");
  const double seconds = cpu_seconds() - before;
  const Answer answer = [database, &sample](const Question& question) {
    const std::string context = sample.tokenizer.decode(question.context);
    const std::string phrase = inner_words(context);
    if (phrase.empty()) return false;
    Statement rows(*database, "SELECT text FROM words WHERE words MATCH ?1 LIMIT 20",
                   '"' + phrase + '"');
    while (rows.step()) {
      const std::string text = rows.text(0);
      const size_t at = text.find(context);
      if (at != std::string::npos)
        return text.substr(at + context.size())
            .starts_with(sample.tokenizer.token_bytes(question.answer));
    }
    return false;
  };
  return {answer, fmt::format("{:>11}: {:8.1f} s", "", seconds), bytes_in(folder), memory_used};
}

/// All places of the text, sorted by the tokens from there on. The token that most often follows
/// the longest end of the context that occurs is the answer.
Held hold_in_suffixes(const Sample& sample) {
  constexpr size_t kCompared = 64;  // tokens
  const PeakMemory memory_used;
  const double before = cpu_seconds();
  const auto text = std::make_shared<std::vector<uint16_t>>();
  for (const Tokens& document : sample.documents) {
    text->insert(text->end(), document.begin(), document.end());
    text->push_back(UINT16_MAX);  // no window goes beyond a document
  }
  const auto order = std::make_shared<std::vector<uint32_t>>(text->size());
  for (uint32_t place = 0; place < order->size(); ++place) (*order)[place] = place;
  const auto from = [text](uint32_t place, size_t length) {
    return std::span(*text).subspan(place, std::min(length, text->size() - place));
  };
  std::ranges::sort(*order, [&](uint32_t a, uint32_t b) {
    return std::ranges::lexicographical_compare(from(a, kCompared), from(b, kCompared));
  });
  const double seconds = cpu_seconds() - before;
  const Answer answer = [text, order, from](const Question& question) {
    for (size_t length = kContext; length > 0; --length) {
      const std::vector<uint16_t> sought(question.context.end() - length, question.context.end());
      const auto less = [](const auto& a, const auto& b) {
        return std::ranges::lexicographical_compare(a, b);
      };
      const auto found = std::ranges::equal_range(
          *order, std::span(sought), less,
          [&](uint32_t place) -> std::span<const uint16_t> { return from(place, length); });
      std::map<uint16_t, int64_t> followers;
      for (const uint32_t place : found)
        if (place + length < text->size()) ++followers[(*text)[place + length]];
      if (followers.empty()) continue;
      return std::ranges::max_element(followers, {}, [](const auto& f) {
               return f.second;
             })->first == question.answer;
    }
    return false;
  };
  return {answer, fmt::format("{:>11}: {:8.1f} s", "", seconds),
          static_cast<double>(text->size() * sizeof(uint16_t) + order->size() * sizeof(uint32_t)),
          memory_used};
}

const Program program(
    "store/cost", "TEXTS TOKENS plan|SHARDS|fts5|suffixes", [](const Words& words) {
      const Sample sample = sample_of(words[0], std::stoull(words[1]));
      const std::vector<Question> questions = questions_of(sample);
      const std::string kind = words[2];
      const test::TemporaryFolder folder;
      const Held held = kind == "fts5"       ? hold_in_fts5(sample, folder.path())
                        : kind == "suffixes" ? hold_in_suffixes(sample)
                                             : hold_in_store(sample, kind, folder.path());
      const double before = cpu_seconds();
      const auto right = std::ranges::count_if(questions, held.answer);
      const double milliseconds = 1000 * (cpu_seconds() - before) / kQuestions;
      fmt::print(
          "{:>8} tokens  {:<8} {}, {:7.1f} MB on disk, {:7.1f} MB of memory, {:.3f} right, "
          "{:8.3f} ms\n",
          sample.tokens, kind, held.description, held.bytes / 1e6,
          held.memory.mebibytes() * 1.048576, static_cast<double>(right) / kQuestions,
          milliseconds);
    });

}  // namespace
}  // namespace tessera::bench::cost
