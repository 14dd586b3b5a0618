#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/config.h"
#include "tessera/hosts/detail/http_client.h"
#include "tessera/memo/window_code.h"
#include "tessera/store/questioned_store.h"

namespace tessera::hosts {

/// The store is not in the state any more that a request was for.
class StoreChanged : public HostError {
 public:
  using HostError::HostError;
};

/// What a store at a host holds at one moment.
struct PartState {
  store::StoreConfig config;
  int64_t change = 0;
  std::vector<int64_t> token_counts;  ///< [V]
};

/// A store that `tessera serve` serves at an address, as one part of several: the endpoints
/// ADDRESS/part and below. What it answers is checked like a file from outside. Each member is one
/// request (sources() maybe several) and throws HostError where there is no answer in time, or not
/// a right one, and Interrupted as HttpClient; those that take a PartState ask for that state, and
/// throw StoreChanged where the store has another. For one thread.
class StoreHost {
 public:
  /// Throws UsageError unless `address` is http://HOST[:PORT]/v1/stores/NAME. seconds, key,
  /// unwanted: as HttpClient.
  StoreHost(const std::string& address, double seconds, const std::string& key,
            std::function<bool()> unwanted);

  const std::string& address() const { return address_; }

  PartState state();
  /// Checked against the configuration's digest.
  Tokenizer tokenizer(const store::StoreConfig& config);
  /// Rows [rows, d] of a matrix, from row `first` on.
  std::vector<int64_t> rows_of_matrix(const PartState& state, int64_t matrix, int64_t first,
                                      int64_t rows);
  /// ReadableMemory::retrieve() of the store's memory.
  std::vector<float> retrieve(const PartState& state, const memo::WindowQueries& queries);
  store::Readings readings(const PartState& state, std::string_view typed);
  std::vector<store::TokenSources> sources(const PartState& state, std::span<const int32_t> text,
                                           size_t first, size_t most);

 private:
  std::vector<store::TokenSources> sources_at_once(const PartState& state,
                                                   std::span<const int32_t> text, size_t first,
                                                   size_t most);
  std::string ask(HostRequest&& request);
  std::string ask_of_state(const PartState& state, HostRequest&& request);

  std::string address_;
  HttpClient client_;
};

}  // namespace tessera::hosts
