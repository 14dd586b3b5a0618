// Models as files: our own folders, the state dicts of others, and what is computed from them.

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/checkpoint/model_directory.h"
#include "tessera/infer/forward.h"
#include "tessera/model/gpt.h"
#include "tessera/model/memory_mosaic.h"
#include "tessera/model/parameter_shapes.h"
#include "tests/support/numerical_gradient.h"

namespace tessera {
namespace {

using config::Json;
using testing::HasSubstr;
namespace fs = std::filesystem;

/// A folder that goes when the test ends.
class WeightFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() /
              fmt::format("tessera_weights_{}_{}", getpid(),
                          testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  static std::shared_ptr<LanguageModel> model_of(const char* kind, const std::string& fields) {
    const auto model = make_language_model(
        kind, config::parse_json(
                  R"({"vocabulary": 13, "window": 10, "layers": 2, "heads": 2, "channels": 8,
                      "dropout": 0)" +
                      fields + "}",
                  "test"));
    at::NoGradGuard no_grad;
    for (auto& parameter : model->parameters()) parameter.add_(at::randn_like(parameter));
    return model;
  }

  static void expect_same(const LanguageModel& actual, const LanguageModel& expected) {
    const auto ours = actual.named_parameters(), theirs = expected.named_parameters();
    ASSERT_EQ(ours.size(), theirs.size());
    for (const auto& item : theirs) EXPECT_TRUE(ours[item.key()].equal(item.value())) << item.key();
  }

  /// Runs `action`, which must throw a DataError with these words.
  template <typename Action>
  static void expect_data_error(Action&& action, const std::vector<std::string>& words) {
    try {
      action();
      ADD_FAILURE() << "nothing was thrown; expected: " << words.front();
    } catch (const DataError& error) {
      for (const auto& word : words) EXPECT_THAT(error.what(), HasSubstr(word));
    }
  }

  /// Saves a model, changes its config.json, and returns the folder.
  fs::path changed_config(const LanguageModel& model, const std::string& key, const Json& value) {
    save_model(folder_ / "changed", model);
    Json json = config::read_json(folder_ / "changed/config.json");
    json[key] = value;
    write_file(folder_ / "changed/config.json", json.dump());
    return folder_ / "changed";
  }

