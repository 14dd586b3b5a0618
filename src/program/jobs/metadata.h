#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/store/ledger.h"

/// What people write about documents. `field`: what messages call the text.
namespace tessera::jobs {

/// Of texts KEY=VALUE. Throws UsageError where there is no '=', the key is empty or given twice, or
/// a part is not printable UTF-8.
store::Metadata parse_metadata(const std::string& field, const std::vector<std::string>& texts);

/// The first second of a day "2026-03-01" (UTC). Throws UsageError on other texts.
int64_t parse_day(const std::string& field, const std::string& day);

}  // namespace tessera::jobs
