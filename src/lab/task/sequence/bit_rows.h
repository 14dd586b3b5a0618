#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/task/sequence/sequence_task.h"
#include "tessera/base/random.h"

namespace tessera::task {

/// Vectors of bits, each 0 or 1: what the algorithmic tasks store and ask for (Graves et al. 2014).
using BitRow = std::vector<uint8_t>;
using BitRows = std::vector<BitRow>;

/// Fair, independent bits.
BitRows draw_bit_rows(RandomStream& random, int64_t rows, int64_t bits);

/// "0110…", one text per row.
std::vector<std::string> bit_texts(const BitRows& rows);

/// Places that differ, over all rows: the squared Euclidean distance of the rows joined. Equal
/// shapes.
int64_t hamming_distance(const BitRows& a, const BitRows& b);

/// Of a task whose input vectors have `bits` channels and two more, for marks, and whose answers
/// are rows of bits.
TaskShape bit_shape(int64_t bits);

/// Appends such a vector: the bits, and 0 in the two channels behind them.
std::span<float> add_bit_row(TaskSample& sample, const BitRow& row);

/// Appends such a vector of zeros with a 1 in channel `bits` + mark; mark: 0 or 1.
void add_mark(TaskSample& sample, int64_t bits, int64_t mark);

/// Appends one vector of zeros per row; these steps answer with the rows.
void answer_with_bits(TaskSample& sample, const BitRows& rows);

}  // namespace tessera::task
