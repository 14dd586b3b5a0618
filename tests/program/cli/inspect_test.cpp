// tessera inspect.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tessera/base/file.h"
#include "tests/program/cli/tessera_program.h"

namespace tessera::cli {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class Inspecting : public Workplace {
 protected:
  static Outcome inspect(const Arguments& options) {
    return tessera(joined({"inspect", "--model", trained_model()}, options));
  }
};

TEST_F(Inspecting, PrintsTheTokenItsPartsAndTheMemoriesThatCountMost) {
  const Outcome run =
      inspect({"--text", "In the beginning God created", "--position", "3", "--memories", "2"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("Read up to position 3: "));
  EXPECT_THAT(run.out, HasSubstr("Next token "));
  EXPECT_THAT(run.out, HasSubstr("memories of this text"));
  EXPECT_THAT(run.out, HasSubstr("persistent memories"));
  for (const char* table : {"Memories of this text", "Learned slots"}) {
    const std::string after = run.out.substr(run.out.find(table));
    const std::string rows = after.substr(after.find("--\n") + 3);
    EXPECT_EQ(std::count(rows.begin(), rows.begin() + rows.find("\n\n"), '\n'), 1) << table;
  }
}

TEST_F(Inspecting, ShowsWhereSlotsAreUsedOnceThatWasMeasured) {
  std::filesystem::copy(trained_model(), path("model"), std::filesystem::copy_options::recursive);
  const auto inspect_copy = [&](const Arguments& options) {
    return done(joined({"inspect", "--model", path("model"), "--text"}, options));
  };
  EXPECT_THAT(inspect_copy({"In the beginning"}), HasSubstr("tessera inspect --slots"));
  EXPECT_THAT(inspect_copy({"And God said, Let there be light", "--slots"}),
              HasSubstr(path("model") + "/slots.safetensors: for each of "));
  EXPECT_THAT(inspect_copy({"In the beginning"}), HasSubstr("used most at -> what came next"));
  const json result = json::parse(inspect_copy({"In the beginning", "--json"}));
  const json& slot = result["layers"][0]["slots"][0];
  const std::string name = fmt::format("0.{}.{}", slot["head"].dump(), slot["slot"].dump());
  EXPECT_FALSE(result["slot_readers"][name].empty());
}

TEST_F(Inspecting, WritesAPageOfEveryToken) {
  write_text(path("text.txt"), "In the beginning");
  const Outcome run = inspect({"--file", path("text.txt"), "--page", path("page.html")});
  ASSERT_EQ(run.status, 0) << run.err;
  const std::string page = read_file(path("page.html"));
  EXPECT_THAT(page, HasSubstr(R"({"id":73,"text":"I"})"));
  EXPECT_THAT(page, HasSubstr("\"persistent_memory\":"));
}

TEST_F(Inspecting, RefusesWhatCannotBeInspected) {
  expect_refused(inspect({"--text", ""}), 2, "expected a text that is not empty");
  expect_refused(inspect({}), 2, "give --text or --file");
  write_text(path("empty.txt"), "");
  expect_refused(inspect({"--file", path("empty.txt")}), 3, "empty.txt: is empty");
  write_text(path("binary"), std::string("bi\0nary", 7));
  expect_refused(inspect({"--file", path("binary")}), 3, "binary: byte 2 is zero");
  expect_refused(inspect({"--text", "abc", "--position", "1000"}), 2,
                 "position 1000 is not in the text");
  expect_refused(inspect({"--text", "abc", "--token", "two words of it"}), 2, "expected one");
  expect_refused(inspect({"--text", "abc", "--json", "--page", path("p.html")}), 2, "--page");
  expect_refused(inspect({"--text", "abc", "--page", path("p.html"), "--position", "1"}), 2,
                 "leave out --position");
  expect_refused(inspect({"--text", "abc", "--file", path("t.txt")}), 2, "--file");
  write_text(path("long.txt"), std::string(2000, 'a'));
  expect_refused(inspect({"--file", path("long.txt"), "--page", path("p.html")}), 2,
                 "at most 1024");
  expect_refused(inspect({"--file", path("long.txt"), "--page", folder_.path().native()}), 1,
                 "is a folder, which cannot be replaced");  // said before the work
}

}  // namespace
}  // namespace tessera::cli
