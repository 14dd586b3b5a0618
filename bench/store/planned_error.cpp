// Whether a memory of texts errs as seldom as its plan said:
//   tessera_bench store/planned_error TEXTS…
// For each folder or file of texts: a dimension planned for an error of 0.01 beyond what is
// ambiguous in the text, the error planned in it and the error measured at random positions, both
// told apart into what is ambiguous (the longest window is followed by other tokens elsewhere,
// which no memory of these windows can tell) and what is noise. At most 400 kB of each are taken.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "bench/support/program.h"
#include "tessera/base/random.h"
#include "tessera/base/utf8.h"
#include "tessera/data/bpe_trainer.h"
#include "tessera/data/text_source.h"
#include "tessera/memo/bound_window_predictor.h"
#include "tessera/memo/likelihood_decoder.h"
#include "tessera/memo/text_memory.h"
#include "tessera/memo/text_reader.h"

namespace tessera::bench::planned_error {
namespace {
using Documents = std::vector<std::vector<int32_t>>;

constexpr size_t kMostBytes = 400000;
constexpr int64_t kProbes = 4000, kMeasured = 8000;
constexpr size_t kShortest = 4, kLongest = 16;
constexpr double kNoiseAllowed = 0.01;

/// The documents' tokens, and the size of the vocabulary learned from them.
std::pair<Documents, int64_t> documents_of(const std::string& path) {
  std::vector<std::string> texts;
  size_t bytes = 0;
  TextSource::from_path(path).for_each([&](const std::string&, std::string_view text) {
    text = text.substr(0, kMostBytes - std::min(kMostBytes, bytes));
    text = text.substr(0, utf8::valid_prefix(text));
    bytes += text.size();
    if (!text.empty()) texts.emplace_back(text);
  });
  const Tokenizer tokenizer = learn_bpe(texts, 4096);
  Documents documents;
  for (const auto& text : texts) documents.push_back(tokenizer.encode(text));
  return {std::move(documents), tokenizer.vocabulary_size()};
}

/// How often each document's context of the longest window is followed by each token.
class Followers {
 public:
  explicit Followers(const Documents& documents) {
    for (size_t n = 0; n < documents.size(); ++n)
      for (size_t i = kShortest; i < documents[n].size(); ++i)
        followers_[context(documents[n], i)][documents[n][i]].insert(n);
  }
  static std::vector<int32_t> context(std::span<const int32_t> document, size_t i) {
    const auto window = document.first(i).last(std::min(i, kLongest));
    return {window.begin(), window.end()};
  }
  /// Whether another token follows in at least as many documents.
  bool ambiguous(std::span<const int32_t> document, size_t i) const {
    const auto& tokens = followers_.at(context(document, i));
    const size_t right = tokens.at(document[i]).size();
    return std::ranges::any_of(tokens, [&](const auto& follower) {
      return follower.first != document[i] && follower.second.size() >= right;
    });
  }

 private:
  std::map<std::vector<int32_t>, std::map<int32_t, std::set<size_t>>> followers_;
};

struct Measured {
  double error = 0, ambiguous = 0;
};

Measured measure(const Documents& documents, int64_t dimension, int64_t vocabulary) {
  memo::TextMemory memory({.dimension = dimension, .vocabulary = vocabulary, .seed = 1});
  std::vector<double> prior(vocabulary, 1.0);
  std::vector<std::pair<size_t, size_t>> places;
  for (size_t n = 0; n < documents.size(); ++n) {
    memory.memorize(memo::one_piece(documents[n]));
    for (const int32_t token : documents[n]) prior[token] += 1;
    for (size_t i = kShortest; i < documents[n].size(); ++i) places.emplace_back(n, i);
  }
  RandomStream random(7);
  std::vector<std::pair<size_t, size_t>> asked;
  std::vector<std::span<const int32_t>> contexts;
  for (int64_t k = 0; k < kMeasured; ++k) {
    const auto& [n, i] = asked.emplace_back(places[random.below(places.size())]);
    contexts.push_back(std::span(documents[n]).first(i).last(std::min(i, kLongest)));
  }
  const memo::LikelihoodDecoder decoder(prior, memory.noise(), 0.01);
  const Followers followers(documents);
  Measured measured;
  memo::read_contexts(memory, contexts, [&](size_t k, const memo::WindowScores& scores) {
    const auto [n, i] = asked[k];
    if (decoder.best(scores).token == documents[n][i]) return;
    measured.error += 1.0 / kMeasured;
    measured.ambiguous += followers.ambiguous(documents[n], i) ? 1.0 / kMeasured : 0;
  });
  return measured;
}

const Program program("store/planned_error", "TEXTS…", [](const Words& words) {
  fmt::print("{:12} {:>7} {:>5} {:>15} {:>15} {:>6} {:>9} {:>9} {:>9}\n", "text", "tokens", "d",
             "planned", "measured", "s.e.", "ambiguous", "measured", "noise");
  for (const std::string& path : words) {
    const auto [documents, vocabulary] = documents_of(path);
    const memo::BoundWindowPredictor predictor(documents, {.vocabulary = vocabulary}, kProbes, 1);
    const double floor = predictor.floor();
    const int64_t dimension = predictor.smallest_dimension(floor + kNoiseAllowed, 64);
    const Spread planned = predictor.error(dimension);
    const Measured measured = measure(documents, dimension, vocabulary);
    const double error = std::sqrt(measured.error * (1 - measured.error) / kMeasured);
    size_t tokens = 0;
    for (const auto& document : documents) tokens += document.size();
    fmt::print("{:12} {:7} {:5} {:.4f} ± {:.4f} {:.4f} ± {:.4f} {:+6.1f} {:9.4f} {:9.4f} {:9.4f}\n",
               std::filesystem::path(path).filename().native(), tokens, dimension, planned.mean,
               planned.standard_error(), measured.error, error,
               (measured.error - planned.mean) / std::hypot(planned.standard_error(), error), floor,
               measured.ambiguous, measured.error - measured.ambiguous);
    std::fflush(stdout);
  }
});

}  // namespace
}  // namespace tessera::bench::planned_error
