#include "program/model_cli/model_verbs.h"

#include "tessera/tensor/device.h"

namespace tessera::cli {

void add_placement(Verb& verb, Placement& placement) {
  verb.option("--weights", placement.weights,
              "Numbers in which the matrices are kept and read; those of the directory unless "
              "given. bf16 takes half the memory of float32, int8 about a quarter");
  verb.option(
      "--pairs", placement.pairs,
      "Numbers in which the memories keep the pairs that they store (float32 unless given)");
  verb.option("--device", placement.device, kDeviceHelp);
}

}  // namespace tessera::cli
