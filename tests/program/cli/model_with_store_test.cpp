// tessera generate and tessera eval with --store: a memory for a model.

#include <nlohmann/json.hpp>

#include "tests/program/cli/tessera_program.h"

namespace tessera::cli {
namespace {

using nlohmann::json;
using ::testing::StartsWith;

const char* kUnseen =
    "Quick wizards jumped over both lazy dwarves; five boxing knights vexed them.\n"
    "Sphinx of black quartz, judge my vow, and pack the box with dozens of jugs.\n";

class ModelWithStore : public Workplace {
 protected:
  ModelWithStore() {
    write_text(path("unseen.txt"), kUnseen);
    done({"memo", "create", path("store"), "--dimension", "512", "--tokenizer",
          trained_model() + "/tokenizer.json"});
  }

  json evaluated(const Arguments& more) const {
    return json::parse(done(joined(
        {"eval", "--model", trained_model(), "--data", path("unseen.txt"), "--json"}, more)));
  }
};

TEST_F(ModelWithStore, ATextIsKnownWhileItIsStored) {
  const Arguments with = {"--store", path("store")};
  const json alone = evaluated({});
  EXPECT_EQ(evaluated(with), alone) << "an empty store";
  done({"memo", "memorize", path("store"), path("unseen.txt")});
  EXPECT_GT(alone["loss"], 2.0);
  EXPECT_LT(evaluated(with)["loss"], 0.3);
  EXPECT_LT(evaluated({"--store", path("store"), "--reading", "streaming"})["loss"], 0.3);

  const Arguments generate = {
      "generate",     "--model", trained_model(), "--prompt", "Quick wizards jumped ",
      "--max-tokens", "40",      "--temperature", "0"};
  const Arguments recited = joined(generate, with);
  EXPECT_THAT(done(recited),
              StartsWith("Quick wizards jumped over both lazy dwarves; five boxing knig"));
  done({"memo", "forget", path("store"), "unseen.txt"});
  EXPECT_EQ(evaluated(with), alone) << "a store that forgot";
  EXPECT_EQ(done(recited), done(generate));
}

TEST_F(ModelWithStore, RefusesWhatCannotBe) {
  done({"memo", "create", path("other"), "--dimension", "512"});
  write_text(path("words.txt"), small_text(50));
  done({"tokenizer", "train", path("words.txt"), "--kind", "character", "--out",
        path("words.json")});
  done({"memo", "create", path("words"), "--dimension", "512", "--tokenizer", path("words.json")});
  const auto refused = [&](const Arguments& arguments, int status, const std::string& message) {
    expect_refused(tessera(arguments), status, message);
  };
  refused(
      {"eval", "--model", trained_model(), "--data", path("unseen.txt"), "--store", path("words")},
      3, "has another tokenizer than the model");
  refused({"generate", "--model", trained_model(), "--store", path("words")}, 3,
          path("words") + ": has another tokenizer");
  refused({"generate", "--model", trained_model(), "--store", path("nowhere")}, 3,
          "is not a memo store");
  for (const Arguments& other :
       {Arguments{"--beam", "2"}, {"--interactive"}, {"--save-session", "s"}}) {
    refused(joined({"generate", "--model", trained_model(), "--store", path("store")}, other), 2,
            "--store");
  }
}

}  // namespace
}  // namespace tessera::cli
