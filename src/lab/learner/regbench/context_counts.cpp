#include "lab/learner/regbench/context_counts.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>

#include "tessera/base/error.h"

namespace tessera::task {

at::Tensor context_counts(const RegBench& task, std::span<const int64_t> tokens, int64_t context) {
  check_argument(context >= 0, "context_counts: context is {}, expected 0 or more", context);
  using Tokens = std::vector<int64_t>;
  const at::Tensor result = at::zeros({std::ssize(tokens), task.vocabulary()});
  Tokens recent(static_cast<size_t>(context), task.separator());
  std::map<Tokens, std::vector<float>> followers;  // of the last 0 to `context` tokens
  for (int64_t t = 0; t < std::ssize(tokens); ++t) {
    const int64_t token = tokens[static_cast<size_t>(t)];
    if (token != task.separator())
      for (auto first = recent.begin();; ++first) {
        auto& counts = followers[Tokens(first, recent.end())];
        counts.resize(static_cast<size_t>(task.vocabulary()));
        ++counts.at(static_cast<size_t>(token));
        if (first == recent.end()) break;
      }
    recent.push_back(token);
    recent.erase(recent.begin());
    const std::span<float> row(result.data_ptr<float>() + t * task.vocabulary(),
                               static_cast<size_t>(task.vocabulary()));
    auto found = followers.end();
    for (auto first = recent.begin(); found == followers.end(); ++first) {
      found = followers.find(Tokens(first, recent.end()));
      if (first == recent.end()) break;
    }
    if (found != followers.end())
      std::copy(found->second.begin(), found->second.end(), row.begin());
    else
      std::fill_n(row.begin(), task.config().letters, 1.0F);
  }
  return result;
}

RegBenchScore score_context_counts(const RegBench& task, const RegBenchSet& set, int64_t count,
                                   int64_t context) {
  RegBenchScore score;
  for (int64_t index = 0; index < count; ++index) {
    const RegBenchBatch batch = make_regbench_batch(task, set, {&index, 1});
    const std::span<const int64_t> tokens(batch.inputs.data_ptr<int64_t>(),
                                          static_cast<size_t>(batch.inputs.numel()));
    // The softmax of logarithms is the share of each count.
    const at::Tensor logits = context_counts(task, tokens, context).log().unsqueeze(0);
    score += score_regbench(logits, batch);
  }
  return score;
}

}  // namespace tessera::task
