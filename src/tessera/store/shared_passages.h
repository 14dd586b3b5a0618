#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/interrupt.h"
#include "tessera/data/tokenizer.h"
#include "tessera/store/ledger.h"

namespace tessera::store {

/// A document that has passages of others: runs of at least twelve equal words, or all words of a
/// document that has fewer, whatever stands between them and in either case.
struct SharedPassages {
  std::string document;  ///< that has them
  int64_t words = 0;     ///< of it, in such passages
  double share = 0;      ///< of the words of the others that stand in them
  int64_t line = 1;      ///< of it, where the first one ends
};

/// Which of the other documents have passages of these, most first. One pass over all documents.
/// on_progress: documents read.
std::vector<SharedPassages> shared_passages(const Ledger& ledger, const Tokenizer& tokenizer,
                                            const std::vector<StoredDocument>& documents,
                                            const OnProgress& on_progress = {});

}  // namespace tessera::store
