#pragma once

#include <optional>
#include <string>

#include "tessera/base/config.h"
#include "tessera/store/memo_store.h"
#include "tessera/store/question.h"
#include "tessera/store/recall.h"
#include "tessera/store/recall_measure.h"
#include "tessera/store/text_search.h"
#include "tessera/store/verify.h"

namespace tessera::store {

/// What is known about a store and its documents, as the JSON that the program prints and the
/// server answers.

config::Json json_of(const LedgerTotals& totals);
/// A document that an earlier version stored has no bytes, sha256 and time.
config::Json json_of(const StoredDocument& document, const DocumentDetails& details);
config::Json json_of(const TextMatch& match);
config::Json json_of(const Source& source);
config::Json json_of(const StoreStatistics& statistics,
                     const std::optional<MeasuredRecall>& measured);
config::Json json_of(const Verification& verification);
/// prompt: as it was typed, before read_question().
config::Json json_of(const QuestionedStore& store, const std::string& prompt,
                     const Question& question, const Recall& recall);

}  // namespace tessera::store
