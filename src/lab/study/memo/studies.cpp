#include "lab/study/memo/studies.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include "tessera/model/initialisation.h"

namespace tessera::memo_study {

at::Tensor random_tokens(at::IntArrayRef sizes, int64_t bound, uint64_t seed, uint64_t stream) {
  const uint64_t own = *derived_seed(seed, static_cast<int64_t>(stream));
  return at::randint(bound, sizes, at::make_generator<at::CPUGeneratorImpl>(own), at::kLong);
}

at::Tensor best_tokens(const at::Tensor& outputs, const at::Tensor& embeddings) {
  constexpr int64_t kRows = 256;  // so that the scores stay within 100 MB
  std::vector<at::Tensor> best;
  for (const at::Tensor& rows : outputs.split(kRows))
    best.push_back(at::matmul(rows, embeddings.t()).argmax(1));
  return at::cat(best);
}

double accuracy(const at::Tensor& outputs, const at::Tensor& embeddings,
                const at::Tensor& targets) {
  return (best_tokens(outputs, embeddings) == targets).to(at::kDouble).mean().item<double>();
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

}  // namespace tessera::memo_study
