// Model directories: damaged and hostile ones, and tessera import, export and forward.

#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "tessera/base/safetensors.h"
#include "tests/program/cli/tessera_program.h"
#include "tests/support/folders.h"

namespace tessera::cli {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

/// A safetensors file with this header, whatever it claims, and this length of it.
std::string with_header(const std::string& header, const std::string& data = "",
                        std::optional<uint64_t> claimed = {}) {
  const uint64_t length = claimed.value_or(header.size());
  std::string file(sizeof length, '\0');
  std::memcpy(file.data(), &length, sizeof length);
  return file + header + data;
}

class ModelFiles : public Workplace {
 protected:
  ModelFiles() {
    std::filesystem::copy(trained_model(), path("model"));
    write_tokens({1, 2, 3, 4, 5, 6}, {2, 3, 4, 5, 6, 7});
  }

  void write_tokens(std::vector<int64_t> idx, std::vector<int64_t> targets) const {
    const auto view = [](const std::vector<int64_t>& ids) {
      return safetensors::TensorView{
          safetensors::DType::kI64, {2, std::ssize(ids) / 2}, std::as_bytes(std::span(ids))};
    };
    safetensors::write(path("x.safetensors"), {{"idx", view(idx)}, {"targets", view(targets)}});
  }

  /// Puts each content in the place of the file for a moment; the message must name the file and
  /// say this.
  void expect_damage_refused(
      const std::string& file,
      const std::vector<std::pair<std::string, std::string>>& contents) const {
    const std::string whole = read_file(path("model/" + file));
    for (const auto& [content, message] : contents) {
      write_text(path("model/" + file), content);
      const Outcome outcome = generate();
      expect_refused(outcome, 3, file + ": ");
      EXPECT_THAT(outcome.err, HasSubstr(message));
    }
    write_text(path("model/" + file), whole);
  }

  Outcome generate() const {
    return tessera({"generate", "--model", path("model"), "--max-tokens", "2"});
  }
  Outcome forward(const std::string& model, const Arguments& more = {}) const {
    return tessera(joined({"forward", "--model", model, "--input", path("x.safetensors"),
                           "--output", path("y.safetensors")},
                          more));
  }
};

TEST_F(ModelFiles, DirectoriesThatAreNone) {
  const auto run = [&](const std::string& folder) {
    return tessera({"generate", "--model", folder});
  };
  expect_refused(run(path("none")), 3,
                 "none: is not a model directory: there is nothing of this name; 'tessera train'");
  expect_refused(run(path("")), 3, "is not a model directory: it has no config.json; ");
  expect_refused(run(path("model/config.json")), 3,
                 "it is a file; did you mean '" + path("model") + "'?");
  const std::string run_folder = std::filesystem::path(trained_model()).parent_path().native();
  expect_refused(run(run_folder), 3, "did you mean '" + trained_model() + "'?");
  expect_refused(forward(path("none")), 3, "none: is not a model directory");
  done({"memo", "create", path("store"), "--dimension", "64"});
  expect_refused(run(path("store")), 3, "store: is a memo store, not a model directory");
  expect_refused(tessera({"memo", "stat", path("model")}), 3, "is the configuration of a model");
  expect_refused(tessera({"serve", "--store", path("none")}), 3, "none: is not a memo store");
  expect_refused(tessera({"serve", "--store", "none="}), 2, "'none=' has no folder behind '='");
  expect_refused(tessera({"serve", "--store", "/"}), 2, "'/' needs a name, NAME=/");
  expect_refused(tessera({"serve", "--model", "model=" + trained_model(), "--model", "/model"}), 2,
                 "'model' is the name of two models or stores");
  std::filesystem::remove(path("model/tokenizer.json"));
  expect_refused(generate(), 3, "has no tokenizer.json; put one there");
  std::filesystem::remove(path("model/model.safetensors"));
  expect_refused(generate(), 1, "model.safetensors: cannot open");
}

TEST_F(ModelFiles, DamagedConfigurations) {
  const auto good = json::parse(read_file(path("model/config.json")));
  const auto changed = [&](const std::string& key, const json& value) {
    json copy = good;
    copy[key] = value;
    return copy.dump();
  };
  expect_damage_refused(
      "config.json", {{"", "not valid JSON"},
                      {"[]", "holds no JSON object"},
                      {std::string(5000, '['), "nested deeper"},
                      {changed("format", 99), "format is 99"},
                      {changed("kind", "mosaic"), "model.kind is 'mosaic'"},
                      {changed("kind", 3), "kind is 3"},
                      {changed("chanels", 16), "unknown key 'chanels'; did you mean 'channels'?"},
                      {changed("channels", "many"), "model.channels"},
                      {changed("channels", int64_t{1} << 62), "model"},
                      {changed("layers", int64_t{1} << 40), "layers"}});
  write_text(path("model/config.json"), changed("channels", 32));
  expect_refused(generate(), 3, "model.safetensors");
}

TEST_F(ModelFiles, DamagedWeights) {
  const std::string good = read_file(path("model/model.safetensors"));
  expect_damage_refused(
      "model.safetensors",
      {{"", "has 0 bytes, too few"},
       {good.substr(0, 200), "in a file of 200; it is truncated"},
       {good.substr(0, good.size() - 1), "the file is truncated"},
       {good + "x", "the file is too long"},
       {with_header("{}", "", uint64_t{1} << 63), "announces a header of 9223372036854775808"},
       {with_header("{}"), "tensor 'embedding' is missing"},
       {with_header("{\"a\":"), "not valid JSON"},
       {with_header(R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,9999]}})", "1234"),
        "in bytes 0 to 9999, which does not fit"},
       {with_header(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", "1234"),
        "has the size or offset -1"}});
}

