#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/config.h"
#include "tessera/store/question.h"
#include "tessera/store/questioned_store.h"
#include "tessera/store/recall.h"

namespace tessera::hosts {

/// Whether a text is an address, not a folder.
bool is_address(const std::string& text);
/// The keys in a file, one a line; empty lines do not count. Throws SystemError; DataError where
/// there is none, or one that clients cannot send: other than visible ASCII.
std::vector<std::string> read_keys(const std::filesystem::path& file);

/// None of the hosts that are asked answers; the message says why, of each.
class NoHostAnswers : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Sources that a host is asked for at once at most: its tokens times the sources of each. A longer
/// text is asked in parts.
constexpr int64_t kMostSourcesAtOnce = int64_t{1} << 18;

struct HostOptions {
  double seconds = 10;        ///< time limit of one request to a host
  std::string key = {};       ///< that is sent to the hosts; "" for none
  std::string key_file = {};  ///< the key, where it is the first one of a file (read_keys)

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("host_seconds", seconds,
          "timeout per host request, in seconds; slower hosts are left out of the answer",
          config::between(0.1, 86400));
    field("host_key_file", key_file, "file whose first line is the key that is sent to the hosts");
  }
};

/// Stores at several hosts, in this order, that answer together as the store would that
/// store::merge_stores() makes of them. Their matrices add up, so what is retrieved from all of
/// them, and the scores, are the same bits: the values are whole numbers, and below 2^24 floats add
/// them exactly (those of the paper's code may be larger, and the last bits differ). The noise of
/// the sum is exact too. It needs the products of the matrices with each other, so all of them are
/// read once before the first answer, row by row, and once more when a store has changed. Of more
/// than 1024 places that fit a question equally well, each store looks at its first 1024; a merged
/// one looks at as many in all.
///
/// A host that does not answer in time, or not as it should, is absent: the others answer without
/// it. For one thread.
class StoresOfHosts final : public store::QuestionedStore {
 public:
  /// Opens the stores. Throws UsageError on a wrong address, or where two have not the same
  /// configuration; NoHostAnswers; as read_keys().
  StoresOfHosts(const std::vector<std::string>& addresses, const HostOptions& options);
  ~StoresOfHosts() override;

  /// A host that an answer is without, and why.
  struct Absence {
    std::string address, reason;
  };
  /// Calls `use`, which asks this store, and once more from its beginning when meanwhile a host was
  /// lost or its store has changed; so what `use` has at the end comes from one state of each
  /// store. Hosts that were absent for ten seconds are tried again first. Returns those that are
  /// absent. Throws what `use` throws, and NoHostAnswers; Interrupted where `unwanted` is true,
  /// which is asked before each request and about once a second during it, from any thread, by one
  /// at a time; it must not throw.
  std::vector<Absence> ask(const std::function<void()>& use,
                           const std::function<bool()>& unwanted = {});

  // The same of all stores, as they were opened.
  const store::StoreConfig& config() const override { return *config_; }
  const Tokenizer& tokenizer() const override { return *tokenizer_; }
  // Within ask():
  const memo::ReadableMemory& memory() const override;
  std::vector<int64_t> token_counts() const override;
  store::Readings readings(std::string_view typed) const override;
  std::vector<store::TokenSources> sources(std::span<const int32_t> text, size_t first,
                                           size_t most) const override;

 private:
  using Clock = std::chrono::steady_clock;
  class Memory;
  struct Part;

  template <typename Call>
  auto each(const Call& call) const;
  bool is_unwanted() const;
  void look_up() const;
  std::vector<Part*> present() const;
  void open(const std::function<bool(const Part&)>& which);
  void check_configurations();
  void take_tokenizer();
  void measure();
  double energy(size_t matrix) const;

  std::vector<std::unique_ptr<Part>> parts_;
  std::function<bool()> unwanted_;  // of the question that is asked
  mutable std::mutex asking_;       // it
  std::optional<store::StoreConfig> config_;
  std::optional<Tokenizer> tokenizer_;
  std::unique_ptr<Memory> memory_;
  std::vector<int64_t> measured_;  // the change of each part that the products are of, or -1
  /// [matrices][parts, parts]: the sum over all entries of a part's matrix times another's.
  std::vector<std::vector<double>> products_;
};

/// What stores recite together after a text.
struct Answer {
  store::Question question;
  store::Recall recall;
  std::vector<StoresOfHosts::Absence> absent;
};

/// store::read_question() and store::recall() of the stores. Throws as they do and as
/// StoresOfHosts::ask().
Answer recall(StoresOfHosts& stores, const std::string& prompt, const store::RecallOptions& options,
              const std::function<bool()>& unwanted = {});

/// As that of one store, and "absent": the "store" and "reason" of each that is.
config::Json json_of(const StoresOfHosts& stores, const std::string& prompt, const Answer& answer);

}  // namespace tessera::hosts
