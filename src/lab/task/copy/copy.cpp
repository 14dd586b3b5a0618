#include "lab/task/copy/copy.h"

#include <nlohmann/json.hpp>

#include "lab/task/sequence/draws.h"

namespace tessera::task {

Copy::Copy(const CopyConfig& config) : ConfiguredTask(config) {
  check_range(config.min_length, 1, config.max_length, "task.min_length");
}

TaskShape Copy::shape() const {
  return bit_shape(config_.bits);
}

BitRows Copy::rows(uint64_t seed, int64_t index, int64_t size_of) const {
  RandomStream content = content_stream(seed, index);
  const int64_t length = draw_size(seed, size_of, config_.min_length, config_.max_length);
  return draw_bit_rows(content, length, config_.bits);
}

TaskSample Copy::draw_sample(uint64_t seed, int64_t index, int64_t size_of) const {
  const BitRows rows = this->rows(seed, index, size_of);
  TaskSample sample;
  add_mark(sample, config_.bits, 0);
  for (const BitRow& row : rows) add_bit_row(sample, row);
  add_mark(sample, config_.bits, 1);
  answer_with_bits(sample, rows);
  return sample;
}

config::Json Copy::describe(uint64_t seed, int64_t index) const {
  return {{"index", index}, {"vectors", bit_texts(rows(seed, index, index))}};
}

std::vector<Level> Copy::levels() const {
  const double mean_length = 0.5 * static_cast<double>(config_.min_length + config_.max_length);
  return {{"guess every bit", "bits per sequence",
           0.5 * static_cast<double>(config_.bits) * mean_length}};
}

}  // namespace tessera::task
