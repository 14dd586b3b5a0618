#include "tessera/model/detail/embedded.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tessera/base/error.h"
#include "tests/model/model_checks.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using config::Json;
using test::message_of;
using testing::HasSubstr;

/// A two-memory model of vectors of 5 numbers behind a vocabulary of 7.
Json small_table() {
  return {{"vocabulary", 7},
          {"model",
           {{"kind", "stm"},
            {"inputs", 5},
            {"outputs", 3},
            {"slots", 2},
            {"width", 4},
            {"distilled", 3},
            {"readout", 3},
            {"hidden", 4}}}};
}

at::Tensor some_tokens() {
  return at::tensor({0, 6, 3, 3, 1, 2, 5, 4}, at::kLong).view({2, 4});
}

TEST(Embedded, GivesTheModelInsideTheRowsOfTheTable) {
  at::NoGradGuard no_grad;
  Embedded model(small_table(), 3);
  const at::Tensor tokens = some_tokens();
  const at::Tensor table = model.named_parameters()["embedding"];
  ASSERT_EQ(table.sizes(), at::IntArrayRef({7, 5}));
  at::Tensor vectors = at::empty({2, 4, 5});
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t t = 0; t < 4; ++t) vectors[b][t] = table[tokens[b][t].item<int64_t>()];
  EXPECT_TRUE(model.forward(tokens).equal(model.inner().forward(vectors)));
  EXPECT_TRUE(model.forward(tokens, {}, 3).equal(model.inner().forward(vectors, {}, 3)));
  EXPECT_EQ(model.parameter_count(), 7 * 5 + model.inner().parameter_count());
}

TEST(Embedded, ReadsInPiecesWhatItReadsAtOnce) {
  Embedded model(small_table(), 3);
  const at::Tensor tokens = some_tokens();
  const at::Tensor whole = model.read(tokens, model.empty_state()).outputs;
  auto [first, state] = model.read(tokens.slice(1, 0, 1), model.empty_state());
  const auto [rest, last] = model.read(tokens.slice(1, 1), std::move(state));
  EXPECT_TRUE(at::cat({first, rest}, 1).allclose(whole, 1e-5, 1e-6));
  EXPECT_EQ(last.rows(), 2);
}

TEST(Embedded, TheTableLearns) {
  Embedded model(small_table(), 3);
  model.forward(some_tokens()).square().sum().backward();
  const at::Tensor gradient = model.named_parameters()["embedding"].grad();
  EXPECT_GT(gradient.abs().sum().item<double>(), 0);
}

TEST(Embedded, EqualSeedsGiveEqualParameters) {
  const Embedded one(small_table(), 3), same(small_table(), 3), other(small_table(), 4);
  test::expect_equal_parameters(same, one);
  EXPECT_FALSE(one.named_parameters()["embedding"].equal(other.named_parameters()["embedding"]));
}

TEST(Embedded, ItsHyperParametersMakeItAgain) {
  const Embedded model(small_table(), 3);
  const Json all = model.hyper_parameters();
  EXPECT_EQ(all["vocabulary"], 7);
  EXPECT_EQ(all["model"]["kind"], "stm");
  EXPECT_EQ(all["model"]["gated"], true);  // a default
  EXPECT_EQ(Embedded(all, 3).hyper_parameters(), all);
  EXPECT_EQ(parameter_shapes("embedded", all).size(), model.parameters().size());
}

TEST(Embedded, RefusesWhatCannotStandInside) {
  const auto refusal = [](auto change) {
    Json json = small_table();
    change(json);
    return message_of<UsageError>([&] { Embedded model(json, 0); });
  };
  EXPECT_EQ(refusal([](Json&) {}), "");
  EXPECT_THAT(refusal([](Json& json) { json = Json(); }), HasSubstr("model is null"));
  EXPECT_THAT(refusal([](Json& json) { json["vocabulary"] = 0; }), HasSubstr("model.vocabulary"));
  EXPECT_THAT(refusal([](Json& json) { json["vocabluary"] = 5; }), HasSubstr("vocabulary"));
  EXPECT_THAT(refusal([](Json& json) { json.erase("model"); }), HasSubstr("model.model is null"));
  EXPECT_THAT(refusal([](Json& json) { json["model"] = 5; }), HasSubstr("model.model is 5"));
  EXPECT_THAT(refusal([](Json& json) { json["model"].erase("kind"); }), HasSubstr("kind"));
  EXPECT_THAT(refusal([](Json& json) { json["model"]["kind"] = "gpt"; }),
              HasSubstr("does not read vectors"));
  EXPECT_THAT(refusal([](Json& json) { json["model"]["kind"] = "embedded"; }),
              HasSubstr("does not read vectors"));
}

TEST(Embedded, RefusesTokensOutsideItsVocabulary) {
  Embedded model(small_table(), 3);
  EXPECT_THROW(model.forward(at::full({1, 2}, 7, at::kLong)), UsageError);
  EXPECT_THROW(model.forward(at::full({1, 2}, -1, at::kLong)), UsageError);
  EXPECT_THROW(model.forward(at::zeros({1, 2})), UsageError);
  EXPECT_THROW(model.forward(at::zeros({2}, at::kLong)), UsageError);
  EXPECT_EQ(model.read(at::zeros({1, 0}, at::kLong), model.empty_state()).outputs.size(1), 0);
}

}  // namespace
}  // namespace tessera
