// What the program says of itself, and to those who mistype.

#include "tests/program/cli/tessera_program.h"

namespace tessera::cli {
namespace {

using ::testing::HasSubstr;

struct Verb {
  Arguments name;
  Arguments options;
};

const std::vector<Verb> kVerbs = {
    {{"train"}, {"config", "--set", "--out", "--resume", "[data]", "learning_rate", "window"}},
    {{"generate"},
     {"--model", "--prompt", "--max-tokens", "--temperature", "--top-k", "--top-p",
      "--repetition-penalty", "--seed", "--alternatives", "--beam", "--stop", "--ignore-end",
      "--reading", "--memory-bound", "--eviction", "--weights", "--pairs", "--json"}},
    {{"eval"}, {"--model", "--data", "--suffix", "--per-position", "--batch", "--json"}},
    {{"inspect"},
     {"--model", "--text", "--file", "--position", "--token", "--memories", "--page", "--json"}},
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
    {{"memo"},
     {"create", "memorize", "recall", "complete", "ask", "find", "show", "forget", "documents",
      "stat", "verify", "merge", "export"}},
    {{"memo", "create"},
     {"store", "--dimension", "--plan-from", "--error", "--matrices", "--tokenizer", "--code",
      "--seed"}},
    {{"memo", "memorize"}, {"store", "file", "--id", "--shard", "--replace"}},
    {{"memo", "recall"}, {"store", "--prompt", "--tokens", "--error-rate", "--sources", "--json"}},
    {{"memo", "complete"},
     {"store", "--prompt", "--tokens", "--temperature", "--top-k", "--top-p", "--seed", "--json"}},
    {{"memo", "ask"}, {"store"}},
    {{"memo", "find"}, {"store", "text", "--limit", "--case", "--exact", "--json"}},
    {{"memo", "show"}, {"store", "id", "--range"}},
    {{"memo", "forget"}, {"store", "id"}},
    {{"memo", "documents"}, {"store", "--json"}},
    {{"memo", "stat"}, {"store", "--measure", "--seed", "--json"}},
    {{"memo", "verify"}, {"store", "--repair"}},
    {{"memo", "merge"}, {"store", "stores"}},
    {{"memo", "export"}, {"store", "--out"}},
    {{"manual"}, {"folder"}},
    {{"serve"},
     {"--model", "--store", "--runs", "--host", "--port", "--api-key-file", "--max-clients"}},
    {{"study"},
     {"id", "--list", "--json", "--quick", "--paper", "--out", "--seed", "--set", "--png",
      "--pdf"}},
};

TEST(Help, OfEveryVerbNamesItsOptions) {
  const Outcome program = tessera({"--help"});
  EXPECT_EQ(program.status, 0);
  EXPECT_EQ(program.err, "");
  for (const auto& [name, options] : kVerbs) {
    EXPECT_THAT(program.out, HasSubstr(name.front()));
    Arguments command = name;
    command.push_back("--help");
    const Outcome help = tessera(command);
    EXPECT_EQ(help.status, 0) << name.back();
    EXPECT_EQ(help.err, "");
    for (const auto& option : options) EXPECT_THAT(help.out, HasSubstr(option));
  }
}

TEST(Help, SaysThatAVerbIsNeeded) {
  EXPECT_THAT(tessera({"memo", "--help"}).out, HasSubstr("Usage: tessera memo [OPTIONS] VERB\n"));
}

TEST(Help, VersionIsALineAndAsJsonNamesTheMachine) {
  const Outcome version = tessera({"--version"});
  EXPECT_EQ(version.status, 0);
  EXPECT_THAT(version.out, ::testing::MatchesRegex("tessera [0-9.]+ \\([^ ]+\\)\n"));
  const Outcome json = tessera({"--version", "--json"});
  EXPECT_EQ(json.status, 0);
  EXPECT_THAT(json.out, HasSubstr("\"libtorch\""));
  EXPECT_THAT(json.out, HasSubstr("\"processor\""));
  const Outcome alone = tessera({"--json", "plan"});
  EXPECT_EQ(alone.status, 2);
  EXPECT_THAT(alone.err, HasSubstr("--version"));
}

class Usage : public Workplace {};

TEST_F(Usage, SuggestsWhatWasMeant) {
  expect_all_refused({{{}, "which verb?"},
                      {{"tokenizer"}, "which verb? There are train, encode, decode"},
                      {{"trian", "x.toml"}, "'trian'; did you mean 'train'?"},
                      {{"tokenizer", "encoed"}, "did you mean 'encode'?"},
                      {{"generate", "--modle", "m"}, "did you mean '--model'?"},
                      {{"inspect"}, "--model is required\nTry 'tessera inspect --help'"},
                      {{"memo", "memorize", "store"}, "the argument 'files' is missing\n"},
                      {{"study", "memory-mosaics/language-modle"},
                       "did you mean 'memory-mosaics/language-model'?"},
                      {{"generate", "--model", "m", "--max-tokens", "many"}, "many"}},
                     2);
}

TEST_F(Usage, AnUnknownVerbIsRefusedAlsoWithHelp) {
  expect_all_refused({{{"nosuchverb", "--help"}, "unknown argument 'nosuchverb'"},
                      {{"forget", "--help"}, "'forget'; did you mean 'tessera memo forget'?"},
                      {{"forget", "store", "id"}, "did you mean 'tessera memo forget'?"},
                      {{"memo", "forgt", "--help"}, "'forgt'; did you mean 'forget'?"},
                      {{"generate", "--modle", "m", "--help"}, "did you mean '--model'?"},
                      {{"nosuchverb", "--version"}, "unknown argument 'nosuchverb'"}},
                     2);
}

TEST_F(Usage, NumbersMustFit) {
  const std::string huge = "99999999999999999999999";
  const std::string seeds = "expected a whole number from 0 to 18446744073709551615";
  expect_all_refused(
      {{{"generate", "--model", "m", "--seed", "-1"}, "--seed is '-1', " + seeds},
       {{"generate", "--model", "m", "--seed", huge}, "--seed is '" + huge + "', " + seeds},
       {{"generate", "--model", "m", "--top-k", huge}, "--top-k is '" + huge + "'"},
       {{"generate", "--model", "m", "--top-k", "-1"}, "--top-k is '-1'"},
       {{"generate", "--model", "m", "--max-tokens", "1.5"}, "--max-tokens is '1.5'"},
       {{"generate", "--model", "m", "--max-tokens", ""}, "--max-tokens is ''"},
       {{"generate", "--model", "m", "--max-tokens"}, "--max-tokens needs a value"},
       {{"generate", "--model", "m", "--seed", "1", "--seed", "2"},
        "--seed is given more than once"},
       {{"eval", "--model", "m", "--data", "d", "--batch", "0"}, "--batch is '0'"},
       {{"import", "--from", "gpt2", "--weights", "w", "--out", "o", "--heads", huge}, "--heads"},
       {{"tokenizer", "train", "t", "--out", "o", "--vocabulary", "256"}, "from 257 to 1048576"},
       {{"plan", "--alpha", "1", "--inputs", "0"}, "--inputs is '0'"},
       {{"plan", "--text", "t", "--matrices", "0"},
        "--matrices is '0', expected a whole number from 1 to 4096"},
       {{"plan", "--alpha", "inf"}, "--alpha is 'inf', expected a number"},
       {{"plan", "--seed", "-1"}, "--seed is '-1', " + seeds},
       {{"study", "scaling-laws/fig1", "--seed", "-1"},
        "expected a whole number from 0 to 9223372036854775807"},
       {{"memo", "create", "s", "--seed", huge}, seeds},
       {{"memo", "forget", "s", "d", "--certificate", ""}, "expected a text that is not empty"},
       {{"train", path("train.toml"), "--out", ""},
        "--out is '', expected a text that is not empty"},
       {{"memo", "create", ""}, "store is '', expected a text that is not empty"},
       {{"memo", "create", "s", "--matrices", "0"}, "--matrices is '0'"},
       {{"memo", "create", "s", "--matrices", "-1"}, "--matrices is '-1'"},
       {{"memo", "create", "s", "--matrices", huge}, "a whole number from 1 to 4096"},
       {{"memo", "stat", "s", "--measure", "-1"}, "--measure is '-1'"},
       {{"memo", "find", "s", "t", "--limit", huge}, "--limit"},
       {{"memo", "recall", "s", "--prompt", "p", "--sources", "-1"}, "from 1 to 1000"},
       {{"memo", "recall", "s", "--prompt", "p", "--error-rate", "1"}, "a number from 1e-300 to"},
       {{"memo", "complete", "s", "--prompt", "p", "--seed", "-1"}, seeds}},
      2);
}

TEST_F(Usage, ThreadsMayBeGivenBeforeAndAfterTheVerb) {
  const auto run = [](const Arguments& arguments) {
    return start_line(joined({"tessera"}, arguments)).wait();
  };
  for (const auto& version : {run({"--threads", "3", "--version", "--json"}),
                              run({"--version", "--json", "--threads", "3"})}) {
    EXPECT_EQ(version.status, 0) << version.err;
    EXPECT_THAT(version.out, HasSubstr("\"threads\": 3"));
  }
  const Arguments verb = {"memo", "create", path("store"), "--threads", "2"};
  EXPECT_EQ(run(verb).status, 0);
  expect_refused(run({"--threads", "1000000", "--version"}), 2,
                 "--threads is '1000000', expected a whole number from 0 to ");
  expect_refused(run({"memo", "stat", path("store"), "--threads", "1000000"}), 2, "--threads");
}

TEST_F(Usage, OptionsThatWouldHaveNoEffectAreRefused) {
  expect_all_refused(
      {{{"generate", "--model", "m", "--beam", "3", "--temperature", "0.5"}, "--beam"},
       {{"generate", "--model", "m", "--beam", "3", "--stop", "."}, "--beam"},
       {{"eval", "--model", "m", "--data", "d", "--pairs", "bf16"}, "--reading streaming"},
       {{"eval", "--model", "m", "--data", "d", "--reading", "streaming", "--batch", "3"},
        "--batch counts windows"},
       {{"generate", "--model", "m", "--pairs", "bf16", "--reading", "windowed"},
        "leave out --reading windowed"},
       {{"data", "copy", "--levels", "--out", "x"}, "--out"},
       {{"tokenizer", "train", "x", "--kind", "byte", "--vocabulary", "300", "--out", "t"},
        "--vocabulary"},
       {{"study", "scaling-laws/fig1", "--quick", "--paper"}, "--quick"}},
      2);
}

TEST_F(Usage, ConfigurationIsCheckedBeforeAnyWork) {
  const auto with = [&](const std::string& setting) { return train_arguments("run", {setting}); };
  expect_all_refused(
      {{with("train.stpes=3"), "unknown key 'stpes'; did you mean 'steps'?"},
       {with("trian.steps=3"), "unknown table 'trian'; did you mean 'train'?"},
       {with("foo.steps=3"), "unknown table 'foo'; there are model, data, train, sample"},
       {with("stepz=3"), "unknown table 'stepz'; did you mean 'train.steps'?"},
       {with("data.tokeniser=\"byte\""), "did you mean 'tokenizer'?"},
       {with("data.tokenizer=\"byt\""), "did you mean 'byte'?"},
       {with("data.validation_share=2"), "expected a number above 0, below 1"},
       {with("model.chanels=16"), "unknown key 'chanels'; did you mean 'channels'?"},
       {with("model.kind=\"memory_mosaics\""), "did you mean 'memory_mosaic'?"},
       {with("model.kind=3"), "model.kind is 3, expected a name"},
       {with("model.heads=3"), "does not divide model.channels = 16"},
       {with("model.precision=\"fp8\""), "expected one of: fp32, bf16"},
       {with("sample=3"), "expected a table"},
       {with("train.steps=many"), "train.steps is \"many\", expected a whole number"},
       {with("train.batch=0"), "train.batch"},
       {with("sample.top_k=-1"), "sample.top_k"},
       {with("train.steps"), "write key=value"}},
      2);
  EXPECT_FALSE(std::filesystem::exists(path("run")));
  expect_refused(train("run", {"model.vocabulary=12"}), 2, "the tokenizer has 257 tokens");
}

TEST_F(Usage, BadConfigurationFilesAreNamedWithTheLine) {
  expect_refused(tessera({"train", path("none.toml")}), 1, "none.toml: cannot open");
  expect_refused(tessera({"train", folder_.path().native()}), 3, "is not a regular file");
  write_text(path("bad.toml"), "[train]\nsteps = [\n");
  expect_refused(tessera({"train", path("bad.toml")}), 2,
                 "bad.toml: line 2, column 11: Error while parsing array");
  expect_refused(tessera({"train", path("text.txt")}), 2,
                 "; expected TOML: lines 'key = value' below lines '[table]'");
}

TEST_F(Usage, ResultsThatCannotBeWrittenAreAFailure) {
  done({"tokenizer", "train", path("text.txt"), "--kind", "byte", "--out", path("t.json")});
  ProcessOptions small_disk;
  small_disk.largest_file = 4096;
  const Outcome run =
      tessera({"tokenizer", "encode", "--tokenizer", path("t.json"), path("text.txt")}, small_disk);
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err, HasSubstr("File too large"));
}

}  // namespace
}  // namespace tessera::cli
