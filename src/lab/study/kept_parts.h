#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace tessera {

/// The numbers of the finished parts of a study, kept in its folder as they come, so that a study
/// that was stopped goes on. The file parts.jsonl has one line a part, {"part": NAME, "numbers":
/// [...]}, below one that names the program's revision: what another revision computed is computed
/// again.
class KeptParts {
 public:
  KeptParts(const std::filesystem::path& folder, std::string revision);

  /// Null where the part is not there. Reads the file when it is first called; a last line that was
  /// cut off counts as not written. Throws DataError on any other damage.
  const std::vector<double>* find(const std::string& name);
  /// Writes the part behind the others. Throws SystemError.
  void keep(const std::string& name, std::vector<double> numbers);
  /// How many there are.
  int64_t size() const { return static_cast<int64_t>(parts_.size()); }

 private:
  void read();

  std::filesystem::path file_;
  std::string revision_;
  bool is_read_ = false;
  std::map<std::string, std::vector<double>> parts_;
};

}  // namespace tessera
