// What the library does with networks that store no pairs.

#include "lab/baseline/lstm.h"
#include "tessera/checkpoint/model_directory.h"
#include "tessera/infer/inspection.h"
#include "tessera/ops/number_formats.h"
#include "tests/checkpoint/weight_files.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using ops::WeightType;

class BaselineFiles : public test::WeightFiles {};

TEST_F(BaselineFiles, AFolderHoldsThem) {
  for (const auto& [kind, fields] :
       {std::pair{"lstm", ""}, std::pair{"retnet", R"(, "heads": 2, "bias": true)"},
        std::pair{"gated_deltanet", R"(, "heads": 2, "bias": true)"}}) {
    const std::string sizes = R"({"vocabulary": 13, "layers": 2, "channels": 8)";
    const auto model = make_language_model(kind, config::parse_json(sizes + fields + "}", kind), 3);
    save_model(folder_ / kind, *model);
    const auto loaded = load_model(folder_ / kind);
    EXPECT_EQ(loaded->kind(), kind);
    EXPECT_EQ(loaded->hyper_parameters(), model->hyper_parameters());
    expect_same(*loaded, *model);
    const at::Tensor tokens = at::arange(10).unsqueeze(0);
    EXPECT_TRUE(loaded->hidden(tokens).equal(model->hidden(tokens)));
  }
}

TEST_F(BaselineFiles, AFolderHoldsAQuestionAnswerer) {
  const auto model = model_kind("question_answerer")
                         .make({{"vocabulary", 9}, {"words", 4}, {"width", 6}}, 3, at::kCPU);
  save_model(folder_, *model);
  const auto loaded = load_sequence_model(folder_);
  EXPECT_EQ(loaded->kind(), "question_answerer");
  EXPECT_EQ(loaded->hyper_parameters(), model->hyper_parameters());
  expect_same(*loaded, *model);
  const at::Tensor sentences = at::randint(9, {2, 5, 4}, at::kLong);
  EXPECT_TRUE(loaded->forward(sentences).equal(model->forward(sentences)));
}

TEST_F(BaselineFiles, RecurrentBlocksAreReadAndKeptInFewerBits) {
  for (const char* kind : {"retnet", "gated_deltanet"}) {
    save_model(folder_ / "floats", *model_of(kind, ""));
    for (const WeightType type : {WeightType::kBFloat16, WeightType::kInt8}) {
      const auto fewer = load_to_read(folder_ / "floats", type);
      save_model(folder_ / "fewer", *fewer);
      EXPECT_EQ(weights_of_model(folder_ / "fewer"), type);
      expect_same(*load_to_read(folder_ / "fewer"), *fewer);
    }
  }
}

TEST_F(BaselineFiles, AnLstmIsReadInFloatsAlone) {
  const Lstm lstm({.vocabulary = 13, .window = 10, .layers = 1, .channels = 8});
  save_model(folder_, lstm);
  EXPECT_THAT(test::message_of<UsageError>([&] { load_to_read(folder_, WeightType::kInt8); }),
              testing::HasSubstr("a model of kind 'lstm' is read in float32 alone"));
  EXPECT_EQ(load_to_read(folder_)->kind(), "lstm");
}

TEST_F(BaselineFiles, NoFormatOfAnotherProgramHoldsAnLstm) {
  const Lstm lstm({.vocabulary = 13, .window = 10, .layers = 1, .channels = 8});
  EXPECT_THROW(export_weights({"gpt2", ""}, lstm, folder_ / "weights.safetensors"), UsageError);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "weights.safetensors"));
}

TEST(BaselineInspection, RefusesAnLstm) {
  Lstm lstm({.vocabulary = 13, .window = 10, .layers = 1, .channels = 8});
  EXPECT_THROW(inspect(lstm, {3, 5}, 1), UsageError);
}

}  // namespace
}  // namespace tessera