TEST_F(ModelFiles, ParametersThatAreNoNumbers) {
  const std::string weights = read_file(path("model/model.safetensors"));
  uint64_t length = 0;
  std::memcpy(&length, weights.data(), sizeof length);
  auto header = json::parse(weights.substr(sizeof length, length));
  header.erase("__metadata__");  // with the checksum
  write_text(path("model/model.safetensors"),
             with_header(header.dump(), std::string(weights.size() - sizeof length - length, -1)));
  expect_refused(generate(), 1,
                 "the model's parameters or the session that was loaded are damaged");
  for (const Arguments& text_or_task :
       {Arguments{"--data", path("text.txt")}, {"--task", "associative-retrieval"}})
    expect_refused(tessera(joined({"eval", "--model", path("model")}, text_or_task)), 1,
                   "the loss is not a finite number: the model's parameters are damaged");
  expect_refused(
      tessera({"export", "--model", path("model"), "--weights", "int8", "--out", path("int8")}), 3,
      "model.safetensors: tensor 'embedding' contains a number that is not finite");
  EXPECT_FALSE(std::filesystem::exists(path("int8")));
}

TEST_F(ModelFiles, TokenizersOfOtherModels) {
  done({"tokenizer", "train", path("text.txt"), "--vocabulary", "300", "--out",
        path("model/tokenizer.json")});
  expect_refused(generate(), 3, "has 300 tokens, the model beside it only 257");
  expect_refused(tessera({"eval", "--model", path("model"), "--data", path("text.txt")}), 3,
                 "has 300 tokens");
  write_text(path("model/tokenizer.json"), "{\"model\": 3}");
  expect_refused(generate(), 3, "tokenizer.json");
}

TEST_F(ModelFiles, ExportAndImportGiveTheSameModel) {
  const auto export_of = [&](const std::string& model) {
    return tessera(
        {"export", "--model", model, "--to", "nanomosaics", "--out", path("w.safetensors")});
  };
  expect_refused(export_of(path("model")), 2,
                 "parameterisation");  // the paper's has no names there
  done(train_arguments("run"));
  const std::string model = path("run/model");
  expect_refused(tessera({"export", "--model", model, "--to", "nanomosaics", "--out",
                          model + "/./model.safetensors"}),
                 2, "--out is " + model + "/./model.safetensors, which this command reads");
  const Outcome out = export_of(model);
  ASSERT_EQ(out.status, 0) << out.err;
  done({"import", "--from", "nanomosaics", "--weights", path("w.safetensors"), "--tokenizer",
        model + "/tokenizer.json", "--out", path("back")});
  expect_refused(tessera({"import", "--from", "nanomosaics", "--weights", path("w.safetensors"),
                          "--out", path("back")}),
                 2, "holds a model already");
  EXPECT_EQ(tessera({"generate", "--model", path("back"), "--max-tokens", "20"}).out,
            tessera({"generate", "--model", model, "--max-tokens", "20"}).out);
}

