#include "program/model_cli/model_verbs.h"

namespace tessera::cli {

void add_number_types(Verb& verb, NumberTypes& types) {
  verb.option("--weights", types.weights,
              "Numbers in which the matrices are kept and read; those of the directory unless "
              "given. bf16 takes half the memory of float32, int8 about a quarter");
  verb.option(
      "--pairs", types.pairs,
      "Numbers in which the memories keep the pairs that they store (float32 unless given)");
}

}  // namespace tessera::cli
