#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/config.h"
#include "tessera/base/error.h"
#include "tessera/base/interrupt.h"
#include "tessera/store/ledger.h"

/// What all jobs share, whoever asks for them.
namespace tessera::jobs {

/// What config::fields_from_json() is to read of a request from outside: the values of these
/// fields, where null counts as absent, and the first of its keys that are none.
config::Json request_values(const nlohmann::json& object, const std::vector<config::Field>& fields);

/// Throws UsageError where a file that is to be written would stand in the folder of a store, or
/// below it: it might replace one of the store's, and no certificate could be made of an erasure.
/// field: what the message calls it.
void check_outside(const std::filesystem::path& store, std::string_view field,
                   const std::filesystem::path& file);
/// The same of a new store, and of any other one.
void check_outside_stores(const std::filesystem::path& new_store);

/// What people write about documents, of texts KEY=VALUE. field: what messages call it. Throws
/// UsageError where there is no '=', the key is empty or given twice, or a part is not printable
/// UTF-8.
store::Metadata parse_metadata(const std::string& field, const std::vector<std::string>& texts);

/// The first second of a day "2026-03-01" (UTC). Throws UsageError on other texts.
int64_t parse_day(const std::string& field, const std::string& day);

/// What `work` gives, which encodes texts that were typed or passed. Throws UsageError where it
/// throws DataError: such a text that cannot be encoded is wrong usage, in a file it is bad data.
/// before: begins the message.
template <typename Work>
auto on_given_text(const Work& work, std::string_view before = "") {
  try {
    return work();
  } catch (const DataError& error) {
    throw UsageError("{}{}", before, error.what());
  }
}

/// JSON on one line, without its end; bytes that are not UTF-8 become U+FFFD.
std::string json_line(const config::Json& json);

}  // namespace tessera::jobs
