#include "tessera/text/training_memory.h"

#include <nlohmann/json.hpp>

#include "tessera/base/error.h"
#include "tessera/base/machine.h"
#include "tessera/model/model_kind.h"

namespace tessera {
namespace {

using config::Json;

constexpr double kBytesPerParameter = 4 * sizeof(float);  // weight, gradient, two moments

/// In floating point: the product of the largest sizes that are allowed does not fit 64 bits.
double count(const std::vector<ParameterShape>& shapes) {
  double sum = 0;
  for (const auto& [name, shape] : shapes) {
    double size = 1;
    for (int64_t length : shape) size *= static_cast<double>(length);
    sum += size;
  }
  return sum;
}

/// Of the inputs of all blocks, in float, for `batch` windows.
double bytes_of_inputs(const Json& hyper_parameters, int64_t batch) {
  double numbers = static_cast<double>(batch);
  for (const char* size : {"window", "layers", "channels"})
    numbers *= hyper_parameters.value(size, 1.0);
  return sizeof(float) * numbers;
}

/// "model.layers = 2, model.channels = 64, data.vocabulary = 1024".
std::string sizes(const Json& model, int64_t vocabulary) {
  std::string text;
  for (const auto& [key, value] : model.items())
    if (value.is_number_integer() && key != "vocabulary")
      text += fmt::format("model.{} = {}, ", key, value.dump());
  return text + fmt::format("data.vocabulary = {}", vocabulary);
}

}  // namespace

int64_t expected_vocabulary(const CorpusConfig& config) {
  if (config.tokenizer == "bpe") return config.vocabulary;
  return config.tokenizer == "byte" ? 257 : 1;
}

void check_training_memory(const Json& model, int64_t vocabulary, int64_t batch) {
  auto [kind, fields] = kind_and_fields(model);
  fields["vocabulary"] = vocabulary;
  const auto network = model_kind(kind).make(fields, std::nullopt, at::kMeta);
  const double parameters = count(parameter_shapes(*network));
  const double weights = kBytesPerParameter * parameters;
  const double inputs = bytes_of_inputs(network->hyper_parameters(), batch);
  const double available = physical_memory();
  if (weights + inputs <= available) return;
  constexpr double kGigabyte = 1e9;
  throw UsageError(
      "a {} with {} has {:.3g} parameters; training needs {:.3g} GB of memory for them ({:.0f} "
      "bytes each: weight, gradient, AdamW's two moments) and more than {:.3g} GB for the inputs "
      "of its blocks, with train.batch = {}; this machine has {:.3g} GB. Make one of these numbers "
      "smaller",
      kind, sizes(fields, vocabulary), parameters, weights / kGigabyte, kBytesPerParameter,
      inputs / kGigabyte, batch, available / kGigabyte);
}

}  // namespace tessera
