#include "tessera/model/parameter_shapes.h"

#include <fmt/format.h>

#include <functional>
#include <numeric>

namespace tessera {
namespace {

/// Collects shapes under a prefix, with biases where the network has them.
class Shapes {
 public:
  explicit Shapes(bool bias) : bias_(bias) {}

  void add(const std::string& name, std::vector<int64_t> shape) {
    shapes_.push_back({prefix_ + name, std::move(shape)});
  }
  void add_linear(const std::string& name, int64_t in, int64_t out) {
    add(name + ".weight", {out, in});
    if (bias_) add(name + ".bias", {out});
  }
  void add_norm(const std::string& name, int64_t channels) {
    add(name + ".weight", {channels});
    if (bias_) add(name + ".bias", {channels});
  }
  void set_prefix(std::string prefix) { prefix_ = std::move(prefix); }
  std::vector<ParameterShape> take() { return std::move(shapes_); }

 private:
  bool bias_;
  std::string prefix_;
  std::vector<ParameterShape> shapes_;
};

}  // namespace

std::vector<ParameterShape> parameter_shapes(const MemoryMosaicConfig& config) {
  config.check();
  const int64_t C = config.channels, H = config.heads;
  const std::vector<int64_t> slots = {config.persistent_count, H, config.slots(), C / H};
  Shapes shapes(config.bias);
  shapes.add("embedding", {config.vocabulary, C});
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    shapes.set_prefix(fmt::format("blocks.{}.", layer));
    shapes.add_norm("context_norm", C);
    shapes.add_linear("context.key.projection", C, C);
    shapes.add("context.key.leak", {H});
    shapes.add("context.key.log_scale", {H});
    shapes.add_linear("context.value.projection", C, C);
    shapes.add("context.value.mix", {H});
    shapes.add("context.value.log_scale", {H});
    shapes.add_linear("context.output", C, C);
    shapes.add_norm("persistent_norm", C);
    shapes.add_linear("persistent.key.projection", C, C);
    shapes.add("persistent.key.leak", {H});
    shapes.add("persistent.key.log_scale", {H});
    shapes.add("persistent.slot_keys", slots);
    shapes.add("persistent.slot_values", slots);
    shapes.add("persistent.log_scale", {H});
    shapes.add_linear("persistent.output", C, C);
  }
  shapes.set_prefix("");
  shapes.add_norm("norm", C);
  return shapes.take();
}

std::vector<ParameterShape> parameter_shapes(const GptConfig& config) {
  config.check();
  const int64_t C = config.channels;
  Shapes shapes(config.bias);
  shapes.add("embedding", {config.vocabulary, C});
  if (config.positions == Positions::kLearned) shapes.add("position_embedding", {config.window, C});
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    shapes.set_prefix(fmt::format("blocks.{}.", layer));
    shapes.add_norm("attention_norm", C);
    shapes.add_linear("query_key_value", C, 3 * C);
    shapes.add_linear("attention_output", C, C);
    shapes.add_norm("feed_forward_norm", C);
    shapes.add_linear("expand", C, 4 * C);
    shapes.add_linear("contract", 4 * C, C);
  }
  shapes.set_prefix("");
  shapes.add_norm("norm", C);
  return shapes.take();
}

int64_t count_parameters(const std::vector<ParameterShape>& shapes) {
  int64_t count = 0;
  for (const auto& [name, shape] : shapes)
    count += std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  return count;
}

}  // namespace tessera
