// What generate and serve do where no model is named.

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/program/cli/served_process.h"

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kModel = (test::build_folder() / "models/stories").native();

TEST(PackagedExamples, GenerateWritesWithTheModelThatComesWithTessera) {
  const Arguments asked = {"generate", "--prompt", "Once upon a time", "--max-tokens", "40"};
  const Outcome run = tessera(asked);
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.out, StartsWith("Once upon a time"));
  EXPECT_THAT(run.err, AllOf(HasSubstr("comes with Tessera"), HasSubstr(kModel)));
  EXPECT_EQ(done(joined(asked, {"--model", kModel})), run.out);
}

TEST(PackagedExamples, TheModelPredictsStoriesThatItHasNotSeen) {
  const test::TemporaryFolder folder;
  const std::string stories = folder / "stories";
  done({"data", "stories", "--stories", "1", "--valid", "20", "--questions", "0", "--seed", "99",
        "--out", stories});
  const std::string run =
      done({"eval", "--model", kModel, "--data", stories + "/valid.txt", "--json"});
  EXPECT_LT(json::parse(run).at("loss"), 0.6);  // of a GPT of its size: see its README.md
  EXPECT_LT(fs::file_size(kModel + "/model.safetensors"), 8'000'000u);
}

/// As a program that was copied without its data.
TEST(PackagedExamples, WithoutThemAModelMustBeNamed) {
  const test::TemporaryFolder folder;
  fs::copy(test::build_folder() / "tessera", folder / "tessera");
  const char* library = "libtessera_model_cli.so";
  fs::create_symlink(test::build_folder() / library, folder / library);
  for (const char* verb : {"generate", "serve"}) {
    const Outcome run = Process({folder / "tessera", verb}).wait();
    EXPECT_EQ(run.status, 2);
    EXPECT_THAT(run.err, HasSubstr("--model is needed"));
  }
}

TEST(PackagedExamples, ServeNamesAFolderForTemporaryFilesThatIsMissing) {
  const Outcome run = tessera({"serve", "--port", "0"}, {.environment = {{"TMPDIR", "/none"}}});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err, HasSubstr("TMPDIR, the folder for temporary files: cannot open: No such"));
}

TEST(PackagedExamples, ServeServesThemAndLeavesNothing) {
  const test::TemporaryFolder temporary;
  ServedProcess server("", {}, [&] { ::setenv("TMPDIR", temporary.path().c_str(), 1); });
  const json models = json::parse(server.ask("GET", "/v1/models").body).at("data");
  ASSERT_EQ(models.size(), 2u);
  EXPECT_EQ(models[0].at("id"), "stories");
  const std::string story = tessera({"data", "stories", "--stories", "1"}).out;
  const json prompt = {{"prompt", story.substr(0, 60)}, {"tokens", 5}};
  const auto answer = server.ask("POST", "/v1/stores/storybook/recall", prompt.dump());
  EXPECT_THAT(answer.body, HasSubstr("\"1. " + story.substr(0, story.find('.') + 1) + "\""));
  EXPECT_FALSE(fs::is_empty(temporary.path()));
  const Outcome ended = server.stop();
  EXPECT_EQ(ended.status, 0);
  EXPECT_THAT(ended.err, HasSubstr("comes with Tessera"));
  EXPECT_TRUE(fs::is_empty(temporary.path()));
}

}  // namespace
}  // namespace tessera::cli