TEST_F(ModelFiles, WeightsOfFewerBits) {
  const auto export_of = [&](const std::string& weights, const std::string& out) {
    return tessera({"export", "--model", path("model"), "--weights", weights, "--out", path(out)});
  };
  for (const std::string weights : {"bf16", "int8"}) {
    const Outcome out = export_of(weights, weights);
    ASSERT_EQ(out.status, 0) << out.err;
    EXPECT_THAT(out.out, HasSubstr("weights in " + weights));
    EXPECT_LT(std::filesystem::file_size(path(weights + "/model.safetensors")),
              std::filesystem::file_size(path("model/model.safetensors")));
    // Rounding at load and in the file are the same.
    const auto text = [](const Arguments& more) {
      return done(joined({"generate", "--max-tokens", "20", "--temperature", "0"}, more));
    };
    EXPECT_EQ(text({"--model", path(weights)}),
              text({"--model", path("model"), "--weights", weights}));
    const auto loss = [&](const Arguments& more) {
      const std::string out = done(joined({"eval", "--data", path("text.txt"), "--json"}, more));
      return json::parse(out)["loss"].get<double>();
    };
    EXPECT_NEAR(loss({"--model", path(weights)}), loss({"--model", path("model")}), 0.01);
    // Verbs that need floats read them.
    EXPECT_EQ(forward(path(weights)).status, 0);
    done({"inspect", "--model", path(weights), "--text", "a b", "--json"});
    write_text(path("more.toml"), "[data]\ntext = \"" + path("text.txt") +
                                      "\"\n[model]\nfrom = \"" + path(weights) +
                                      "\"\n[train]\nsteps = 1\n");
    expect_refused(tessera({"train", path("more.toml"), "--out", path("more")}), 3,
                   "keeps its weights in " + weights + ", which are only read");
  }
  expect_refused(export_of("int8", "int8"), 2, "exists; name a directory that does not");
  expect_refused(export_of("int4", "four"), 2, "expected one of: float32, bf16, int8");
  done({"export", "--model", path("int8"), "--weights", "float32", "--out", path("floats")});
}

TEST_F(ModelFiles, ImportRefusesWithTheReason) {
  const auto import = [&](const std::string& kind, const std::string& weights) {
    return tessera({"import", "--from", kind, "--weights", weights, "--out", path("imported")});
  };
  expect_refused(import("nanogtp", path("x.safetensors")), 2, "expected one of");
  expect_refused(import("nanogpt", path("none.safetensors")), 1, "none.safetensors: cannot open");
  expect_refused(import("nanogpt", path("x.safetensors")), 3, "x.safetensors");
  expect_refused(import("nanomosaics", path("text.txt")), 3, "text.txt");
  EXPECT_FALSE(std::filesystem::exists(path("imported/model.safetensors")));
  expect_refused(
      tessera({"export", "--model", path("model"), "--out", path("w")}), 2,
      "was not imported from another format; memory_mosaic can be written as: nanomosaics");
}

TEST_F(ModelFiles, ForwardWritesOutputsAndGradients) {
  const Outcome run = forward(path("model"), {"--gradients"});
  ASSERT_EQ(run.status, 0);
  EXPECT_THAT(run.out, HasSubstr(path("y.safetensors") + ": logits F32 [2, 3, 257]\n"));
  const auto file = safetensors::File::open(path("y.safetensors"));
  EXPECT_EQ(file.at("logits").shape, (std::vector<int64_t>{2, 3, 257}));
  EXPECT_EQ(file.at("loss").shape, (std::vector<int64_t>{1}));
  const auto weights = safetensors::File::open(path("model/model.safetensors"));
  for (const auto& [name, tensor] : weights.tensors())
    EXPECT_EQ(file.at("grad." + name).shape, tensor.shape);
}

TEST_F(ModelFiles, NoVerbWritesOverWhatItReads) {
  const std::string model = path("model"), weights = model + "/model.safetensors",
                    text = path("text.txt");
  const std::string before = read_file(weights), words = read_file(text);
  std::filesystem::create_directory(path("bare"));
  std::filesystem::copy(weights, path("bare"));
  for (const Arguments& command : {
           Arguments{"forward", "--model", model, "--input", path("x.safetensors"), "--output",
                     weights},
           Arguments{"eval", "--model", model, "--data", text, "--per-position", text},
           Arguments{"inspect", "--model", model, "--file", text, "--page", text},
           Arguments{"import", "--from", "nanomosaics", "--weights", path("bare/model.safetensors"),
                     "--out", path("bare")},
       })
    expect_refused(tessera(command), 2, "which this command reads");
  EXPECT_EQ(read_file(weights), before);
  EXPECT_EQ(read_file(path("bare/model.safetensors")), before);
  EXPECT_EQ(read_file(text), words);
}

