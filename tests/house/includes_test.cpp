// Holds every #include of the house against src/tessera/CMakeLists.txt, which says who may include
// whom, and the fused loops against LibTorch.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

namespace {

namespace fs = std::filesystem;
const fs::path kHouse = fs::path(TESSERA_SOURCE_FOLDER) / "src/tessera";

std::string read(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// Room -> the rooms that it names behind ROOMS.
std::map<std::string, std::set<std::string>> declared_rooms() {
  std::map<std::string, std::set<std::string>> rooms;
  const std::string text = read(kHouse / "CMakeLists.txt");
  const std::regex room(R"(tessera_room\((\w+)(?:\s+ROOMS((?:\s+[a-z]+)+))?)");
  for (std::sregex_iterator it(text.begin(), text.end(), room), end; it != end; ++it) {
    std::istringstream names((*it)[2].str());
    auto& below = rooms[(*it)[1].str()];
    for (std::string name; names >> name;) below.insert(name);
  }
  return rooms;
}

/// Everything a room may include: itself, the rooms it names and what those may include.
std::set<std::string> reachable(const std::map<std::string, std::set<std::string>>& rooms,
                                const std::string& room) {
  std::set<std::string> result = {room};
  for (const auto& below : rooms.at(room))
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
  const std::regex include(R"re(#include "tessera/([a-z]+)/)re");
  for (const auto& [room, below] : rooms) {
    const auto allowed = reachable(rooms, room);
    for (const auto& file : sources_of(kHouse / room)) {
      const std::string text = read(file);
      for (std::sregex_iterator it(text.begin(), text.end(), include), end; it != end; ++it)
        EXPECT_TRUE(allowed.count((*it)[1].str())) << file << " includes " << (*it)[0].str();
    }
  }
}

TEST(House, RoomsWithoutTensorsIncludeNoLibTorch) {
  const std::regex torch(R"(#include <(torch|ATen|c10)/)");
  for (const char* room : {"data", "report", "theory", "ops/cpu"}) {
    if (!fs::exists(kHouse / room)) continue;
    for (const auto& file : sources_of(kHouse / room))
      EXPECT_FALSE(std::regex_search(read(file), torch)) << file;
  }
}

TEST(House, NobodyIncludesTheWholeOfLibTorch) {
  for (const auto& file : sources_of(kHouse))
    EXPECT_EQ(read(file).find("#include <torch/torch.h>"), std::string::npos) << file;
}

TEST(House, FilesStayReadable) {
  for (const auto& file : sources_of(kHouse)) {
    const std::string text = read(file);
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 600) << file;
  }
}

}  // namespace
