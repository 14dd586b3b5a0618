// Holds every #include of the house, also through other headers, against
// src/tessera/CMakeLists.txt, which says who may include whom and which rooms are built on
// LibTorch.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tessera/base/file.h"
#include "tests/support/folders.h"

namespace {

namespace fs = std::filesystem;
const fs::path kHouse = tessera::test::source_folder() / "src/tessera";

struct Room {
  bool tensors = false;         ///< may include LibTorch
  std::set<std::string> below;  ///< the rooms that it names behind ROOMS
};

std::map<std::string, Room> declared_rooms() {
  std::map<std::string, Room> rooms;
  const std::string text = tessera::read_file(kHouse / "CMakeLists.txt");
  const std::regex declaration(
      R"(tessera_room\((\w+)(\s+TENSORS)?(?:\s+COLD)?(?:\s+MERGED)?(?:\s+ROOMS((?:\s+[a-z]+)+))?)");
  for (std::sregex_iterator it(text.begin(), text.end(), declaration), end; it != end; ++it) {
    Room& room = rooms[(*it)[1].str()];
    room.tensors = (*it)[2].matched;
    std::istringstream names((*it)[3].str());
    for (std::string name; names >> name;) room.below.insert(name);
  }
  return rooms;
}

/// Everything a room may include: itself, the rooms it names and what those may include.
std::set<std::string> reachable(const std::map<std::string, Room>& rooms, const std::string& room) {
  std::set<std::string> result = {room};
  for (const auto& below : rooms.at(room).below)
    for (const auto& name : reachable(rooms, below)) result.insert(name);
  return result;
}

std::vector<fs::path> sources_of(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".h" || entry.path().extension() == ".cpp")
      files.push_back(entry.path());
  return files;
}

/// "base" for src/tessera/base/config.h.
std::string room_of(const fs::path& file) {
  return file.lexically_relative(kHouse).begin()->native();
}

/// What a file includes, by itself and through the house's headers.
struct Includes {
  std::set<fs::path> house;       ///< files of the house
  std::set<std::string> foreign;  ///< "torch/types.h"
};

const Includes& includes_of(const fs::path& file) {
  static std::map<fs::path, Includes> known;
  if (const auto found = known.find(file); found != known.end()) return found->second;
  Includes result;
  const std::string text = tessera::read_file(file);
  const std::regex include(R"re(#include (?:"tessera/([^"]+)"|<([^>]+)>))re");
  for (std::sregex_iterator it(text.begin(), text.end(), include), end; it != end; ++it) {
    if ((*it)[2].matched) {
      result.foreign.insert((*it)[2].str());
      continue;
    }
    const fs::path header = kHouse / (*it)[1].str();
    result.house.insert(header);
    result.house.merge(std::set(includes_of(header).house));
    result.foreign.merge(std::set(includes_of(header).foreign));
  }
  return known[file] = std::move(result);
}

TEST(House, EveryFolderIsADeclaredRoom) {
  const auto rooms = declared_rooms();
  for (const auto& entry : fs::directory_iterator(kHouse)) {
    if (entry.is_directory()) {
      EXPECT_TRUE(rooms.count(entry.path().filename())) << entry.path();
    }
  }
}

TEST(House, RoomsIncludeOnlyWhatTheyMay) {
  const auto rooms = declared_rooms();
  ASSERT_GE(rooms.size(), 8u);
  for (const auto& [name, room] : rooms) {
    const auto allowed = reachable(rooms, name);
    for (const auto& file : sources_of(kHouse / name))
      for (const auto& header : includes_of(file).house)
        EXPECT_TRUE(allowed.count(room_of(header))) << file << " includes " << header;
  }
}

TEST(House, RoomsWithoutTensorsIncludeNoLibTorch) {
  const std::regex torch("(torch|ATen|c10)/.*");
  for (const auto& [name, room] : declared_rooms()) {
    // Loops that are built once per instruction set see raw pointers only.
    const fs::path folder = room.tensors ? kHouse / name / "cpu" : kHouse / name;
    if (!fs::exists(folder)) continue;
    for (const auto& file : sources_of(folder))
      for (const auto& header : includes_of(file).foreign)
        EXPECT_FALSE(std::regex_match(header, torch)) << file << " includes " << header;
  }
}

TEST(House, RoomsWithoutTensorsDoNotLinkLibTorch) {
  for (const auto& [name, room] : declared_rooms()) {
    const fs::path libraries = tessera::test::build_folder() / "rooms" / name;
    ASSERT_TRUE(fs::exists(libraries)) << libraries;
    EXPECT_EQ(room.tensors,
              tessera::read_file(libraries).find("tessera_torch") != std::string::npos)
        << name;
  }
}

TEST(House, NobodyIncludesTheWholeOfLibTorch) {
  for (const auto& file : sources_of(kHouse))
    EXPECT_EQ(tessera::read_file(file).find("#include <torch/torch.h>"), std::string::npos) << file;
}

TEST(House, FilesStayReadable) {
  for (const auto& file : sources_of(kHouse)) {
    const std::string text = tessera::read_file(file);
    EXPECT_LE(std::ranges::count(text, '\n'), 600) << file;
  }
}

}  // namespace
