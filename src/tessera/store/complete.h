#pragma once

#include <functional>

#include "tessera/sampling/text_writer.h"
#include "tessera/store/questioned_store.h"

namespace tessera::store {

/// The bytes of the tokens that follow a question, as RecitedText shows them: what they repeat of
/// its rest is left out. The tokenizer must outlive the function; each text needs one of its own.
TokenBytes bytes_after(const Tokenizer& tokenizer, const std::string& rest);

/// Continues a question with tokens that are drawn by their probability in the store
/// (StoreReader::predict), for as long as a stored text goes on there (goes_on): else it ends with
/// Finish::kNotStored. The store gives the end of text and the tokens' bytes. While an
/// InterruptGuard lives, a signal ends it between two tokens. Calls `on_news` with each token.
/// Throws UsageError on options that make no sense and on a question that is too short.
Finish complete(const QuestionedStore& store, const Question& question,
                const WritingOptions& options, const std::function<void(const Written&)>& on_news);

}  // namespace tessera::store
