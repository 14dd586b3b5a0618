#include "tessera/infer/memory_mixture.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

std::vector<double> log_softmax(std::span<const float> logits) {
  const double largest = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - largest);
  std::vector<double> logs;
  for (const float logit : logits) logs.push_back(logit - largest - std::log(sum));
  return logs;
}

}  // namespace

MemoryMixture::MemoryMixture(const TokenMemory& memory)
    : reader_(memory.reader()), frequencies_(memory.frequencies()) {}

void MemoryMixture::predict(std::span<const float> logits) {
  if (frequencies_.empty()) return;
  log_model_ = log_softmax(logits);
  continuations_ = reader_->continuations(log_model_);
  weigh();
}

/// q_m and a_m of every length.
void MemoryMixture::weigh() {
  std::vector<double> logs;
  lengths_.clear();
  const auto add = [&](int64_t length, double log_ratio) {
    Counts& counts = counts_[length];
    lengths_.push_back({&counts, 0, counts.agreement()});
    logs.push_back(log_ratio + std::log(counts.read + 0.5));
  };
  add(0, 0);
  for (const auto& continuation : continuations_) add(continuation.length, continuation.log_ratio);
  const double largest = *std::ranges::max_element(logs);
  double sum = 0;
  for (const double log : logs) sum += std::exp(log - largest);
  for (size_t m = 0; m < logs.size(); ++m)
    lengths_[m].probability = std::exp(logs[m] - largest) / sum;
}

/// s_m(token) of the m-th of the lengths.
double MemoryMixture::share(size_t m, int64_t token) const {
  const size_t id = token;
  if (m == 0) return id < frequencies_.size() ? frequencies_[id] : 0;
  const auto& tokens = continuations_[m - 1].tokens;
  const auto found =
      std::ranges::find(tokens, token, [](const auto& stored) { return stored.first; });
  return found == tokens.end() ? 0 : found->second;
}

/// The model's part of the mixture: log of 1 minus the sum over m of q_m a_m.
double MemoryMixture::log_kept() const {
  double weights = 0;
  for (size_t m = 0; m < lengths_.size(); ++m) weights += weight(m);
  return std::log1p(-weights);
}

/// stored: the sum over m of q_m a_m s_m(y); kept: log_kept().
double MemoryMixture::log_gain(int64_t token, double stored, double kept) const {
  if (stored == 0) return kept;
  // In logarithms: the model's own probability may be less than any number.
  const double gained = std::log(stored) - log_model_[token];
  return std::max(kept, gained) + std::log1p(std::exp(-std::abs(kept - gained)));
}

double MemoryMixture::log_gain(int64_t token) const {
  double stored = 0;
  for (size_t m = 0; m < lengths_.size(); ++m) stored += weight(m) * share(m, token);
  return log_gain(token, stored, log_kept());
}

void MemoryMixture::mix(std::span<float> logits) const {
  if (lengths_.empty()) return;
  std::vector<double> stored(logits.size());  // of each token, as in log_gain()
  const auto add = [&](size_t m, size_t token, double share) {
    if (token < stored.size()) stored[token] += weight(m) * share;
  };
  for (size_t token = 0; token < frequencies_.size(); ++token) add(0, token, frequencies_[token]);
  for (size_t m = 1; m < lengths_.size(); ++m)
    for (const auto& [token, share] : continuations_[m - 1].tokens) add(m, token, share);
  const double kept = log_kept();
  for (size_t y = 0; y < logits.size(); ++y)
    logits[y] += static_cast<float>(log_gain(y, stored[y], kept));
}

void MemoryMixture::append(int64_t token) {
  double sum = 0;
  std::vector<double> stored, read;
  for (size_t m = 0; m < lengths_.size(); ++m) {
    const auto& [counts, probability, agreement] = lengths_[m];
    const double model = std::exp(log_model_[token]);
    stored.push_back(weight(m) * share(m, token));
    read.push_back(stored.back() + probability * (1 - agreement) * model);
    sum += read.back();
  }
  for (size_t m = 0; m < lengths_.size() && sum > 0; ++m) {
    lengths_[m].counts->read += read[m] / sum;
    lengths_[m].counts->stored += stored[m] / sum;
  }
  lengths_.clear();
  reader_->append(static_cast<int32_t>(token));
}

}  // namespace tessera
