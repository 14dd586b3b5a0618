// One line of JSON: megabytes of text a second of CPU time that a tokenizer encodes, line by line,
// and that the BPE trainer learns 30,000 tokens from; the best of several; and the number of
// tokens. bench/rivals/tokenizers.sh runs it beside Hugging Face's tokenizers.
//
//   tessera_bench data/tokenizer TOKENIZER.json TEXT
#include "tessera/data/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/support/clocks.h"
#include "bench/support/program.h"
#include "tessera/base/file.h"
#include "tessera/data/bpe_trainer.h"

namespace tessera::bench::tokenizer {
namespace {

constexpr int64_t kVocabulary = 30000;
constexpr int kRepetitions = 5;

/// Each with its newline.
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t length = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return lines;
}

template <typename Work>
double least_cpu_seconds(const Work& work) {
  double least = 1e9;
  for (int repetition = 0; repetition < kRepetitions; ++repetition) {
    const double start = cpu_seconds();
    work();
    least = std::min(least, cpu_seconds() - start);
  }
  return least;
}

const Program program("data/tokenizer", "TOKENIZER.json TEXT", [](const Words& words) {
  const std::string text = read_file(words[1]);
  const auto lines = lines_of(text);
  size_t tokens = 0;
  const double encoding = least_cpu_seconds([&] {
    const Tokenizer tokenizer = Tokenizer::load(words[0]);  // remembers no pre-tokens
    tokens = 0;
    for (const std::string_view line : lines) tokens += tokenizer.encode(line).size();
  });
  const double training = least_cpu_seconds([&] {
    BpeTrainer trainer({.vocabulary_size = kVocabulary, .minimum_count = 1});
    for (const std::string_view line : lines) trainer.add_text(line);
    trainer.train();
  });
  const double megabytes = 1e-6 * static_cast<double>(text.size());
  fmt::print("{{\"encode\": {:.2f}, \"train\": {:.2f}, \"tokens\": {}}}\n", megabytes / encoding,
             megabytes / training, tokens);
});

}  // namespace
}  // namespace tessera::bench::tokenizer
