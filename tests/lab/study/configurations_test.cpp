// The configurations that the examples bring are ones that training takes.

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "lab/learner/laboratory.h"
#include "lab/task/babi/simulator.h"
#include "tessera/base/file.h"
#include "tessera/checkpoint/model_directory.h"
#include "tessera/model/model_kind.h"
#include "tessera/text/text_learner.h"
#include "tests/support/folders.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

/// A model directory such as a training leaves.
std::string some_model(const fs::path& folder) {
  save_model(folder / "model", *make_language_model("lstm", {{"vocabulary", 257}}, 1));
  Tokenizer::bytes(EndOfText::kPresent).save(folder / "model" / "tokenizer.json");
  return (folder / "model").native();
}

/// Stories such as `tessera data babi` writes.
std::string some_stories(const fs::path& folder) {
  for (const int64_t task : {1, 20})
    task::write_babi_folder(folder / "stories", task, 1,
                            {.training = 20, .validation = 10, .test = 10});
  return (folder / "stories").native();
}

/// Samples of a task, as docs/tasks.md shows them.
std::string some_samples(const fs::path& folder) {
  const fs::path file = folder / "samples.jsonl";
  std::string lines;
  for (int sample = 0; sample < 64; ++sample)
    lines += "{\"inputs\": [[0, 1], [1, 0]], \"bits\": [[1]]}\n";
  write_file(file, lines);
  return file.native();
}

TEST(Configurations, EveryExampleMakesANetwork) {
  const test::TemporaryFolder folder;
  int files = 0;
  for (const auto& entry : fs::directory_iterator(test::source_folder() / "examples/configs")) {
    SCOPED_TRACE(entry.path().native());
    ++files;
    config::Json json = config::read_toml(entry.path());
    if (json.contains("task")) {
      config::Json& task = json["task"];
      if (task.contains("file"))
        task["file"] = task["validation"] = task["test"] = some_samples(folder.path());
      else if (task["name"] == "babi")
        json["data"]["folder"] = some_stories(folder.path());
      EXPECT_NO_THROW(task::make_learner(json, ""));
      continue;
    }
    if (json.contains("model") && json["model"].contains("from"))
      json["model"]["from"] = some_model(folder.path());
    const auto config = LanguageModelTrainingConfig::from_json(json, entry.path().native());
    EXPECT_NO_THROW(config.train.check());
    auto [kind, sizes] = kind_and_fields(config.model);
    sizes["vocabulary"] = config.data.vocabulary;
    EXPECT_NO_THROW(make_language_model(kind, sizes, std::nullopt));
  }
  EXPECT_GE(files, 5);
}

}  // namespace
}  // namespace tessera
