#pragma once

#include <string>
#include <vector>

#include "tessera/store/ledger.h"

namespace tessera::cli {

/// Of options KEY=VALUE. Throws UsageError where there is no '=', the key is empty or given twice,
/// or a part is not printable UTF-8.
store::Metadata parse_metadata(const std::vector<std::string>& options);

/// "2026-03-01 17:30" (UTC) of seconds since 1970; "-" of 0, where the time is not known.
std::string readable_time(int64_t seconds);
/// The first second of a day "2026-03-01" (UTC). Throws UsageError on other texts.
int64_t parse_day(const std::string& option, const std::string& day);

}  // namespace tessera::cli
