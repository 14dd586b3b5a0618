#include "tessera/model/detail/embedded.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <nlohmann/json.hpp>

#include "tessera/base/error.h"
#include "tessera/model/initialisation.h"
#include "tessera/model/sequence_model.h"
#include "tessera/tensor/check.h"

namespace tessera {
namespace {

using config::Json;

struct EmbeddedConfig {
  int64_t vocabulary = 37;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("vocabulary", vocabulary, "number of tokens");
  }
};

}  // namespace

Embedded::Embedded(const Json& hyper_parameters, std::optional<uint64_t> seed, at::Device device) {
  if (!hyper_parameters.is_object())
    throw UsageError("model is {}, expected a table", hyper_parameters.dump());
  const auto [kind, inside] =
      kind_and_fields(hyper_parameters.value("model", Json()), "model.model");
  if (!model_kind(kind).reads_vectors)
    throw UsageError("model.model.kind is '{}', which does not read vectors", kind);
  EmbeddedConfig config;
  Json own = hyper_parameters;
  own.erase("model");
  config::from_json(own, config, "model");
  check_sizes({{"vocabulary", config.vocabulary}});
  inner_ = model_kind(kind).make(inside, derived_seed(seed, 1), device);
  const auto width = inner_->hyper_parameters().at("inputs").get<int64_t>();
  embedding_ = register_parameter("embedding", at::zeros({config.vocabulary, width}, device));
  register_module("model", inner_);
  if (seed) initialise(*seed);
}

Json Embedded::hyper_parameters() const {
  Json inside = inner_->hyper_parameters();
  inside["kind"] = std::string(inner_->kind());
  return {{"vocabulary", embedding_.size(0)}, {"model", std::move(inside)}};
}

at::Tensor Embedded::vectors(const at::Tensor& tokens) const {
  check_shape(tokens, {-1, -1}, "Embedded: tokens");
  check_token_ids(tokens, 0, embedding_.size(0), "token");
  return at::embedding(embedding_, tokens.to(embedding_.device()));
}

at::Tensor Embedded::forward(const at::Tensor& tokens, std::optional<uint64_t> dropout_seed,
                             int64_t first_output) {
  return inner_->forward(vectors(tokens), dropout_seed, first_output);
}

SequenceOutput Embedded::read(const at::Tensor& tokens, SequenceState&& state,
                              int64_t first_output) {
  at::NoGradGuard no_grad;
  return inner_->read(vectors(tokens), std::move(state), first_output);
}

void Embedded::initialise(uint64_t seed) {
  at::NoGradGuard no_grad;
  Initialiser(seed).normal(embedding_, 1.0);
  inner_->initialise(*derived_seed(seed, 1));
}

ModelKind embedded_kind() {
  return {Embedded::kKind,
          "a model of vectors that reads tokens through an embedding",
          /*language_model=*/false,
          /*reads_vectors=*/false,
          [](const std::string& indent) {
            return config::describe_fields<EmbeddedConfig>({}, indent) + indent +
                   "model: a table with the kind and the keys of a model of vectors\n";
          },
          [](const Json& hyper_parameters, std::optional<uint64_t> seed,
             at::Device device) -> std::shared_ptr<SequenceModel> {
            return std::make_shared<Embedded>(hyper_parameters, seed, device);
          },
          {}};
}

}  // namespace tessera
