// Models as files: our own folders and the state dicts of other programs.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tessera/base/error.h"
#include "tessera/model/gpt.h"
#include "tessera/model/memory_mosaic.h"
#include "tests/checkpoint/weight_files.h"

namespace tessera {
namespace {

using config::Json;
using test::WeightFiles;
namespace fs = std::filesystem;

std::shared_ptr<SequenceModel> small_stm(const std::string& fields) {
  const auto model = model_kind("stm").make(
      config::parse_json(R"({"inputs": 5, "outputs": 4, "slots": 3, "width": 6, "distilled": 7,
                             "readout": 5, "hidden": 8)" +
                             fields + "}",
                         "test"),
      /*seed=*/3, at::kCPU);
  test::shake(*model, 0.2);
  return model;
}

TEST_F(WeightFiles, AModelFolderHoldsEveryBit) {
  for (const auto& [kind, fields] :
       {std::pair{"memory_mosaic", R"(, "persistent_slots": 3, "persistent_count": 2)"},
        std::pair{"memory_mosaic", R"(, "parameterisation": "paper", "bias": true)"},
        std::pair{"gpt", R"(, "positions": "learned", "gelu": "tanh", "bias": true)"},
        std::pair{"gpt", R"(, "positions": "alibi", "precision": "bf16")"}}) {
    const auto model = model_of(kind, fields);
    save_model(folder_ / "model", *model);
    const auto loaded = load_model(folder_ / "model");
    EXPECT_EQ(loaded->kind(), kind);
    expect_same(*loaded, *model);
    EXPECT_FALSE(source_of_model(folder_ / "model").has_value());
  }
}

TEST_F(WeightFiles, AFolderHoldsATwoMemoryModel) {
  const auto model =
      small_stm(R"(, "variant": "paper", "alpha2": {"value": 0.25, "learned": false})");
  save_model(folder_, *model);
  const auto loaded = load_sequence_model(folder_);
  expect_same(*loaded, *model);
  const at::Tensor x = at::randn({2, 6, 5});
  EXPECT_TRUE(loaded->forward(x).equal(model->forward(x)));
  expect_data_error([&] { load_model(folder_); }, {"kind is 'stm', expected a language model"});
}

TEST_F(WeightFiles, AFolderRemembersWhereItsModelCameFrom) {
  const auto model = model_of("gpt", "");
  save_model(folder_, *model, ForeignFormat{"nanogpt", "_orig_mod."});
  EXPECT_EQ(source_of_model(folder_)->name, "nanogpt");
  EXPECT_EQ(source_of_model(folder_)->prefix, "_orig_mod.");
  expect_same(*load_model(folder_), *model);
}

TEST_F(WeightFiles, AConfigurationThatFitsNoTensorsIsRefusedBeforeMemoryIsTaken) {
  const auto model = model_of("memory_mosaic", "");
  const auto load = [&](const std::string& key, const Json& value) {
    return [this, &model, key, value] { load_model(changed_config(*model, key, value)); };
  };
  expect_data_error(load("channels", 1000000000000), {"config.json", "model.channels"});
  expect_data_error(load("vocabulary", 200000000),
                    {"model.safetensors", "'embedding'", "[13, 8]", "[200000000, 8]"});
  expect_data_error(load("layers", 4096), {"'blocks.2.context_norm.weight' is missing", "more"});
  expect_data_error(load("layers", 1), {"'blocks.1.context.key.leak'", "unexpected"});
  expect_data_error(load("persistent_slots", 200000000), {"[1, 2, 200000000, 4]"});
  expect_data_error(load("heads", 3), {"model.heads is 3"});
  expect_data_error(load("heads", 4097), {"model.heads is 4097", "4096"});
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
  const char* kind;
  const char* own_kind;
  const char* fields;
};
const Exported kExported[] = {
    {"nanomosaics", "memory_mosaic",
     R"(, "parameterisation": "nano", "bias": true, "persistent_slots": 3, "persistent_count": 2)"},
    {"memory-mosaics", "memory_mosaic", R"(, "parameterisation": "paper", "persistent_slots": 3,
       "persistent_count": 2, "bias": true)"},
    {"memory-mosaics-eft", "memory_mosaic", R"(, "parameterisation": "paper")"},
    {"nanogpt", "gpt", R"(, "gelu": "exact")"},
    {"gpt2", "gpt", R"(, "gelu": "tanh", "bias": true)"},
};

TEST_F(WeightFiles, ExportThenImportIsTheSameModel) {
  for (const auto& [kind, own_kind, fields] : kExported)
    for (const char* prefix : {"", "transformer.", "_orig_mod."}) {
      const auto model = model_of(own_kind, fields);
      export_weights({kind, prefix}, *model, folder_ / "weights.safetensors");
      const auto [loaded, format] =
          import_weights(kind == std::string("memory-mosaics-eft") ? "memory-mosaics" : kind,
                         folder_ / "weights.safetensors");
      EXPECT_EQ(format.name, kind);
      EXPECT_EQ(format.prefix, prefix);
      auto expected = model->hyper_parameters();
      if (expected.contains("persistent_slots"))
        expected["persistent_slots"] =
            dynamic_cast<const MemoryMosaic&>(*model).configuration().slots();
      EXPECT_EQ(loaded->hyper_parameters(), expected);
      test::expect_equal_parameters(*loaded, *model);
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
    test::expect_equal_parameters(*loaded, *model);
    const at::Tensor tokens = at::arange(10).unsqueeze(0);
    EXPECT_TRUE(loaded->forward(tokens).equal(model->forward(tokens)));
  }
}

TEST_F(WeightFiles, ForeignNamesAndShapesAreThePublishedOnes) {
  const auto mosaic =
      model_of("memory_mosaic", R"(, "parameterisation": "paper", "persistent_slots": 3)");
  export_weights({"memory-mosaics", ""}, *mosaic, folder_ / "library.safetensors");
  const auto library = TensorFile::load(folder_ / "library.safetensors");
  EXPECT_EQ(library.tensors.size(), 35u);  // 16 in each block, emb, head, ln_out
  library.at("emb.weight", {13, 8});
  library.at("head.weight", {13, 8});
  library.at("blocks.1.attn.k_featurizer.conv.weight", {8, 8, 1});
  library.at("blocks.1.attn.leaky_key_beta", {2});
  library.at("blocks.0.pmem.pmem.M_k0", {1, 2, 3, 4});
  library.at("ln_out.weight", {8});
  const auto gpt = model_of("gpt", R"(, "gelu": "tanh", "bias": true)");
  export_weights({"gpt2", "transformer."}, *gpt, folder_ / "gpt2.safetensors");
  const auto gpt2 = TensorFile::load(folder_ / "gpt2.safetensors");
  gpt2.at("lm_head.weight", {13, 8});
  gpt2.at("transformer.h.0.attn.c_attn.bias", {24});
  EXPECT_TRUE(gpt2.at("transformer.h.1.mlp.c_fc.weight", {8, 32})
                  .equal(dynamic_cast<Gpt&>(*gpt).block(1)->expand->weight.t()));
}

TEST_F(WeightFiles, WrongTensorsAreNamedWithBothShapes) {
  const auto model = model_of("gpt", R"(, "gelu": "tanh", "bias": true)");
  const fs::path path = folder_ / "weights.safetensors";
  export_weights({"gpt2", ""}, *model, path);
  const auto file = TensorFile::load(path);
  const auto after = [&](auto change) { return importing("gpt2", file, change); };
  expect_data_error(after([](TensorFile& file) { file.tensors.erase("h.1.ln_2.bias"); }),
                    {"'h.1.ln_2.bias' is missing", "[8]"});
  expect_data_error(
      after([](TensorFile& file) {
        file.tensors["h.1.mlp.c_fc.weight"] = at::zeros({32, 8});
        file.tensors["h.0.extra"] = at::zeros({3});
      }),
      {"'h.1.mlp.c_fc.weight' has shape [32, 8], expected [8, 32]", "'h.0.extra' of shape [3]"});
  expect_data_error(after([](TensorFile& file) {
                      file.tensors["lm_head.weight"] = file.tensors["lm_head.weight"] + 1;
                    }),
                    {"'lm_head.weight' differs from 'wte.weight'"});
  expect_data_error(after([](TensorFile& file) {
                      file.tensors["wpe.weight"] = file.tensors["wpe.weight"].to(at::kInt);
                    }),
                    {"'wpe.weight' has type I32"});
  expect_data_error([&] { import_weights("nanomosaics", path); }, {"mosaic.wte.weight", "missing"});
  EXPECT_NO_THROW(after([](TensorFile& file) {
    file.tensors["h.0.attn.bias"] = at::ones({1, 1, 10, 10}, at::kBool);
    file.tensors["h.0.attn.masked_bias"] = at::zeros({});
    file.tensors.erase("lm_head.weight");
    for (auto& [name, tensor] : file.tensors)
      if (tensor.is_floating_point()) tensor = tensor.to(at::kHalf);
  })());
}

TEST_F(WeightFiles, TensorsThatLackThePrefixOfTheOthersAreNamed) {
  export_weights({"gpt2", "transformer."}, *model_of("gpt", R"(, "gelu": "tanh", "bias": true)"),
                 folder_ / "weights.safetensors");
  const auto file = TensorFile::load(folder_ / "weights.safetensors");
  const auto renamed = [&](const char* from, const char* to) {
    return importing("gpt2", file, [from, to](TensorFile& file) {
      auto tensor = file.tensors.extract(from);
      tensor.key() = to;
      file.tensors.insert(std::move(tensor));
    });
  };
  expect_data_error(renamed("transformer.h.0.ln_1.weight", "h.0.ln_1.weight"),
                    {"tensor 'h.0.ln_1.weight'", "'transformer.h.0.ln_1.weight' is missing"});
  expect_data_error(renamed("lm_head.weight", "transformer.lm_head.weight"),
                    {"'transformer.lm_head.weight' of shape [13, 8] is unexpected"});
  expect_data_error(
      importing("gpt2", file, [](TensorFile& file) { file.tensors["ln_f.bias"] = at::zeros({8}); }),
      {"'ln_f.bias' of shape [8] is unexpected"});
}

TEST_F(WeightFiles, AbsurdMetadataIsRefused) {
  const fs::path path = folder_ / "weights.safetensors";
  export_weights({"nanogpt", ""}, *model_of("gpt", ""), path);
  const auto file = TensorFile::load(path);
  for (const auto& [key, value] :
       {std::pair{"n_embd", "1000000000000"}, std::pair{"n_layer", "4000"},
        std::pair{"vocab_size", "many"}, std::pair{"n_head", "0"},
        std::pair{"block_size", "99999999999999999999999"}})
    expect_data_error(
        importing("nanogpt", file,
                  [key = key, value = value](TensorFile& file) { file.metadata[key] = value; }),
        {"wrong.safetensors"});
  EXPECT_THROW(import_weights("nanogpt", path, {{"head", 2}}), UsageError);
}

TEST_F(WeightFiles, AFormatRefusesModelsItCannotHold) {
  const fs::path path = folder_ / "weights.safetensors";
  const auto mosaic = model_of("memory_mosaic", R"(, "parameterisation": "paper")");
  const auto gpt = model_of("gpt", "");
  const auto rotary = model_of("gpt", R"(, "positions": "rotary")");
  EXPECT_THROW(export_weights({"nanomosaics", ""}, *mosaic, path), UsageError);
  EXPECT_THROW(export_weights({"nanogpt", ""}, *mosaic, path), UsageError);
  EXPECT_THROW(export_weights({"memory-mosaics", ""}, *gpt, path), UsageError);
  EXPECT_THROW(export_weights({"gpt2", ""}, *gpt, path), UsageError);
  EXPECT_THROW(export_weights({"nanogpt", ""}, *rotary, path), UsageError);
  EXPECT_THROW(export_weights({"gpt-2", ""}, *gpt, path), UsageError);
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(WeightFiles, ATwoMemoryModelGoesThroughTheAuthorsFormat) {
  for (const char* fields : {"", R"(, "projection_hidden": 3)"})
    for (const char* prefix : {"", "module."}) {
      const auto model = small_stm(fields);
      export_weights({"sam", prefix}, *model, folder_ / "weights.safetensors");
      const auto file = TensorFile::load(folder_ / "weights.safetensors");
      EXPECT_EQ(file.tensors.size(), model->named_parameters().size());
      save_tensors(folder_ / "bare.safetensors", {file.tensors.begin(), file.tensors.end()});
      for (const char* name : {"weights.safetensors", "bare.safetensors"}) {
        const auto [loaded, format] = import_weights("sam", folder_ / name);
        EXPECT_EQ(format.name, "sam");
        EXPECT_EQ(format.prefix, prefix);
        expect_same(*loaded, *model);
      }
    }
}

TEST_F(WeightFiles, TheAuthorsFormatOfTwoMemoryModelsNamesEveryFault) {
  const fs::path path = folder_ / "weights.safetensors";
  EXPECT_THROW(export_weights({"sam", ""}, *small_stm(R"(, "variant": "paper")"), path),
               UsageError);
  EXPECT_THROW(export_weights({"sam", ""}, *small_stm(R"(, "gated": false)"), path), UsageError);
  EXPECT_THROW(export_weights({"sam", ""},
                              *small_stm(R"(, "alpha2": {"value": 1, "learned": false})"), path),
               UsageError);
  EXPECT_FALSE(fs::exists(path));
  export_weights({"sam", ""}, *small_stm(""), path);
  const auto file = TensorFile::load(path);
  expect_data_error(importing("sam", file,
                              [](TensorFile& file) {
                                file.metadata["slot_size"] = file.metadata["rel_size"] =
                                    "400000000";
                              }),
                    {"wrong.safetensors", "too large"});
  expect_data_error(
      importing("sam", file,
                [](TensorFile& file) {
                  file.tensors.erase("alpha20");  // a constant there, with a value it does not tell
                  file.tensors["qkv_projector.0.bias"] = at::zeros({5});
                  file.tensors["alpha11"] = at::zeros({1});  // of a second step
                }),
      {"'alpha20' is missing", "'qkv_projector.0.bias' has shape [5], expected [9]",
       "'alpha11' of shape [1]"});
}

}  // namespace
}  // namespace tessera
