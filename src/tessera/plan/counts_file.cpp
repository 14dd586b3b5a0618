#include "tessera/plan/counts_file.h"

#include <cerrno>
#include <fstream>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>

#include "tessera/base/error.h"
#include "tessera/base/number.h"

namespace tessera::theory {
namespace {

constexpr int64_t kMostLines = 50000000;
constexpr size_t kLongestLine = 1 << 16;  // bytes
constexpr int64_t kMostCount = int64_t{1} << 53;
constexpr std::string_view kBlanks = " \t\r";
constexpr std::string_view kByteOrderMark = "\uFEFF";  // in UTF-8; editors of Windows begin so

/// A line's start, fit for an error message: control and foreign bytes become '?'.
std::string shown(std::string_view line) {
  std::string text(line.substr(0, 40));
  for (char& c : text)
    if (c == '\t')
      c = ' ';
    else if (c < 32 || c > 126)
      c = '?';
  return line.size() > 40 ? text + "…" : text;
}

/// The next line, in the buffer; nothing at the end of the file. number: the line's.
std::optional<std::string_view> next_line(std::istream& file, std::span<char> buffer,
                                          const std::string& path, int64_t number) {
  file.getline(buffer.data(), std::ssize(buffer));
  const size_t bytes = file.gcount();
  if (file.fail() && !file.bad() && bytes > 0)
    throw DataError(path, "line {} has more than {} bytes: \"{}\"; expected a name and a count",
                    number, kLongestLine, shown({buffer.data(), bytes}));
  if (file.fail()) return {};
  return std::string_view(buffer.data(), file.eof() ? bytes : bytes - 1);
}

/// A line: what is counted (may be empty), and how often.
struct Count {
  std::string_view name;
  double count;
};

/// The number that ends the line, and what stands before it.
Count read_line(const std::string& path, int64_t number, std::string_view line) {
  const size_t end = line.find_last_not_of(kBlanks) + 1;
  const size_t blank = line.substr(0, end).find_last_of(kBlanks);
  const size_t start = blank == std::string_view::npos ? 0 : blank + 1;
  const auto count = number_from<int64_t>(line.substr(start, end - start));
  if (!count || *count < 0 || *count > kMostCount)
    throw DataError(path,
                    "line {} reads \"{}\"; expected a count (a whole number from 0 to 2^53), or a "
                    "name, a tab and a count",
                    number, shown(line));
  const std::string_view before = line.substr(0, start);
  const size_t name = before.find_last_not_of(kBlanks);
  return {before.substr(0, name == std::string_view::npos ? 0 : name + 1),
          static_cast<double>(*count)};
}

}  // namespace

std::vector<double> read_counts_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw SystemError(path, "open", errno);
  std::vector<double> counts;
  std::vector<char> buffer(kLongestLine + 1);
  bool any_positive = false;
  std::unordered_map<std::string, int64_t> lines;  // of the names
  for (int64_t number = 1; const auto line = next_line(file, buffer, path, number); ++number) {
    if (number > kMostLines)
      throw DataError(path, "has more than {} lines; merge rare inputs first", kMostLines);
    const bool is_marked = number == 1 && line->starts_with(kByteOrderMark);
    const std::string_view text = line->substr(is_marked ? kByteOrderMark.size() : 0);
    if (text.find_first_not_of(kBlanks) == std::string_view::npos) continue;
    const auto [name, count] = read_line(path, number, text);
    if (!name.empty())
      if (const auto [first, is_new] = lines.try_emplace(std::string(name), number); !is_new)
        throw DataError(path, "lines {} and {} count the same, \"{}\"; add them up, one line each",
                        first->second, number, shown(name));
    counts.push_back(count);
    any_positive |= counts.back() > 0;
  }
  // A folder opens but does not read.
  if (file.bad()) throw SystemError(path, "read", errno);
  if (!any_positive)
    throw DataError(path, "has {} counts and none is positive; one line per input is expected",
                    counts.size());
  return counts;
}

}  // namespace tessera::theory