  fs::path folder_;
};

TEST_F(WeightFiles, AModelFolderHoldsEveryBit) {
  for (const auto& [kind, fields] :
       {std::pair{"memory_mosaic", R"(, "persistent_slots": 3, "persistent_count": 2)"},
        std::pair{"memory_mosaic", R"(, "parameterisation": "nano", "bias": true)"},
        std::pair{"gpt", R"(, "positions": "learned", "gelu": "tanh", "bias": true)"},
        std::pair{"gpt", R"(, "positions": "alibi", "precision": "bf16")"}}) {
    const auto model = model_of(kind, fields);
    save_model(folder_ / "model", *model);
    const auto loaded = load_model(folder_ / "model");
    EXPECT_EQ(loaded->kind(), kind);
    EXPECT_EQ(loaded->hyper_parameters(), model->hyper_parameters());
    expect_same(*loaded, *model);
    EXPECT_FALSE(source_of_model(folder_ / "model").has_value());
  }
}

TEST_F(WeightFiles, AFolderRemembersWhereItsModelCameFrom) {
  const auto model = model_of("gpt", "");
  save_model(folder_, *model, ForeignFormat{ForeignKind::kNanoGpt, "_orig_mod."});
  EXPECT_EQ(source_of_model(folder_)->kind, ForeignKind::kNanoGpt);
  EXPECT_EQ(source_of_model(folder_)->prefix, "_orig_mod.");
  expect_same(*load_model(folder_), *model);
}

TEST_F(WeightFiles, AConfigurationThatFitsNoTensorsIsRefusedBeforeMemoryIsTaken) {
  const auto model = model_of("memory_mosaic", "");
  const auto load = [&](const std::string& key, const Json& value) {
    return [this, &model, key, value] { load_model(changed_config(*model, key, value)); };
  };
  expect_data_error(load("channels", 1000000000000), {"config.json", "model.channels"});
  expect_data_error(load("vocabulary", 1000000000),
                    {"model.safetensors", "'embedding'", "[13, 8]", "[1000000000, 8]"});
  expect_data_error(load("layers", 4096), {"'blocks.2.context_norm.weight' is missing", "more"});
  expect_data_error(load("layers", 1), {"'blocks.1.context.key.leak'", "unexpected"});
  expect_data_error(load("persistent_slots", 900000000), {"[1, 2, 900000000, 4]"});
  expect_data_error(load("heads", 3), {"model.heads is 3"});
  expect_data_error(load("heads", "two"), {"model.heads is \"two\""});
  expect_data_error(load("chanels", 8), {"unknown key 'chanels'", "did you mean 'channels'"});
  expect_data_error(load("kind", "memory_mosaics"), {"did you mean 'memory_mosaic'"});
  expect_data_error(load("kind", 3), {"kind is 3"});
  expect_data_error(load("format", 2), {"format is 2"});
  expect_data_error(load("source", "nanogpt"), {"source is"});
}

TEST_F(WeightFiles, DamagedFilesAreRefused) {
  save_model(folder_, *model_of("gpt", ""));
  const std::string weights = read_file(folder_ / "model.safetensors");
  for (size_t length : {size_t{0}, size_t{7}, size_t{100}, weights.size() - 1}) {
    write_file(folder_ / "model.safetensors", weights.substr(0, length));
    expect_data_error([&] { load_model(folder_); }, {"model.safetensors"});
  }
  write_file(folder_ / "model.safetensors", weights);
  for (const char* text : {"", "{", "[1]", "null", R"({"kind": "gpt"})"}) {
    write_file(folder_ / "config.json", text);
    expect_data_error([&] { load_model(folder_); }, {"config.json"});
  }
  EXPECT_THROW(load_model(folder_ / "nowhere"), DataError);
}

TEST_F(WeightFiles, UnknownKindsAndKeysAreUsageErrors) {
  EXPECT_THROW(make_language_model("gtp", Json::object()), UsageError);
  EXPECT_THROW(make_language_model("gpt", {{"layer", 3}}), UsageError);
  EXPECT_THROW(make_language_model("gpt", {{"layers", 0}}), UsageError);
}

struct Exported {
  ForeignKind kind;
  const char* own_kind;
  const char* fields;
};
const Exported kExported[] = {
    {ForeignKind::kNanoMosaics, "memory_mosaic",
     R"(, "parameterisation": "nano", "bias": true, "persistent_slots": 3, "persistent_count": 2)"},
    {ForeignKind::kMemoryMosaics, "memory_mosaic", R"(, "persistent_slots": 3,
       "persistent_count": 2, "bias": true)"},
    {ForeignKind::kMemoryMosaicsEft, "memory_mosaic", ""},
    {ForeignKind::kNanoGpt, "gpt", R"(, "gelu": "exact")"},
    {ForeignKind::kGpt2, "gpt", R"(, "gelu": "tanh", "bias": true)"},
};

TEST_F(WeightFiles, ExportThenImportIsTheSameModel) {
  for (const auto& [kind, own_kind, fields] : kExported)
    for (const char* prefix : {"", "transformer.", "_orig_mod."}) {
      const auto model = model_of(own_kind, fields);
      export_weights({kind, prefix}, *model, folder_ / "weights.safetensors");
      const auto [loaded, format] = import_weights(
          kind == ForeignKind::kMemoryMosaicsEft ? ForeignKind::kMemoryMosaics : kind,
          folder_ / "weights.safetensors");
      EXPECT_EQ(format.kind, kind);
      EXPECT_EQ(format.prefix, prefix);
      auto expected = model->hyper_parameters();
      if (expected.contains("persistent_slots"))
        expected["persistent_slots"] =
            dynamic_cast<const MemoryMosaic&>(*model).configuration().slots();
      EXPECT_EQ(loaded->hyper_parameters(), expected);
      expect_same(*loaded, *model);
    }
}

TEST_F(WeightFiles, SizesAreReadFromShapesWhereMetadataIsAbsent) {
  for (const auto& [kind, own_kind, fields] : kExported) {
    const auto model = model_of(own_kind, fields);
    export_weights({kind, ""}, *model, folder_ / "weights.safetensors");
    const auto file = TensorFile::load(folder_ / "weights.safetensors");
    save_tensors(folder_ / "bare.safetensors", {file.tensors.begin(), file.tensors.end()});
    const auto loaded =
        import_weights(kind, folder_ / "bare.safetensors", {{"heads", 2}, {"window", 10}}).model;
    expect_same(*loaded, *model);
    const at::Tensor tokens = at::arange(10).unsqueeze(0);
    EXPECT_TRUE(loaded->hidden(tokens).equal(model->hidden(tokens)));
  }
}

TEST_F(WeightFiles, ForeignNamesAndShapesAreThePublishedOnes) {
  const auto mosaic = model_of("memory_mosaic", R"(, "persistent_slots": 3)");
  export_weights({ForeignKind::kMemoryMosaics, ""}, *mosaic, folder_ / "library.safetensors");
  const auto library = TensorFile::load(folder_ / "library.safetensors");
  EXPECT_EQ(library.tensors.size(), 35u);  // 16 in each block, emb, head, ln_out
  library.at("emb.weight", {13, 8});
  library.at("head.weight", {13, 8});
  library.at("blocks.1.attn.k_featurizer.conv.weight", {8, 8, 1});
  library.at("blocks.1.attn.leaky_key_beta", {2});
  library.at("blocks.0.pmem.pmem.M_k0", {1, 2, 3, 4});
  library.at("ln_out.weight", {8});
  const auto gpt = model_of("gpt", R"(, "gelu": "tanh", "bias": true)");
  export_weights({ForeignKind::kGpt2, "transformer."}, *gpt, folder_ / "gpt2.safetensors");
  const auto gpt2 = TensorFile::load(folder_ / "gpt2.safetensors");
  gpt2.at("lm_head.weight", {13, 8});
  gpt2.at("transformer.h.0.attn.c_attn.bias", {24});
  EXPECT_TRUE(gpt2.at("transformer.h.1.mlp.c_fc.weight", {8, 32})
                  .equal(dynamic_cast<Gpt&>(*gpt).block(1)->expand->weight.t()));
}

TEST_F(WeightFiles, WrongTensorsAreNamedWithBothShapes) {
  const auto model = model_of("gpt", R"(, "gelu": "tanh", "bias": true)");
  const fs::path path = folder_ / "weights.safetensors";
  export_weights({ForeignKind::kGpt2, ""}, *model, path);
  const auto file = TensorFile::load(path);
  const auto import_changed = [&](auto change) {
    return [this, &file, change] {
      auto tensors = file.tensors;
      change(tensors);
      save_tensors(folder_ / "wrong.safetensors", {tensors.begin(), tensors.end()}, file.metadata);
      import_weights(ForeignKind::kGpt2, folder_ / "wrong.safetensors");
    };
  };
  expect_data_error(import_changed([](auto& tensors) { tensors.erase("h.1.ln_2.bias"); }),
                    {"'h.1.ln_2.bias' is missing", "[8]"});
  expect_data_error(
      import_changed([](auto& tensors) {
        tensors["h.1.mlp.c_fc.weight"] = at::zeros({32, 8});
        tensors["h.0.extra"] = at::zeros({3});
      }),
      {"'h.1.mlp.c_fc.weight' has shape [32, 8], expected [8, 32]", "'h.0.extra' of shape [3]"});
  expect_data_error(import_changed([](auto& tensors) {
                      tensors["lm_head.weight"] = tensors["lm_head.weight"] + 1;
                    }),
                    {"'lm_head.weight' differs from 'wte.weight'"});
  expect_data_error(import_changed([](auto& tensors) {
                      tensors["wpe.weight"] = tensors["wpe.weight"].to(at::kInt);
                    }),
                    {"'wpe.weight' has type I32"});
  expect_data_error([&] { import_weights(ForeignKind::kNanoMosaics, path); },
                    {"mosaic.wte.weight", "missing"});
  EXPECT_NO_THROW(import_changed([](auto& tensors) {
    tensors["h.0.attn.bias"] = at::ones({1, 1, 10, 10}, at::kBool);
    tensors["h.0.attn.masked_bias"] = at::zeros({});
    tensors.erase("lm_head.weight");
    for (auto& [name, tensor] : tensors)
      if (tensor.is_floating_point()) tensor = tensor.to(at::kHalf);
  })());
}

TEST_F(WeightFiles, AbsurdMetadataIsRefused) {
  const fs::path path = folder_ / "weights.safetensors";
  export_weights({ForeignKind::kNanoGpt, ""}, *model_of("gpt", ""), path);
  const auto file = TensorFile::load(path);
  for (const auto& [key, value] :
       {std::pair{"n_embd", "1000000000000"}, std::pair{"n_layer", "4000"},
        std::pair{"vocab_size", "many"}, std::pair{"n_head", "0"},
        std::pair{"block_size", "99999999999999999999999"}}) {
    auto metadata = file.metadata;
    metadata[key] = value;
    save_tensors(folder_ / "absurd.safetensors", {file.tensors.begin(), file.tensors.end()},
                 metadata);
    expect_data_error(
        [&] { import_weights(ForeignKind::kNanoGpt, folder_ / "absurd.safetensors"); }, {"absurd"});
  }
  EXPECT_THROW(import_weights(ForeignKind::kNanoGpt, path, {{"head", 2}}), UsageError);
}

TEST_F(WeightFiles, AFormatRefusesModelsItCannotHold) {
  const fs::path path = folder_ / "weights.safetensors";
  const auto mosaic = model_of("memory_mosaic", ""), gpt = model_of("gpt", "");
  const auto rotary = model_of("gpt", R"(, "positions": "rotary")");
  EXPECT_THROW(export_weights({ForeignKind::kNanoMosaics, ""}, *mosaic, path), UsageError);
  EXPECT_THROW(export_weights({ForeignKind::kNanoGpt, ""}, *mosaic, path), UsageError);
  EXPECT_THROW(export_weights({ForeignKind::kMemoryMosaics, ""}, *gpt, path), UsageError);
  EXPECT_THROW(export_weights({ForeignKind::kGpt2, ""}, *gpt, path), UsageError);
  EXPECT_THROW(export_weights({ForeignKind::kNanoGpt, ""}, *rotary, path), UsageError);
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(WeightFiles, ForwardGivesLogitsLossAndGradients) {
  const auto model = model_of("gpt", "");
  save_model(folder_ / "model", *model, ForeignFormat{ForeignKind::kNanoGpt, ""});
  const at::Tensor idx = at::tensor({1, 2, 3, 4, 5, 12}, at::kLong).view({2, 3});
  const at::Tensor targets = at::tensor({2, 3, -1, 5, 12, 0}, at::kLong).view({2, 3});
  save_tensors(folder_ / "in.safetensors", {{"idx", idx}, {"targets", targets.to(at::kInt)}});
  run_forward(folder_ / "model", folder_ / "in.safetensors", folder_ / "out.safetensors",
              {/*gradients=*/true, ParameterNames::kSource});
  const auto output = TensorFile::load(folder_ / "out.safetensors");
  {
    at::NoGradGuard no_grad;  // as the command does: few rows round otherwise with gradients
    EXPECT_TRUE(output.at("logits", {2, 3, 13}).equal(model->logits(model->hidden(idx))));
  }
  EXPECT_EQ(output.at("loss", {1}).item<float>(), model->loss(idx, targets).item<float>());
  output.at("grad.transformer.h.1.attn.c_attn.weight", {24, 8});
  EXPECT_FALSE(output.tensors.count("grad.lm_head.weight"));
  EXPECT_EQ(output.tensors.size(), 2 + model->named_parameters().size());
}

TEST_F(WeightFiles, ForwardRefusesWrongInputs) {
  const auto model = model_of("gpt", "");
  const auto run = [&](const NamedTensors& tensors, bool gradients) {
    return [&model, tensors, gradients] {
      run_forward(*model, {"in", {tensors.begin(), tensors.end()}, {}}, gradients);
    };
  };
  const at::Tensor idx = at::ones({1, 3}, at::kLong);
  expect_data_error(run({}, false), {"no tensor 'idx'"});
  expect_data_error(run({{"idx", idx[0]}}, false), {"'idx' has shape [3]"});
  expect_data_error(run({{"idx", idx.to(at::kFloat)}}, false), {"'idx' has type"});
  expect_data_error(run({{"idx", idx + 12}}, false), {"'idx' holds 13, expected 0 to 12"});
  expect_data_error(run({{"idx", idx}, {"targets", idx - 3}}, false), {"'targets' holds -2"});
  expect_data_error(run({{"idx", idx}, {"targets", idx.t()}}, false), {"'targets' has shape"});
  expect_data_error(run({{"idx", idx}}, true), {"'targets', which gradients need"});
  expect_data_error(run({{"idx", at::ones({1, 11}, at::kLong)}}, false), {"11 tokens"});
  expect_data_error(run({{"idx", at::ones({1, 0}, at::kLong)}}, false), {"empty"});
  save_model(folder_, *model);
  save_tensors(folder_ / "in.safetensors", {{"idx", idx}});
  EXPECT_THROW(run_forward(folder_, folder_ / "in.safetensors", folder_ / "out.safetensors",
                           {false, ParameterNames::kSource}),
               UsageError);
  EXPECT_FALSE(fs::exists(folder_ / "out.safetensors"));
}

/// What the authors' code computed, to 1e-4 of each tensor's largest absolute value.
class Golden : public testing::TestWithParam<std::pair<const char*, ForeignKind>> {};

TEST_P(Golden, OutputsAndGradientsAreThoseOfTheAuthorsCode) {
  const auto& [name, kind] = GetParam();
  const fs::path golden = TESSERA_GOLDEN_FOLDER;
  if (!fs::exists(golden / fmt::format("{}.weights.safetensors", name)))
    GTEST_SKIP() << "no golden tensors in " << golden;
  const auto [model, format] =
      import_weights(kind, golden / fmt::format("{}.weights.safetensors", name));
  const auto expected = TensorFile::load(golden / fmt::format("{}.expected.safetensors", name));
  const NamedTensors actual = run_forward(*model, expected, /*gradients=*/true, format);
  EXPECT_EQ(actual.size() + 2, expected.tensors.size());  // the two inputs
  double worst = 0;
  for (const auto& [tensor, values] : actual) {
    const double error = test::relative_error(values, expected.at(tensor, values.sizes().vec()));
    EXPECT_LT(error, 1e-4) << tensor;
    worst = std::max(worst, error);
  }
  RecordProperty("worst_relative_error", fmt::format("{:.2g}", worst));
  fmt::print("{}: {} tensors, worst relative error {:.2g}\n", name, actual.size(), worst);
}

INSTANTIATE_TEST_SUITE_P(Pairs, Golden,
                         testing::Values(std::pair{"mosaic_a", ForeignKind::kNanoMosaics},
                                         std::pair{"mosaic_b", ForeignKind::kNanoMosaics},
                                         std::pair{"gpt_a", ForeignKind::kNanoGpt}),
                         [](const auto& info) { return std::string(info.param.first); });

}  // namespace
}  // namespace tessera
