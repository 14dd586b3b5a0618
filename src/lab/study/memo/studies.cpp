#include "lab/study/memo/studies.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <cmath>

#include "tessera/base/consecutive.h"
#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/base/interrupt.h"
#include "tessera/base/number.h"
#include "tessera/base/random.h"
#include "tessera/memo/likelihood_decoder.h"
#include "tessera/model/initialisation.h"
#include "tessera/tensor/tensor_file.h"

namespace tessera::memo_study {

at::Tensor random_tokens(at::IntArrayRef sizes, int64_t bound, uint64_t seed, uint64_t stream) {
  const uint64_t own = *derived_seed(seed, stream);
  return at::randint(bound, sizes, at::make_generator<at::CPUGeneratorImpl>(own), at::kLong);
}

double accuracy(const at::Tensor& outputs, const at::Tensor& embeddings,
                const at::Tensor& targets) {
  constexpr int64_t kRows = 256;  // so that the scores stay within 100 MB
  std::vector<at::Tensor> best;
  for (const at::Tensor& rows : outputs.split(kRows))
    best.push_back(at::matmul(rows, embeddings.t()).argmax(1));
  return (at::cat(best) == targets).to(at::kDouble).mean().item<double>();
}

double key_variance(const Memo& memo, uint64_t seed) {
  constexpr int64_t kWindows = 2000;
  const MemoConfig& config = memo.configuration();
  const int64_t window = config.longest_window();
  const at::Tensor text =
      random_tokens({1, window - 1 + kWindows}, config.vocabulary, seed, UINT32_MAX);
  const at::Tensor keys = memo.keys(text)[0].slice(0, window - 1);  // [windows, d]
  const at::Tensor products = at::matmul(keys, keys.t()).fill_diagonal_(0);
  const double pairs = static_cast<double>(kWindows) * (kWindows - 1);
  const auto scale =
      static_cast<double>(config.dimension) / static_cast<double>(config.layers * config.layers);
  return products.square().sum().item<double>() * scale / pairs;
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0;
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    const double value = std::min(a[i], b[j]);
    while (i < a.size() && a[i] == value) ++i;
    while (j < b.size() && b[j] == value) ++j;
    largest = std::max(largest, std::abs(static_cast<double>(i) / static_cast<double>(a.size()) -
                                         static_cast<double>(j) / static_cast<double>(b.size())));
  }
  return largest;
}

double same_distribution(std::vector<double> a, std::vector<double> b) {
  std::ranges::sort(a);
  std::ranges::sort(b);
  const auto n = static_cast<double>(a.size()), m = static_cast<double>(b.size());
  const double root = std::sqrt(n * m / (n + m));
  const double x = (root + 0.12 + 0.11 / root) * distance(a, b);
  if (x < 0.2) return 1;  // less than 1e-12 below it
  double sum = 0;
  for (int k = 1; k <= 100; ++k) sum += (k % 2 == 1 ? 2 : -2) * std::exp(-2.0 * k * k * x * x);
  return std::clamp(sum, 0.0, 1.0);
}

void check_text_memory(int64_t dimension, double error_rate) {
  memo::check_config({.dimension = dimension, .vocabulary = 2});
  memo::LikelihoodDecoder(/*prior=*/{1}, /*noise=*/0, error_rate);
}

StudyText beginning_of(const CorpusConfig& data, int64_t tokens, const StudyContext& context) {
  const Corpus corpus = prepare_study_corpus(data, context);
  if (corpus.training.size() < tokens)
    throw UsageError("{} tokens are wanted of {}, whose training part has {}", tokens,
                     corpus.description, corpus.training.size());
  std::vector<int64_t> ids(tokens);
  corpus.training.read(0, ids);
  return {corpus.description, corpus.tokenizer.vocabulary_size(), {ids.begin(), ids.end()}};
}

std::vector<int64_t> random_places(int64_t begin, int64_t end, int64_t count, uint64_t seed) {
  if (end - begin <= count) return consecutive(end - begin, begin);
  RandomStream random(seed);
  std::vector<int64_t> places;
  for (int64_t i = 0; i < count; ++i)
    places.push_back(begin + static_cast<int64_t>(random.below(end - begin)));
  std::sort(places.begin(), places.end());
  return places;
}

std::vector<std::span<const int32_t>> contexts_before(std::span<const int32_t> tokens,
                                                      std::span<const int64_t> places) {
  std::vector<std::span<const int32_t>> contexts;
  for (const int64_t place : places)
    contexts.push_back(tokens.subspan(place - kLongestWindow, kLongestWindow));
  return contexts;
}

std::vector<double> counts_of(std::span<const int32_t> tokens, int64_t vocabulary) {
  std::vector<double> counts(vocabulary, 1.0);
  for (const int32_t token : tokens) ++counts[token];
  return counts;
}

KeptMemo::KeptMemo(const MemoConfig& config, uint64_t seed, std::filesystem::path file,
                   std::string name, Texts texts)
    : config_(config),
      seed_(seed),
      file_(std::move(file)),
      name_(std::move(name)),
      texts_(std::move(texts)) {}

void KeptMemo::begin(int64_t batches) {
  memo_.emplace(config_, seed_);
  if (batches < 2 || !is_there(file_)) return;
  const TensorFile file = TensorFile::load(file_);
  const auto name = file.metadata.find("name");
  if (name == file.metadata.end() || name->second != name_) return;
  const std::string& held = file.metadata_at("batches");
  const auto there = number_from<int64_t>(held);
  if (!there || *there < 0)
    throw DataError(file.path, "its metadata has '{}' for 'batches', expected a number", held);
  if (*there > batches) return;
  memo_->restore(file);
  held_ = *there;
}

const Memo& KeptMemo::after(int64_t batches) {
  constexpr int64_t kRowsAtOnce = 5;
  if (!memo_) begin(batches);
  while (held_ < batches) {
    for (const at::Tensor& rows : texts_(held_ + 1).split(kRowsAtOnce)) {
      InterruptGuard::stop_if_interrupted("stopped while memorizing texts");
      memo_->memorize(rows);
    }
    ++held_;
    save_tensors(file_, memo_->memories(), {{"name", name_}, {"batches", std::to_string(held_)}});
  }
  return *memo_;
}

}  // namespace tessera::memo_study
