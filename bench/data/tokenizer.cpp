// Encoding and training on the text this machine has (TextSource::automatic).
#include <benchmark/benchmark.h>

#include "bench/support/program.h"
#include "tessera/data/bpe_trainer.h"
#include "tessera/data/text_source.h"
#include "tests/support/temporary_folder.h"

namespace tessera::bench::tokenizer {
namespace {

const std::string& text() {
  static const std::string all = [] {
    std::string joined;
    const test::TemporaryFolder folder;
    TextSource::automatic(folder.path())
        .for_each([&](const std::string&, std::string_view document) { joined += document; });
    return joined;
  }();
  return all;
}

Tokenizer train() {
  return learn_bpe({&text(), 1}, 4096);
}

void encode(benchmark::State& state) {
  const Tokenizer tokenizer = train();
  size_t tokens = 0;
  for (auto _ : state) tokens = tokenizer.encode(text()).size();
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(text().size()));
  state.counters["bytes_per_token"] =
      static_cast<double>(text().size()) / static_cast<double>(tokens);
}
void train_4096(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(train());
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(text().size()));
}
// No pre-token ever comes twice: the worst case for the memory of pre-tokens.
void encode_without_spaces(benchmark::State& state) {
  const Tokenizer tokenizer = train();
  std::string letters = text().substr(0, 1 << 20);
  std::erase_if(letters, [](char c) { return c < 'a' || c > 'z'; });
  for (auto _ : state) benchmark::DoNotOptimize(tokenizer.encode(letters));
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(letters.size()));
}

const Program program("data/tokenizer", [] {
  benchmark::RegisterBenchmark("encode", encode)->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark("train_4096", train_4096)->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark("encode_without_spaces", encode_without_spaces)
      ->Unit(benchmark::kMillisecond);
});

}  // namespace
}  // namespace tessera::bench::tokenizer
