#include "lab/study/kept_parts.h"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <fstream>
#include <limits>
#include <sstream>

#include "tessera/base/error.h"
#include "tessera/base/file.h"

namespace tessera {
namespace {

using Json = nlohmann::json;

/// Numbers that are not finite have no form in JSON: null is NaN.
std::vector<double> numbers_of(const Json& array) {
  std::vector<double> numbers;
  for (const Json& number : array)
    numbers.push_back(number.is_null() ? std::numeric_limits<double>::quiet_NaN()
                                       : number.get<double>());
  return numbers;
}

}  // namespace

KeptParts::KeptParts(const std::filesystem::path& folder, std::string revision)
    : file_(folder / "parts.jsonl"), revision_(std::move(revision)) {}

void KeptParts::read() {
  is_read_ = true;
  if (!is_there(file_)) return;
  const std::string text = read_file(file_);
  std::istringstream lines(text.substr(0, text.rfind('\n') + 1));
  bool own_revision = false;
  std::string line;
  for (int64_t number = 1; std::getline(lines, line); ++number) {
    try {
      const Json entry = Json::parse(line);
      if (entry.contains("revision"))
        own_revision = entry.at("revision").get<std::string>() == revision_;
      else if (own_revision)
        parts_[entry.at("part").get<std::string>()] = numbers_of(entry.at("numbers"));
    } catch (const Json::exception&) {
      throw DataError(file_.native(),
                      "line {} is not a part of a study; remove the file to begin again", number);
    }
  }
  // What follows a line that was cut off must not be appended to it.
  if (!own_revision || text.size() != text.rfind('\n') + 1) {
    std::string whole = Json{{"revision", revision_}}.dump() + "\n";
    for (const auto& [name, numbers] : parts_)
      whole += Json{{"part", name}, {"numbers", numbers}}.dump() + "\n";
    write_file(file_, whole);
  }
}

const std::vector<double>* KeptParts::find(const std::string& name) {
  if (!is_read_) read();
  const auto place = parts_.find(name);
  return place == parts_.end() ? nullptr : &place->second;
}

void KeptParts::keep(const std::string& name, std::vector<double> numbers) {
  if (!is_read_) read();
  if (!is_there(file_)) write_file(file_, Json{{"revision", revision_}}.dump() + "\n");
  std::ofstream file(file_, std::ios::app);
  file << Json{{"part", name}, {"numbers", numbers}}.dump() << '\n' << std::flush;
  if (!file) throw SystemError(file_.native(), "write", errno);
  parts_[name] = std::move(numbers);
}

}  // namespace tessera
