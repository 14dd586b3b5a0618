#pragma once

#include <cstdint>
#include <span>

#include "tessera/memo/exact_correlation_memory.h"

namespace tessera::memo {

/// entries [K, D] += sign * keys^T values for n pairs of +-1 (Zanzotto et al. 2025, eq. 2). K and D
/// are the widths of the rows. Exact: the caller makes sure that no entry exceeds 32 bits.
void add_outer_products(const SignRows& keys, const SignRows& values, int sign, int32_t* entries);
/// The same for bytes: keys [n, K], values [n, D].
void add_outer_products(std::span<const int8_t> keys, std::span<const int8_t> values, int64_t K,
                        int64_t D, int sign, int32_t* entries);

/// values [n, D] = queries [n, K] entries [K, D], each the exact sum rounded once to float
/// (Zanzotto et al. 2025, eq. 3), at least for K <= 2^15; the same bits for every n and for entries
/// of 16 and of 32 bits.
template <typename Entry>
void read_outer_products(std::span<const int8_t> queries, const Entry* entries, int64_t K,
                         int64_t D, float* values);

}  // namespace tessera::memo
