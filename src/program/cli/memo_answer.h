#pragma once

#include <string>

#include "tessera/hosts/stores_of_hosts.h"
#include "tessera/store/recall.h"

namespace tessera::cli {

/// Prints what a store recites after a text and the source of each token, or all about it as one
/// JSON object; returns whether it recites anything. Throws UsageError on a text that is
/// too short.
bool answer(const store::QuestionedStore& store, const std::string& prompt,
            const store::RecallOptions& options, bool json);

/// The same of stores at several hosts. Those that are absent are named, on standard error or in
/// the JSON object.
bool answer(hosts::StoresOfHosts& stores, const std::string& prompt,
            const store::RecallOptions& options, bool json);

}  // namespace tessera::cli
