#pragma once

#include <string>

#include "tessera/store/memo_store.h"
#include "tessera/store/recall.h"

namespace tessera::cli {

/// Prints what a store recites after a text and the source of each token, or all about it as one
/// JSON object; returns whether it recites anything. Throws std::invalid_argument on a text that is
/// too short.
bool answer(const store::MemoStore& store, const std::string& prompt,
            const store::RecallOptions& options, bool json);

}  // namespace tessera::cli
