// What the program says of itself, and to those who mistype.

#include "tests/cli/tessera_program.h"

namespace tessera::cli {
namespace {

using ::testing::HasSubstr;

struct Verb {
  std::vector<std::string> name;
  std::vector<std::string> options;
};

const std::vector<Verb> kVerbs = {
    {{"train"}, {"config", "--set", "--out", "--resume", "[data]", "learning_rate", "window"}},
    {{"generate"},
     {"--model", "--prompt", "--max-tokens", "--temperature", "--top-k", "--top-p",
      "--repetition-penalty", "--seed", "--alternatives", "--beam", "--stop", "--ignore-end",
      "--reading", "--memory-bound", "--eviction", "--json"}},
    {{"eval"}, {"--model", "--data", "--suffix", "--per-position", "--batch", "--json"}},
    {{"forward"}, {"--model", "--input", "--output", "--gradients", "--names"}},
    {{"import"}, {"--from", "--weights", "--out", "--tokenizer", "--heads", "--window"}},
    {{"export"}, {"--model", "--to", "--out"}},
    {{"tokenizer"}, {"train", "encode", "decode"}},
    {{"tokenizer", "train"}, {"text", "--kind", "--vocabulary", "--out"}},
    {{"tokenizer", "encode"}, {"--tokenizer", "input", "--special", "--json"}},
    {{"tokenizer", "decode"}, {"--tokenizer", "input"}},
    {{"data"}, {"text"}},
    {{"data", "text"}, {"path", "--suffix", "--out"}},
    {{"plan"}, {"--alpha", "--inputs", "--outputs", "--error", "--dimension", "--json"}},
    {{"study"}, {"id", "--list", "--quick", "--paper", "--out", "--seed", "--set"}},
};

TEST(Help, OfEveryVerbNamesItsOptions) {
  const Outcome program = tessera({"--help"});
  EXPECT_EQ(program.status, 0);
  EXPECT_EQ(program.err, "");
  for (const auto& verb : kVerbs) {
    EXPECT_THAT(program.out, HasSubstr(verb.name.front()));
    std::vector<std::string> arguments = verb.name;
    arguments.push_back("--help");
    const Outcome help = tessera(arguments);
    EXPECT_EQ(help.status, 0) << verb.name.back();
    EXPECT_EQ(help.err, "");
    for (const auto& option : verb.options) EXPECT_THAT(help.out, HasSubstr(option));
  }
}

TEST(Help, VersionIsJsonThatNamesTheMachine) {
  const Outcome version = tessera({"--version"});
  EXPECT_EQ(version.status, 0);
  EXPECT_THAT(version.out, HasSubstr("\"libtorch\""));
  EXPECT_THAT(version.out, HasSubstr("\"processor\""));
}

class Usage : public Workplace {};

TEST_F(Usage, SuggestsWhatWasMeant) {
  expect_refused(tessera({}), 2, "which verb?");
  expect_refused(tessera({"tokenizer"}), 2, "which verb? There are train, encode, decode");
  expect_refused(tessera({"trian", "x.toml"}), 2, "'trian'; did you mean 'train'?");
  expect_refused(tessera({"tokenizer", "encoed"}), 2, "did you mean 'encode'?");
  expect_refused(tessera({"generate", "--modle", "m"}), 2, "did you mean '--model'?");
  expect_refused(tessera({"generate"}), 2, "--model is required");
  expect_refused(tessera({"generate"}), 2, "Try 'tessera generate --help'");
  expect_refused(tessera({"study", "memory-mosaics/language-modle"}), 2,
                 "did you mean 'memory-mosaics/language-model'?");
  expect_refused(tessera({"generate", "--model", "m", "--max-tokens", "many"}), 2, "many");
}

TEST_F(Usage, OptionsThatWouldHaveNoEffectAreRefused) {
  expect_refused(tessera({"generate", "--model", "m", "--beam", "3", "--temperature", "0.5"}), 2,
                 "--beam");
  expect_refused(tessera({"generate", "--model", "m", "--beam", "3", "--stop", "."}), 2, "--beam");
  expect_refused(tessera({"study", "scaling-laws/fig1", "--quick", "--paper"}), 2, "--quick");
}

TEST_F(Usage, ConfigurationIsCheckedBeforeAnyWork) {
  const auto refused = [&](const std::string& setting, const std::string& message) {
    expect_refused(train("run", {setting}), 2, message);
    EXPECT_FALSE(std::filesystem::exists(path("run"))) << setting;
  };
  refused("train.stpes=3", "unknown key 'stpes'; did you mean 'steps'?");
  refused("trian.steps=3", "unknown table 'trian'; did you mean 'train'?");
  refused("data.tokeniser=\"byte\"", "did you mean 'tokenizer'?");
  refused("data.tokenizer=\"byt\"", "did you mean 'byte'?");
  refused("data.validation_share=2", "between 0 and 1");
  refused("model.chanels=16", "unknown key 'chanels'; did you mean 'channels'?");
  refused("model.kind=\"memory_mosaics\"", "did you mean 'memory_mosaic'?");
  refused("model.kind=3", "model.kind is 3, expected a name");
  refused("model.heads=3", "does not divide model.channels = 16");
  refused("model.precision=\"fp8\"", "expected one of: fp32, bf16");
  refused("model=3", "model is 3, expected a table");
  refused("sample=3", "expected a table");
  refused("train.steps=many", "train.steps is \"many\", expected a whole number");
  refused("train.steps=0", "train.steps is 0, expected 1 or more");
  refused("train.batch=0", "train.batch");
  refused("train.steps", "write key=value");
  expect_refused(train("run", {"model.vocabulary=12"}), 2, "the tokenizer has 257 tokens");
}

TEST_F(Usage, BadConfigurationFilesAreNamedWithTheLine) {
  expect_refused(tessera({"train", path("none.toml")}), 1, "none.toml: cannot open");
  expect_refused(tessera({"train", folder_.path().native()}), 3, "is not a regular file");
  write_text(path("bad.toml"), "[train]\nsteps = [\n");
  expect_refused(tessera({"train", path("bad.toml")}), 2, "bad.toml: line 3");
}

TEST_F(Usage, ResultsThatCannotBeWrittenAreAFailure) {
  EXPECT_EQ(
      tessera({"tokenizer", "train", path("text.txt"), "--kind", "byte", "--out", path("t.json")})
          .status,
      0);
  ProcessOptions small_disk;
  small_disk.largest_file = 4096;
  const Outcome run =
      tessera({"tokenizer", "encode", "--tokenizer", path("t.json"), path("text.txt")}, small_disk);
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err, HasSubstr("File too large"));
}

}  // namespace
}  // namespace tessera::cli
