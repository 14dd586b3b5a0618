#pragma once

#include <memory>

#include "program/serve/decoder.h"
#include "program/serve/memory_budget.h"

namespace tessera {
class LanguageModel;
}

namespace tessera::serve {

/// A language model's texts, read as StreamingSession reads them in the model's natural reading.
/// What was read of the latest prompts is kept in `memory`: a prompt that begins like one of them
/// goes on from a fork.
std::unique_ptr<Decoder> decoder_of(std::shared_ptr<LanguageModel> model,
                                    std::shared_ptr<MemoryBudget> memory);

}  // namespace tessera::serve
