#include "tessera/model/weight_format.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tessera/model/sequence_model.h"

namespace tessera {

config::Json sizes_of_blocks(const ForeignSizes& file, std::string_view norm_of_block) {
  const auto embedding = file.shape("embedding", 2);
  int64_t layers = 0;
  while (file.holds(fmt::format("blocks.{}.{}.weight", layers, norm_of_block))) ++layers;
  return {{"vocabulary", file.metadata("vocab_size").value_or(embedding[0])},
          {"layers", file.metadata("n_layer").value_or(layers)},
          {"channels", file.metadata("n_embd").value_or(embedding[1])},
          {"bias", file.holds("norm.bias")},
          {"dropout", 0.0}};
}

std::map<std::string, std::string> metadata_of_blocks(const SequenceModel& model,
                                                      std::string_view window_key) {
  const config::Json fields = model.hyper_parameters();
  return {{"n_layer", fields.at("layers").dump()},
          {"n_head", fields.at("heads").dump()},
          {"n_embd", fields.at("channels").dump()},
          {std::string(window_key), fields.at("window").dump()},
          {"vocab_size", fields.at("vocabulary").dump()},
          {"bias", fields.at("bias").get<bool>() ? "True" : "False"}};
}

}  // namespace tessera
