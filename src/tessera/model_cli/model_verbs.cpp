#include "tessera/model_cli/model_verbs.h"

namespace tessera::cli {

void add_weights(Verb& verb, std::optional<ops::WeightType>& weights) {
  verb.option("--weights", weights,
              "Numbers in which the matrices are kept and read; those of the directory unless "
              "given. bf16 takes half the memory of float32, int8 about a quarter");
}

}  // namespace tessera::cli
