#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lab/study/comparison.h"
#include "tessera/memo/text_memory.h"
#include "tessera/model/memo.h"

/// The studies of "MeMo: Towards Language Models with Associative Memory Mechanisms" (Zanzotto et
/// al. 2025).
namespace tessera::memo_study {

/// Whole numbers below `bound`, by a seed and a stream of it: [sizes], kLong.
at::Tensor random_tokens(at::IntArrayRef sizes, int64_t bound, uint64_t seed, uint64_t stream);

/// Share of the outputs [n, d] whose largest product with one of the embeddings [V, d] is that with
/// the target [n] (eq. 4).
double accuracy(const at::Tensor& outputs, const at::Tensor& embeddings, const at::Tensor& targets);

/// c_W of the noise law, measured: d Var(q . q') / l^2 over the keys q that windows of random
/// tokens are read with.
double key_variance(const Memo& memo, uint64_t seed);

/// Largest difference of the distribution functions of two samples, each ascending (Kolmogorov and
/// Smirnov).
double distance(const std::vector<double>& a, const std::vector<double>& b);

/// How probable a distance at least as large is for two samples of one distribution (the limit for
/// many values, with the correction of Stephens 1970). Neither may be empty.
double same_distribution(std::vector<double> a, std::vector<double> b);

constexpr int32_t kTextHeads = 4, kTextLayers = 3;
constexpr int64_t kLongestWindow = 64;  // tokens: heads^layers

/// Throws UsageError where there is no memory of texts of this dimension, or no decoder of this
/// error rate.
void check_text_memory(int64_t dimension, double error_rate);

/// The beginning of a natural text.
struct StudyText {
  std::string description;
  int64_t vocabulary;
  std::vector<int32_t> tokens;
};

/// Its first `tokens` tokens. Throws UsageError where it has fewer, and what
/// prepare_study_corpus throws.
StudyText beginning_of(const CorpusConfig& data, int64_t tokens, const StudyContext& context);

/// `count` places in [begin, end), in order, by the seed; all of them where there are fewer.
std::vector<int64_t> random_places(int64_t begin, int64_t end, int64_t count, uint64_t seed);

/// The kLongestWindow tokens before each place, which is at least that far in.
std::vector<std::span<const int32_t>> contexts_before(std::span<const int32_t> tokens,
                                                      std::span<const int64_t> places);

/// How often each token of the vocabulary occurs, plus one.
std::vector<double> counts_of(std::span<const int32_t> tokens, int64_t vocabulary);

/// A MeMo that memorizes batches of texts one after the other. After each its memories are written
/// to a file, so that a study that was stopped goes on with the next batch. Memories of a study
/// that are filled in turn may share the file: it holds the one that was last at work.
class KeptMemo {
 public:
  /// Texts [B, T], kLong, of batch k, from 1.
  using Texts = std::function<at::Tensor(int64_t batch)>;

  /// name: tells this memory from others of the study that stood in the file.
  KeptMemo(const MemoConfig& config, uint64_t seed, std::filesystem::path file, std::string name,
           Texts texts);

  /// The memory that holds the first `batches` batches, no fewer than before. Where it begins with
  /// more than one, the file of an earlier run counts; ask so only when that run was one of this
  /// program with these settings. Throws Interrupted, SystemError, and DataError where the file is
  /// damaged.
  const Memo& after(int64_t batches);

 private:
  void begin(int64_t batches);

  MemoConfig config_;
  uint64_t seed_;
  std::filesystem::path file_;
  std::string name_;
  Texts texts_;
  std::optional<Memo> memo_;  // made when it is first needed
  int64_t held_ = 0;          // batches
};

// A function for each study; all_studies.cpp has their ids and titles.
void single_layer(StudyContext& context);
void multi_layer(StudyContext& context);
void nearly_orthogonal(StudyContext& context);
void natural_text(StudyContext& context);
void forget(StudyContext& context);
void unlearning(StudyContext& context);

}  // namespace tessera::memo_study
