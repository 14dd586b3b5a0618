// Holds every #include, also through other headers, against the CMakeLists.txt of each house, which
// say who may include whom and which rooms are built on LibTorch.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
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
const fs::path kSources = tessera::test::source_folder() / "src";

/// The houses, each of which may include those before it.
const std::vector<std::string> kHouses = {"tessera", "lab", "program", "python"};

struct Room {
  fs::path folder;
  size_t house = 0;             ///< of kHouses
  bool tensors = false;         ///< may include LibTorch
  std::set<std::string> below;  ///< the rooms that it names behind ROOMS
};

std::map<std::string, Room> declared_rooms() {
  std::map<std::string, Room> rooms;
  const std::regex declaration(
      R"(tessera_room\((\w+)(\s+TENSORS)?(?:\s+COLD)?(?:\s+ROOMS((?:\s+[a-z_]+)+))?)");
  for (size_t house = 0; house < kHouses.size(); ++house) {
    const fs::path folder = kSources / kHouses[house];
    const std::string text = tessera::read_file(folder / "CMakeLists.txt");
    for (std::sregex_iterator it(text.begin(), text.end(), declaration), end; it != end; ++it) {
      const std::string name = (*it)[1].str();
      Room& room = rooms[name];
      room.folder = folder / name;
      room.house = house;
      room.tensors = (*it)[2].matched;
      std::istringstream names((*it)[3].str());
      for (std::string below; names >> below;) room.below.insert(below);
    }
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
  return std::next(file.lexically_relative(kSources).begin())->native();
}

/// What a file includes, by itself and through the house's headers.
struct Includes {
  std::set<fs::path> house;       ///< files of the houses
  std::set<std::string> foreign;  ///< "torch/types.h"
};

const Includes& includes_of(const fs::path& file) {
  static std::map<fs::path, Includes> known;
  if (const auto found = known.find(file); found != known.end()) return found->second;
  Includes result;
  const std::string text = tessera::read_file(file);
  const std::regex include(
      R"re(#include (?:"((?:tessera|lab|program|python)/[^"]+)"|<([^>]+)>))re");
  for (std::sregex_iterator it(text.begin(), text.end(), include), end; it != end; ++it) {
    if ((*it)[2].matched) {
      result.foreign.insert((*it)[2].str());
      continue;
    }
    const fs::path header = kSources / (*it)[1].str();
    result.house.insert(header);
    result.house.merge(std::set(includes_of(header).house));
    result.foreign.merge(std::set(includes_of(header).foreign));
  }
  return known[file] = std::move(result);
}

/// The folders whose files belong to a room: its own, and those of its tests and benchmarks, where
/// it has some.
std::vector<fs::path> folders_of(const Room& room) {
  const fs::path name = room.folder.lexically_relative(kSources);
  std::vector<fs::path> folders = {room.folder};
  for (const char* top : {"tests", "bench"}) {
    const fs::path beside = tessera::test::source_folder() / top;
    const fs::path folder =
        *name.begin() == "tessera" ? beside / *std::next(name.begin()) : beside / name;
    if (fs::exists(folder)) folders.push_back(folder);
  }
  return folders;
}

bool is_below(const fs::path& file, const fs::path& folder) {
  return *file.lexically_relative(folder).begin() != "..";
}

TEST(House, EveryFolderIsADeclaredRoom) {
  const auto rooms = declared_rooms();
  for (const auto& house : kHouses) {
    for (const auto& entry : fs::directory_iterator(kSources / house)) {
      if (entry.is_directory() && !sources_of(entry.path()).empty()) {
        EXPECT_TRUE(rooms.count(entry.path().filename())) << entry.path();
      }
    }
  }
}

TEST(House, RoomsIncludeOnlyWhatTheyMay) {
  const auto rooms = declared_rooms();
  ASSERT_GE(rooms.size(), 8u);
  for (const auto& [name, room] : rooms) {
    const auto allowed = reachable(rooms, name);
    for (const auto& file : sources_of(room.folder))
      for (const auto& header : includes_of(file).house)
        EXPECT_TRUE(allowed.count(room_of(header))) << file << " includes " << header;
  }
}

TEST(House, TheLibraryKnowsNeitherLaboratoryNorProgram) {
  const auto rooms = declared_rooms();
  for (const auto& [name, room] : rooms) {
    for (const auto& below : room.below)
      EXPECT_LE(rooms.at(below).house, room.house) << name << " names " << below;
    for (const auto& folder : folders_of(room))
      for (const auto& file : sources_of(folder))
        for (const auto& header : includes_of(file).house)
          EXPECT_LE(rooms.at(room_of(header)).house, room.house) << file << " includes " << header;
  }
}

TEST(House, DetailsAreIncludedByTheirOwnRoomAlone) {
  const auto rooms = declared_rooms();
  const std::regex detail(
      R"re(#include "((?:tessera|lab|program|python)/(\w+)/(?:[^"]*/)?(?:detail|cpu)/[^"]+)")re");
  for (const char* top : {"src", "tests", "bench", "examples"}) {
    for (const auto& file : sources_of(tessera::test::source_folder() / top)) {
      const std::string text = tessera::read_file(file);
      for (std::sregex_iterator it(text.begin(), text.end(), detail), end; it != end; ++it) {
        const auto folders = folders_of(rooms.at((*it)[2].str()));
        EXPECT_TRUE(std::ranges::any_of(
            folders, [&](const fs::path& folder) { return is_below(file, folder); }))
            << file << " includes " << (*it)[1].str();
      }
    }
  }
}

/// The headers that are installed: those that docs/library.md lists.
std::set<fs::path> public_headers() {
  const std::string page = tessera::read_file(tessera::test::source_folder() / "docs/library.md");
  const std::regex row(R"re(\n\| `([^`]+\.h)` \| )re");
  std::set<fs::path> headers;
  for (std::sregex_iterator it(page.begin(), page.end(), row), end; it != end; ++it)
    EXPECT_TRUE(headers.insert(kSources / "tessera" / (*it)[1].str()).second) << (*it)[1];
  return headers;
}

TEST(House, PublicHeadersStandAloneAtTheTopOfARoom) {
  const auto listed = public_headers();
  ASSERT_GE(listed.size(), 50u);
  for (const auto& header : listed) {
    ASSERT_TRUE(fs::exists(header)) << header;
    EXPECT_EQ(header.native().find("/detail/"), std::string::npos) << header;
    for (const auto& included : includes_of(header).house)
      EXPECT_TRUE(listed.count(included)) << header << " includes " << included;
  }
}

TEST(House, PublicHeadersNameNoOther) {
  const auto listed = public_headers();
  const std::regex named(R"re([^<"\w/]([\w/]+\.h)\b)re");
  for (const auto& header : listed) {
    const std::string text = tessera::read_file(header);
    for (std::sregex_iterator it(text.begin(), text.end(), named), end; it != end; ++it) {
      const std::string name = "/" + (*it)[1].str();
      EXPECT_TRUE(std::ranges::any_of(
          listed, [&](const fs::path& file) { return file.native().ends_with(name); }))
          << header << " names " << (*it)[1];
    }
  }
}

TEST(House, WhatOnlyTheRoomNeedsStandsInDetail) {
  const auto rooms = declared_rooms();
  const auto listed = public_headers();
  std::set<fs::path> used;  // by another room, its tests or benchmarks
  for (const auto& [name, room] : rooms)
    for (const auto& folder : folders_of(room))
      for (const auto& file : sources_of(folder))
        for (const auto& header : includes_of(file).house)
          if (room_of(header) != name) used.insert(header);
  for (const auto& [name, room] : rooms) {
    if (room.house != 0) continue;
    for (const auto& file : sources_of(room.folder)) {
      const std::string path = file.native();
      if (file.extension() != ".h" || path.find("/detail/") != std::string::npos ||
          path.find("/cpu/") != std::string::npos)
        continue;
      EXPECT_TRUE(listed.count(file) || used.count(file))
          << file << ": no other room includes it and docs/library.md does not list it";
    }
  }
}

bool is_of_tensors(const std::string& header) {
  static const std::regex torch("(torch|ATen|c10)/.*");
  return std::regex_match(header, torch);
}

TEST(House, RoomsWithoutTensorsIncludeNoLibTorch) {
  for (const auto& [name, room] : declared_rooms()) {
    // Loops that are built once per instruction set see raw pointers only.
    const fs::path folder = room.tensors ? room.folder / "cpu" : room.folder;
    if (!fs::exists(folder)) continue;
    for (const auto& file : sources_of(folder))
      for (const auto& header : includes_of(file).foreign)
        EXPECT_FALSE(is_of_tensors(header)) << file << " includes " << header;
  }
}

/// The files that the fuzz targets are built from, from the lists of their CMakeLists.txt.
std::vector<fs::path> fuzzed_files() {
  const std::string text =
      tessera::read_file(tessera::test::source_folder() / "fuzz/CMakeLists.txt");
  const std::regex folder(R"(set\((\w+_folder) \$\{PROJECT_SOURCE_DIR\}/([a-z_/]+)\))");
  const std::regex file(R"(\$\{(\w+_folder)\}/([a-z_/]+\.cpp))");
  std::map<std::string, fs::path> folders;
  for (std::sregex_iterator it(text.begin(), text.end(), folder), end; it != end; ++it)
    folders[(*it)[1]] = tessera::test::source_folder() / (*it)[2].str();
  std::vector<fs::path> files;
  for (std::sregex_iterator it(text.begin(), text.end(), file), end; it != end; ++it)
    files.push_back(folders.at((*it)[1]) / (*it)[2].str());
  return files;
}

TEST(House, FuzzTargetsAreBuiltFromFilesThatNeedNoTensors) {
  const auto files = fuzzed_files();
  ASSERT_GE(files.size(), 10u);
  for (const auto& file : files) {
    ASSERT_TRUE(fs::exists(file)) << file;
    for (const std::string& header : includes_of(file).foreign)
      EXPECT_FALSE(is_of_tensors(header)) << file << " includes " << header;
  }
}

TEST(House, RoomsWithoutTensorsDoNotLinkLibTorch) {
  for (const auto& [name, room] : declared_rooms()) {
    const fs::path libraries = tessera::test::build_folder() / "rooms" / name;
    if (kHouses[room.house] == "python" && !fs::exists(libraries)) continue;  // where there is none
    ASSERT_TRUE(fs::exists(libraries)) << libraries;
    EXPECT_EQ(room.tensors,
              tessera::read_file(libraries).find("tessera_torch") != std::string::npos)
        << name;
  }
}

TEST(House, NobodyIncludesTheWholeOfLibTorch) {
  for (const auto& file : sources_of(kSources))
    EXPECT_EQ(tessera::read_file(file).find("#include <torch/torch.h>"), std::string::npos) << file;
}

TEST(House, FilesStayReadable) {
  for (const auto& file : sources_of(kSources)) {
    const std::string text = tessera::read_file(file);
    EXPECT_LE(std::ranges::count(text, '\n'), 600) << file;
  }
}

}  // namespace
