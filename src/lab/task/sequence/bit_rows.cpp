#include "lab/task/sequence/bit_rows.h"

#include <algorithm>

#include "tessera/base/error.h"

namespace tessera::task {

BitRows draw_bit_rows(RandomStream& random, int64_t rows, int64_t bits) {
  BitRows result(rows, BitRow(bits));
  for (BitRow& row : result)
    for (size_t i = 0; i < row.size(); i += 64) {
      uint64_t word = random();
      for (size_t j = i; j < std::min(i + 64, row.size()); ++j, word >>= 1) row[j] = word & 1;
    }
  return result;
}

std::vector<std::string> bit_texts(const BitRows& rows) {
  std::vector<std::string> texts;
  for (const BitRow& row : rows) {
    std::string& text = texts.emplace_back();
    for (uint8_t bit : row) text += bit != 0 ? '1' : '0';
  }
  return texts;
}

int64_t hamming_distance(const BitRows& a, const BitRows& b) {
  check_argument(a.size() == b.size(), "hamming_distance: {} rows and {}", a.size(), b.size());
  int64_t distance = 0;
  for (size_t row = 0; row < a.size(); ++row) {
    check_argument(a[row].size() == b[row].size(), "hamming_distance: row {} has {} bits and {}",
                   row, a[row].size(), b[row].size());
    for (size_t i = 0; i < a[row].size(); ++i) distance += a[row][i] != b[row][i] ? 1 : 0;
  }
  return distance;
}

TaskShape bit_shape(int64_t bits) {
  return {.input_width = bits + 2, .output_width = bits, .targets = TargetKind::kBits};
}

std::span<float> add_bit_row(TaskSample& sample, const BitRow& row) {
  const auto input = sample.add_row(bit_shape(std::ssize(row)).input_width);
  std::copy(row.begin(), row.end(), input.begin());
  return input;
}

void add_mark(TaskSample& sample, int64_t bits, int64_t mark) {
  sample.add_row(bit_shape(bits).input_width)[bits + mark] = 1;
}

void answer_with_bits(TaskSample& sample, const BitRows& rows) {
  sample.first_answer = sample.steps;
  sample.answers = std::ssize(rows);
  for (const BitRow& row : rows) {
    sample.bits.insert(sample.bits.end(), row.begin(), row.end());
    sample.add_row(bit_shape(std::ssize(row)).input_width);
  }
}

}  // namespace tessera::task
