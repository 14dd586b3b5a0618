#pragma once

#include <filesystem>
#include <istream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lab/task/sequence/sequence_task.h"
#include "tessera/base/error.h"

namespace tessera::task {

/// Takes the samples of one file and checks each.
class FileSamples {
 public:
  FileSamples(const std::filesystem::path& path, const std::optional<TaskShape>& demanded)
      : path_(path.native()), demanded_(demanded) {}

  /// shape: what the file says, or what its first sample has; told: whether it is the file's last
  /// word, so that no sample makes it wider.
  void begin(TaskShape shape, bool told);
  bool begun() const { return shape_.has_value(); }
  const TaskShape& shape() const { return *shape_; }
  void add(TaskSample sample);
  /// Also checks that there are any.
  std::pair<TaskShape, std::vector<TaskSample>> all();

  /// Where the next sample stands.
  void set_place(const char* unit, int64_t number) {
    place_ = fmt::format("{}: {} {}", path_, unit, number);
  }
  template <typename... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    throw DataError(place_.empty() ? path_ : place_, format, std::forward<Args>(args)...);
  }

 private:
  /// Whether a sample has inputs, or else tokens, and which of the two are needed.
  void check_inputs(bool found, bool needed) const;
  void check_symbols(const char* what, const std::vector<int64_t>& symbols, int64_t least,
                     int64_t& count) const;
  void check_numbers(const char* what, const std::vector<float>& numbers, int64_t rows,
                     int64_t width) const;

  std::string path_, place_;
  std::optional<TaskShape> demanded_, shape_;
  bool grows_ = false;
  std::vector<TaskSample> samples_;
};

/// A shape that a file tells. Throws DataError, by `where`, on one that is none.
TaskShape shape_from(const config::Json& json, const std::string& where);

/// Adds the samples of JSON lines, as FileTask has them, from a file that is called `path`. Blank
/// lines are skipped.
void read_sample_lines(std::istream& file, const std::string& path, FileSamples& samples);

}  // namespace tessera::task
