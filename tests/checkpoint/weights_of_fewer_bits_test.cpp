// Model directories whose matrices are kept in bfloat16 or 8 bits.

#include "tessera/model/language_model.h"

#include <ATen/core/grad_mode.h>
#include <c10/core/DefaultDtype.h>

#include "tessera/model/model_kind.h"
#include "tessera/ops/weights.h"
#include "tests/checkpoint/weight_files.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using ops::WeightType;
using testing::HasSubstr;

class WeightsOfFewerBits : public test::WeightFiles {
 protected:
  std::string path(const std::string& name) const { return folder_ / name; }
  /// A model directory with parameters as training begins with them.
  void save(const std::string& name, const char* kind) const {
    save_model(path(name),
               *make_language_model(kind, config::parse_json(R"({"vocabulary": 13, "window": 10,
                                 "layers": 2, "heads": 2, "channels": 80})",
                                                             "test")));
  }
};

at::Tensor logits_of(LanguageModel& model) {
  at::NoGradGuard no_grad;
  return model.logits(model.hidden(at::arange(10, at::kLong).unsqueeze(0)));
}

TEST_F(WeightsOfFewerBits, AreReadAndKept) {
  for (const char* kind : {"memory_mosaic", "gpt"}) {
    save("floats", kind);
    const auto floats = load_model(path("floats"));
    for (const WeightType type : {WeightType::kBFloat16, WeightType::kInt8}) {
      const auto fewer = load_to_read(path("floats"), type);
      save_model(path("fewer"), *fewer);
      EXPECT_EQ(weights_of_model(path("fewer")), type);
      const auto again = load_to_read(path("fewer"));
      const auto widened = load_model(path("fewer"));
      const auto back = load_to_read(path("fewer"), WeightType::kFloat32);
      const auto matrices = floats->weight_matrices();
      for (const auto& item : floats->named_parameters()) {
        const std::string& name = item.key();
        const bool matrix = std::ranges::find(matrices, name) != matrices.end();
        const at::Tensor expected =
            matrix ? ops::stored_as(item.value().detach(), type) : item.value();
        EXPECT_TRUE(fewer->named_parameters()[name].equal(expected)) << kind << " " << name;
        EXPECT_TRUE(again->named_parameters()[name].equal(expected)) << kind << " " << name;
        const at::Tensor as_floats =
            matrix ? ops::as_floats(expected, item.value().size(-1)) : expected;
        for (const auto& model : {widened, back})
          EXPECT_TRUE(model->named_parameters()[name].equal(as_floats)) << kind << " " << name;
      }
      // Rounding what is multiplied is the only other difference: vectors to whole numbers, what
      // reads slots to bfloat16.
      const double rounding = type == WeightType::kInt8 ? 0.1 : 1e-3;
      EXPECT_LT((logits_of(*again) - logits_of(*widened)).norm().item<double>(),
                rounding * logits_of(*widened).norm().item<double>())
          << kind;
    }
  }
}

TEST_F(WeightsOfFewerBits, AreReadAlsoWhereNewTensorsAreDoubles) {
  for (const char* kind : {"memory_mosaic", "memory_mosaic_v2", "gpt"}) {
    save("floats", kind);
    for (const WeightType type : {WeightType::kFloat32, WeightType::kBFloat16, WeightType::kInt8}) {
      const at::Tensor expected = logits_of(*load_to_read(path("floats"), type));
      c10::set_default_dtype(caffe2::TypeMeta::Make<double>());
      const auto model = load_to_read(path("floats"), type);
      const at::Tensor logits = logits_of(*model);
      const at::Tensor tokens = at::arange(10, at::kLong).unsqueeze(0);
      SequenceOutput first = model->read(tokens.narrow(1, 0, 6), model->empty_state());
      const SequenceOutput last = model->read(tokens.narrow(1, 6, 4), std::move(first.state));
      const at::Tensor read = model->logits(at::cat({first.outputs, last.outputs}, 1));
      c10::set_default_dtype(caffe2::TypeMeta::Make<float>());
      EXPECT_TRUE(logits.equal(expected)) << kind;
      EXPECT_LT((read - expected).abs().max().item<double>(), 1e-2) << kind;
    }
  }
}

TEST_F(WeightsOfFewerBits, OnlyMatricesAreKeptInThem) {
  save("floats", "gpt");
  const auto model = load_to_read(path("floats"), WeightType::kInt8);
  const auto parameters = model->named_parameters();
  EXPECT_EQ(ops::weight_type(parameters["embedding"]), WeightType::kInt8);
  EXPECT_EQ(ops::weight_type(parameters["position_embedding"]), WeightType::kFloat32);
  EXPECT_EQ(ops::weight_type(parameters["norm.weight"]), WeightType::kFloat32);
}

TEST_F(WeightsOfFewerBits, OfEightAreNotExported) {
  save("floats", "gpt");
  const auto model = load_to_read(path("floats"), WeightType::kInt8);
  EXPECT_THAT(test::message_of<UsageError>([&] {
                export_weights({"nanogpt", ""}, *model, path("nanogpt.safetensors"));
              }),
              HasSubstr("int8"));
  EXPECT_FALSE(std::filesystem::exists(path("nanogpt.safetensors")));
}

TEST_F(WeightsOfFewerBits, RefusesDamagedFiles) {
  save("floats", "gpt");
  save_model(path("good"), *load_to_read(path("floats"), WeightType::kInt8));
  TensorFile good = TensorFile::load(path("good/model.safetensors"));
  const auto refusal = [&](const std::string& name, const std::optional<at::Tensor>& tensor) {
    auto tensors = good.tensors;
    tensors.erase(name);
    if (tensor) tensors[name] = *tensor;
    save_tensors(path("good/model.safetensors"), NamedTensors(tensors.begin(), tensors.end()));
    return test::message_of<DataError>([&] { load_to_read(path("good")); });
  };
  const at::Tensor values = good.tensors.at("embedding");
  const at::Tensor scales = good.tensors.at("embedding.scales");
  EXPECT_THAT(refusal("embedding.scales", {}),
              HasSubstr("tensor 'embedding.scales' is missing, expected shape [13, 3]"));
  EXPECT_THAT(refusal("embedding.scales", scales.to(at::kFloat)),
              HasSubstr("tensor 'embedding.scales' has type F32, expected BF16"));
  EXPECT_THAT(refusal("embedding", values.to(at::kFloat)),
              HasSubstr("tensor 'embedding' has type F32, expected I8"));
  for (const double scale : {-1.0, double{NAN}, double{INFINITY}})
    EXPECT_THAT(refusal("embedding.scales", at::full_like(scales, scale)),
                HasSubstr("a number that is not a scale"));
  EXPECT_THAT(refusal("embedding", at::full_like(values, -128)), HasSubstr("-128"));
  write_file(path("good/config.json"), "{\"kind\": \"gpt\", \"format\": 1, \"weights\": \"int7\"}");
  EXPECT_THAT(test::message_of<DataError>([&] { load_to_read(path("good")); }),
              testing::AllOf(HasSubstr("int7"), HasSubstr("int8")));
}

}  // namespace
}  // namespace tessera
