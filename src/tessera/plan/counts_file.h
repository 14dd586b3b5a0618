#pragma once

#include <string>
#include <vector>

namespace tessera::theory {

/// Reads how often each input came up: a text file with one count a line, or a name, a tab or
/// blanks, and a count ("the 1043"). Empty lines and a byte order mark are skipped. Counts are
/// whole numbers from 0 to 2^53. Throws SystemError where the file cannot be opened, and DataError,
/// naming the line, on anything else, on a name that comes twice, on a line of more than 65,536
/// bytes, on a file of more than 50 million lines, and where no count is positive.
std::vector<double> read_counts_file(const std::string& path);

}  // namespace tessera::theory
