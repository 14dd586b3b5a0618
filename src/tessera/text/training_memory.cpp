#include "tessera/text/training_memory.h"

#include <nlohmann/json.hpp>

#include "tessera/base/error.h"
#include "tessera/base/physical_memory.h"
#include "tessera/checkpoint/model_directory.h"
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

void check_training_memory(const Json& model, int64_t vocabulary) {
  auto [kind, fields] = kind_and_fields(model);
  fields["vocabulary"] = vocabulary;
  const double parameters = count(parameter_shapes(kind, fields));
  const double needed = kBytesPerParameter * parameters;
  const auto available = static_cast<double>(physical_memory());
  if (needed <= available) return;
  constexpr double kGigabyte = 1e9;
  throw UsageError(
      "a {} with {} has {:.3g} parameters; training needs {:.3g} GB of memory for them ({:.0f} "
      "bytes each: weight, gradient, AdamW's two moments), this machine has {:.3g} GB. Make one of "
      "these numbers smaller",
      kind, sizes(fields, vocabulary), parameters, needed / kGigabyte, kBytesPerParameter,
      available / kGigabyte);
}

}  // namespace tessera
