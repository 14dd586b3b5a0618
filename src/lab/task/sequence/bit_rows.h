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

/// Appends a vector that begins with these bits and is 0 elsewhere.
std::span<float> add_bit_row(TaskSample& sample, const BitRow& row, int64_t width);

/// Appends one vector of zeros per row; these steps answer with the rows.
void answer_with_bits(TaskSample& sample, const BitRows& rows, int64_t width);

}  // namespace tessera::task
