#pragma once

#include <cstddef>
#include <vector>

namespace tessera {

/// The indices of at most `limit` points that keep the shape of a line: its ends, and from each
/// stretch between them the point that spans the largest triangle with its neighbours
/// (Steinarsson 2013, Largest-Triangle-Three-Buckets). All indices where they are fewer.
std::vector<size_t> thin_line(const std::vector<double>& x, const std::vector<double>& y,
                              size_t limit);

}  // namespace tessera