TEST_F(ModelFiles, ForwardRefusesWithTheReason) {
  expect_refused(forward(path("model"), {"--names", "theirs"}), 2, "expected one of: own, source");
  expect_refused(forward(path("model"), {"--names", "source"}), 2, "was not imported");
  const std::string input = read_file(path("x.safetensors"));
  expect_refused(tessera({"forward", "--model", path("model"), "--input", path("x.safetensors"),
                          "--output", path("x.safetensors")}),
                 2, "x.safetensors, which this command reads");
  EXPECT_EQ(read_file(path("x.safetensors")), input);
  write_tokens({1, 2, 3, 257}, {1, 2, 3, 4});
  expect_refused(forward(path("model")), 3, "tensor 'idx' holds 257, expected 0 to 256");
  write_tokens({1, 2, 3, 4}, {1, 2, 3, 4, 5, 6});
  expect_refused(forward(path("model")), 3, "targets");
  write_text(path("x.safetensors"), "no tensors");
  expect_refused(forward(path("model")), 3, "x.safetensors");
  EXPECT_FALSE(std::filesystem::exists(path("y.safetensors")));
}

// ---- the reference implementations ----

TEST_F(Workplace, ImportedModelsKeepTheNamesOfTheirSource) {
  const auto names_of = [](const std::string& file) {
    std::set<std::string> names;
    const auto opened = safetensors::File::open(file);
    for (const auto& [name, tensor] : opened.tensors()) names.insert(name);
    return names;
  };
  const std::string weights = test::golden_file("gpt_tiny.weights.safetensors");
  const std::string output = test::golden_file("gpt_tiny.expected.safetensors");
  done({"import", "--from", "nanogpt", "--weights", weights, "--out", path("model")});
  done({"forward", "--model", path("model"), "--input", output, "--output", path("y.safetensors"),
        "--gradients", "--names", "source"});
  std::set<std::string> names = names_of(path("y.safetensors"));
  names.insert({"idx", "targets"});
  EXPECT_EQ(names, names_of(output));
  done({"export", "--model", path("model"), "--out", path("w.safetensors")});
  EXPECT_EQ(names_of(path("w.safetensors")), names_of(weights));
}

TEST_F(Workplace, ImportsAFolderOfHuggingFaceWithItsHeadsAndTokenizer) {
  const std::string weights = test::golden_file("gpt_tiny.weights.safetensors");  // of two heads
  done({"import", "--from", "nanogpt", "--weights", weights, "--out", path("gpt")});
  std::string config = read_file(path("gpt/config.json"));
  config.replace(config.find("exact"), 5, "tanh");  // as GPT-2 has it
  write_text(path("gpt/config.json"), config);
  std::filesystem::create_directories(path("hub"));
  done({"export", "--model", path("gpt"), "--to", "gpt2", "--out", path("hub/model.safetensors")});
  write_text(path("hub/config.json"), R"({"model_type": "gpt2", "n_head": 4, "n_positions": 12})");
  write_text(path("text.txt"), "abcdef");
  done({"tokenizer", "train", path("text.txt"), "--kind", "character", "--out",
        path("hub/tokenizer.json")});
  expect_refused(tessera({"generate", "--model", path("hub")}), 3,
                 "tessera import --from gpt2 --weights " + path("hub"));

  done({"import", "--from", "gpt2", "--weights", path("hub"), "--out", path("imported")});
  EXPECT_EQ(json::parse(read_file(path("imported/config.json")))["heads"], 4);
  done({"generate", "--model", path("imported"), "--prompt", "abc", "--max-tokens", "3"});

  for (const std::string other :
       {R"("activation_function": "relu")", R"("scale_attn_by_inverse_layer_idx": true)"}) {
    write_text(path("hub/config.json"), "{" + other + "}");
    expect_refused(
        tessera({"import", "--from", "gpt2", "--weights", path("hub"), "--out", path("other")}), 3,
        "hub/config.json: " + other.substr(1, other.find('"', 1) - 1) + " is ");
  }
}

}  // namespace
}  // namespace tessera::cli
