// tessera generate and tessera eval with --store: a memory for a model.

#include <nlohmann/json.hpp>

#include "tests/program/cli/tessera_program.h"

namespace tessera::cli {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const char* kUnseen =
    "Quick wizards jumped over both lazy dwarves; five boxing knights vexed them.\n"
    "Sphinx of black quartz, judge my vow, and pack the box with dozens of jugs.\n";

class ModelWithStore : public Workplace {
 protected:
  ModelWithStore() {
    write_text(path("unseen.txt"), kUnseen);
    run({"memo", "create", path("store"), "--dimension", "512", "--tokenizer",
         trained_model() + "/tokenizer.json"});
  }

  static std::string run(const std::vector<std::string>& arguments) {
    const Outcome outcome = tessera(arguments);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome.out;
  }
  json evaluated(std::vector<std::string> more) const {
    std::vector<std::string> arguments = {"eval",   "--model",          trained_model(),
                                          "--data", path("unseen.txt"), "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return json::parse(run(arguments));
  }
};

TEST_F(ModelWithStore, ATextIsKnownWhileItIsStored) {
  const std::vector<std::string> with = {"--store", path("store")};
  const json alone = evaluated({});
  EXPECT_EQ(evaluated(with), alone) << "an empty store";
  run({"memo", "memorize", path("store"), path("unseen.txt")});
  EXPECT_GT(alone["loss"], 2.0);
  EXPECT_LT(evaluated(with)["loss"], 0.3);
  EXPECT_LT(evaluated({"--store", path("store"), "--reading", "streaming"})["loss"], 0.3);

  const std::vector<std::string> generate = {
      "generate",     "--model", trained_model(), "--prompt", "Quick wizards jumped ",
      "--max-tokens", "40",      "--temperature", "0"};
  std::vector<std::string> recited = generate;
  recited.insert(recited.end(), with.begin(), with.end());
  EXPECT_THAT(run(recited),
              StartsWith("Quick wizards jumped over both lazy dwarves; five boxing knig"));
  run({"memo", "forget", path("store"), "unseen.txt"});
  EXPECT_EQ(evaluated(with), alone) << "a store that forgot";
  EXPECT_EQ(run(recited), run(generate));
}

TEST_F(ModelWithStore, RefusesWhatCannotBe) {
  run({"memo", "create", path("other"), "--dimension", "512"});
  write_text(path("words.txt"), small_text(50));
  run({"tokenizer", "train", path("words.txt"), "--kind", "character", "--out",
       path("words.json")});
  run({"memo", "create", path("words"), "--dimension", "512", "--tokenizer", path("words.json")});
  const auto refused = [&](std::vector<std::string> arguments, int status,
                           const std::string& message) {
    expect_refused(tessera(arguments), status, message);
  };
  refused(
      {"eval", "--model", trained_model(), "--data", path("unseen.txt"), "--store", path("words")},
      3, "has another tokenizer than the model");
  refused({"generate", "--model", trained_model(), "--store", path("words")}, 3,
          path("words") + ": has another tokenizer");
  refused({"generate", "--model", trained_model(), "--store", path("nowhere")}, 3,
          "is not a memo store");
  for (const std::vector<std::string>& other :
       {std::vector<std::string>{"--beam", "2"}, {"--interactive"}, {"--save-session", "s"}}) {
    std::vector<std::string> arguments = {"generate", "--model", trained_model(), "--store",
                                          path("store")};
    arguments.insert(arguments.end(), other.begin(), other.end());
    refused(arguments, 2, "--store");
  }
}

}  // namespace
}  // namespace tessera::cli
