// torch.classes.tessera.Network: a whole network of the library for tessera/nn.py, whose modules
// own the same parameter tensors.

#include <torch/custom_class.h>
#include <torch/library.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "python/networks/python_errors.h"
#include "tessera/base/config.h"
#include "tessera/base/error.h"
#include "tessera/checkpoint/model_directory.h"
#include "tessera/model/language_model.h"
#include "tessera/model/model_kind.h"

namespace tessera::python {
namespace {

using at::Tensor;

std::optional<uint64_t> seed_of(const c10::optional<int64_t>& seed) {
  if (!seed) return {};
  return static_cast<uint64_t>(*seed);
}

/// Its functions are ops and no methods, because PyTorch keeps the types of their errors.
struct Network : torch::CustomClassHolder {
  explicit Network(std::shared_ptr<SequenceModel> network) : model(std::move(network)) {}

  const std::shared_ptr<SequenceModel> model;
};
using NetworkPointer = c10::intrusive_ptr<Network>;

/// fields: hyper-parameters as JSON; the parameters are drawn from `seed`.
NetworkPointer new_network(const std::string& kind, const std::string& fields, int64_t seed) {
  return c10::make_intrusive<Network>(model_kind(kind).make(config::parse_json(fields, kind),
                                                            static_cast<uint64_t>(seed), at::kCPU));
}

NetworkPointer load_network(const std::string& folder) {
  return c10::make_intrusive<Network>(load_sequence_model(folder));
}

void save_network(const NetworkPointer& network, const std::string& folder) {
  for (const auto& parameter : network->model->named_parameters())
    check_argument(parameter.value().scalar_type() == at::kFloat,
                   "the parameter {} is of type {}, a model directory has float32; call float() "
                   "before save()",
                   parameter.key(), c10::toString(parameter.value().scalar_type()));
  save_model(folder, *network->model);
}

/// Its own, not copies: whoever changes one of them in place changes the network.
c10::Dict<std::string, Tensor> network_parameters(const NetworkPointer& network) {
  c10::Dict<std::string, Tensor> parameters;
  for (const auto& parameter : network->model->named_parameters())
    parameters.insert(parameter.key(), parameter.value());
  return parameters;
}

/// Kind and hyper-parameters, as JSON.
std::string network_table(const NetworkPointer& network) {
  return model_table(*network->model).dump();
}

/// The logits of a language model [B, T, V]; the outputs of another.
Tensor network_forward(const NetworkPointer& network, const Tensor& x,
                       c10::optional<int64_t> dropout_seed) {
  const Tensor outputs = network->model->forward(x, seed_of(dropout_seed));
  auto* language_model = dynamic_cast<LanguageModel*>(network->model.get());
  return language_model ? language_model->logits(outputs) : outputs;
}

Tensor network_loss(const NetworkPointer& network, const Tensor& tokens, const Tensor& targets,
                    c10::optional<int64_t> dropout_seed) {
  auto* language_model = dynamic_cast<LanguageModel*>(network->model.get());
  check_argument(language_model != nullptr, "a model of the kind {} predicts no tokens",
                 network->model->kind());
  return language_model->loss(tokens, targets, seed_of(dropout_seed));
}

std::string describe_fields(const std::string& kind) {
  return model_kind(kind).describe_fields("    ");
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(tessera, library) {
  library.class_<Network>("Network");
  library.def("new_network", raising_python_errors(new_network));
  library.def("load_network", raising_python_errors(load_network));
  library.def("save_network", raising_python_errors(save_network));
  library.def("network_parameters", raising_python_errors(network_parameters));
  library.def("network_table", raising_python_errors(network_table));
  library.def("network_forward", raising_python_errors(network_forward));
  library.def("network_loss", raising_python_errors(network_loss));
  library.def("describe_fields", raising_python_errors(describe_fields));
}

}  // namespace tessera::python
