#include "program/model_cli/model_verbs.h"

#include <memory>

#include "tessera/base/interrupt.h"
#include "tessera/base/progress.h"

namespace tessera::cli {

void add_number_types(Verb& verb, NumberTypes& types) {
  verb.option("--weights", types.weights,
              "Numbers in which the matrices are kept and read; those of the directory unless "
              "given. bf16 takes half the memory of float32, int8 about a quarter");
  verb.option(
      "--pairs", types.pairs,
      "Numbers in which the memories keep the pairs that they store (float32 unless given)");
}

jobs::OnProgress bar_of(std::string_view doing, bool shown) {
  const auto bar = std::make_shared<std::unique_ptr<Progress>>();  // which needs to know the total
  return [=, doing = std::string(doing)](int64_t done, int64_t of) {
    InterruptGuard::stop_if_interrupted("interrupted");
    if (!*bar) *bar = std::make_unique<Progress>(shown ? stderr : nullptr, doing, of);
    (*bar)->update(done);
  };
}

}  // namespace tessera::cli
