#include "tessera/hosts/stores_of_hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/base/utf8.h"
#include "tessera/hosts/detail/store_host.h"
#include "tessera/store/store_json.h"

namespace tessera::hosts {

namespace {

constexpr auto kTriedAgain = std::chrono::seconds(10);  // after a host was lost
constexpr int kMostChanges = 10;                        // of the stores during one question
constexpr int64_t kEntriesAtOnce = int64_t{1} << 19;    // of a matrix, from each host

constexpr uint64_t kMostKeyBytes = 1 << 20;

/// What was asked is not answered by all hosts that were there; those that are left are asked.
struct Again {};

/// Calls call(*parts[0]), call(*parts[1]), … at the same time, the first in the thread that gets
/// its result, and it must be got first. The futures wait when they go out of scope.
template <typename Part, typename Call>
auto at_once(const std::vector<Part*>& parts, const Call& call) {
  std::vector<std::future<decltype(call(*parts[0]))>> results;
  for (Part* part : parts)
    results.push_back(std::async(results.empty() ? std::launch::deferred : std::launch::async,
                                 [&call, part] { return call(*part); }));
  return results;
}

}  // namespace

/// One of the stores. Without a state it is absent.
struct StoresOfHosts::Part {
  Part(const std::string& address, const HostOptions& options, std::function<bool()> unwanted)
      : host(address, options.seconds, options.key, std::move(unwanted)) {}
  StoreHost host;
  std::optional<PartState> state = {};
  bool changed = false;  // its state must be asked for again
  std::string reason = {};
  Clock::time_point lost = {};

  /// It is absent from now on. The reason may have words of the host's, for a terminal to show.
  void lose(const HostError& error) {
    state.reset();
    reason = utf8::printable(error.what());
    lost = Clock::now();
  }
};

std::vector<StoresOfHosts::Part*> StoresOfHosts::present() const {
  std::vector<Part*> found;
  for (const auto& part : parts_)
    if (part->state) found.push_back(part.get());
  return found;
}

bool StoresOfHosts::is_unwanted() const {
  const std::lock_guard lock(asking_);
  return unwanted_ && unwanted_();
}

void StoresOfHosts::look_up() const {
  if (is_unwanted()) throw Interrupted("asking the hosts was given up");
}

/// call(part) of every part that is there, at the same time; its results in their order. Throws
/// Again where one of them fails, which is absent from now on.
template <typename Call>
auto StoresOfHosts::each(const Call& call) const {
  look_up();
  const std::vector<Part*> asked = present();
  if (asked.empty()) throw Again{};
  auto answers = at_once(asked, call);
  std::vector<decltype(call(*asked[0]))> results;
  for (size_t i = 0; i < asked.size(); ++i) {
    try {
      results.push_back(answers[i].get());
    } catch (const StoreChanged&) {
      asked[i]->changed = true;
    } catch (const HostError& error) {
      asked[i]->lose(error);
    }
  }
  if (results.size() < asked.size()) throw Again{};
  return results;
}

/// The sum of the matrices.
class StoresOfHosts::Memory final : public memo::ReadableMemory {
 public:
  explicit Memory(const StoresOfHosts& stores)
      : stores_(stores), code_(memo::WindowCode::make(stores.config().memory)) {}

  const memo::WindowCode& code() const override { return *code_; }

  std::vector<float> retrieve(const memo::WindowQueries& queries) const override {
    if (queries.keys.empty()) return {};
    const auto values =
        stores_.each([&](Part& part) { return part.host.retrieve(*part.state, queries); });
    std::vector<float> sum(queries.keys.size());
    for (size_t i = 0; i < sum.size(); ++i) {
      double total = 0;
      for (const auto& of_part : values) total += of_part[i];
      sum[i] = static_cast<float>(total);
    }
    return sum;
  }
  double noise() const override {
    double energy = 0;
    for (size_t s = 0; s < shards(); ++s) energy += stores_.energy(s);
    return code_->noise(energy / static_cast<double>(shards()));
  }
  double noise(size_t shard) const override { return code_->noise(stores_.energy(shard)); }

 private:
  size_t shards() const { return config().shards; }

  const StoresOfHosts& stores_;
  std::shared_ptr<const memo::WindowCode> code_;
};

bool is_address(const std::string& text) {
  return text.find("://") != std::string::npos;
}

std::vector<std::string> read_keys(const std::filesystem::path& file) {
  std::vector<std::string> keys;
  std::istringstream lines(read_file(file, kMostKeyBytes));
  int line = 0;
  for (std::string key; std::getline(lines, key);) {
    ++line;
    key.erase(key.find_last_not_of("\r ") + 1);
    if (std::ranges::any_of(key, [](unsigned char c) { return c <= ' ' || c >= 0x7f; }))
      throw DataError(file.native(),
                      "line {} is not a key that clients can send: letters, digits and signs of "
                      "ASCII, no spaces",
                      line);
    if (!key.empty()) keys.push_back(key);
  }
  if (keys.empty()) throw DataError(file.native(), "contains no key; expected one a line");
  return keys;
}

StoresOfHosts::StoresOfHosts(const std::vector<std::string>& addresses, const HostOptions& given) {
  HostOptions options = given;
  if (!options.key_file.empty()) options.key = read_keys(options.key_file).front();
  for (const auto& address : addresses)
    parts_.push_back(std::make_unique<Part>(address, options, [this] { return is_unwanted(); }));
  measured_.assign(parts_.size(), -1);
  open([](const Part&) { return true; });
  check_configurations();
}

StoresOfHosts::~StoresOfHosts() = default;

/// Asks for the state of these parts.
void StoresOfHosts::open(const std::function<bool(const Part&)>& which) {
  std::vector<Part*> asked;
  for (const auto& part : parts_)
    if (which(*part)) asked.push_back(part.get());
  if (!asked.empty()) look_up();
  const auto ask = [&](Part& part) {
    part.state.reset();
    try {
      part.state = part.host.state();
      part.changed = false;
      if (config_ && part.state->config != *config_)
        throw HostError(fmt::format("has the configuration {}, expected {}",
                                    part.state->config.text(), config_->text()));
    } catch (const HostError& error) {
      part.lose(error);
    }
  };
  for (auto& answer : at_once(asked, ask)) answer.get();
  if (!tokenizer_) take_tokenizer();
}

/// The first host that is there says what is common to all.
void StoresOfHosts::take_tokenizer() {
  for (Part* part : present()) {
    try {
      tokenizer_ = part->host.tokenizer(part->state->config);
      config_ = part->state->config;
      memory_ = std::make_unique<Memory>(*this);
      return;
    } catch (const HostError& error) {
      part->lose(error);
    }
  }
  std::string reasons;
  for (const auto& part : parts_)
    reasons +=
        fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", part->host.address(), part->reason);
  throw NoHostAnswers("no store answers: " + reasons);
}

void StoresOfHosts::check_configurations() {
  const std::vector<Part*> parts = present();
  for (const Part* part : parts)
    if (part->state->config != *config_)
      throw UsageError(
          "{} has the configuration {}, {} has {}; only stores of equal configuration can answer "
          "together",
          part->host.address(), part->state->config.text(), parts.front()->host.address(),
          config_->text());
}

std::vector<StoresOfHosts::Absence> StoresOfHosts::ask(const std::function<void()>& use,
                                                       const std::function<bool()>& unwanted) {
  unwanted_ = unwanted;
  const std::shared_ptr<void> question(nullptr, [this](void*) { unwanted_ = {}; });
  open([now = Clock::now()](const Part& part) {
    return !part.state && now - part.lost >= kTriedAgain;
  });
  for (int changes = 0;;) {
    try {
      if (present().empty()) take_tokenizer();  // says why
      measure();
      use();
      break;
    } catch (const Again&) {
      std::vector<Part*> changed = present();
      std::erase_if(changed, [](Part* part) { return !part->changed; });
      if (!changed.empty() && ++changes >= kMostChanges)
        for (Part* part : changed) part->lose(HostError("changes faster than it can be asked"));
      open([](const Part& part) { return part.state && part.changed; });
    }
  }
  std::vector<Absence> absent;
  for (const auto& part : parts_)
    if (!part->state) absent.push_back({part->host.address(), part->reason});
  return absent;
}

/// Reads all matrices, if the products of those that are there are not known.
void StoresOfHosts::measure() {
  std::vector<size_t> places;  // in parts_, of those that are present
  bool all_measured = true;
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (!parts_[i]->state) continue;
    places.push_back(i);
    all_measured = all_measured && parts_[i]->state->change == measured_[i];
  }
  if (all_measured) return;
  const int64_t d = config_->memory.dimension, P = std::ssize(parts_);
  const int64_t rows_at_once = std::max<int64_t>(1, kEntriesAtOnce / d);
  measured_.assign(parts_.size(), -1);
  products_.assign(config_->memory.shards, std::vector<double>(P * P));
  for (int64_t s = 0; s < config_->memory.shards; ++s)
    for (int64_t first = 0; first < d; first += rows_at_once) {
      const int64_t rows = std::min(rows_at_once, d - first);
      const auto blocks =
          each([&](Part& part) { return part.host.rows_of_matrix(*part.state, s, first, rows); });
      for (size_t a = 0; a < places.size(); ++a)
        for (size_t b = 0; b < places.size(); ++b)
          products_[s][places[a] * parts_.size() + places[b]] += std::transform_reduce(
              blocks[a].begin(), blocks[a].end(), blocks[b].begin(), 0.0, std::plus(),
              [](int64_t x, int64_t y) { return static_cast<double>(x) * static_cast<double>(y); });
    }
  for (const size_t i : places) measured_[i] = parts_[i]->state->change;
}

/// ExactCorrelationMemory::energy() of the sum of the matrices that are present.
double StoresOfHosts::energy(size_t matrix) const {
  double total = 0;
  for (size_t a = 0; a < parts_.size(); ++a)
    for (size_t b = 0; b < parts_.size(); ++b)
      if (parts_[a]->state && parts_[b]->state) total += products_[matrix][a * parts_.size() + b];
  const double d = config_->memory.dimension;
  return total / (d * d);
}

const memo::ReadableMemory& StoresOfHosts::memory() const {
  return *memory_;
}

std::vector<int64_t> StoresOfHosts::token_counts() const {
  std::vector<int64_t> counts(config_->memory.vocabulary);
  for (const Part* part : present())
    for (size_t y = 0; y < counts.size(); ++y) counts[y] += part->state->token_counts[y];
  return counts;
}

store::Readings StoresOfHosts::readings(std::string_view typed) const {
  store::Readings all;
  for (store::Readings& of_part :
       each([&](Part& part) { return part.host.readings(*part.state, typed); }))
    all.merge(std::move(of_part));
  return all;
}

std::vector<store::TokenSources> StoresOfHosts::sources(std::span<const int32_t> text, size_t first,
                                                        size_t most) const {
  std::vector<store::TokenSources> all(text.size() - first);
  for (auto& of_part :
       each([&](Part& part) { return part.host.sources(*part.state, text, first, most); }))
    for (size_t i = 0; i < all.size(); ++i) {
      all[i].places += of_part[i].places;
      std::ranges::move(of_part[i].best, std::back_inserter(all[i].best));
    }
  for (store::TokenSources& token : all) {
    std::ranges::stable_sort(token.best, std::greater(), &store::Source::matched_length);
    if (token.best.size() > most) token.best.resize(most);
  }
  return all;
}

Answer recall(StoresOfHosts& stores, const std::string& prompt, const store::RecallOptions& options,
              const std::function<bool()>& unwanted) {
  Answer answer;
  const auto recite = [&] {
    answer.question = store::read_question(stores, prompt, options);
    answer.recall = store::recall(stores, answer.question.tokens, options);
  };
  answer.absent = stores.ask(recite, unwanted);
  return answer;
}

config::Json json_of(const StoresOfHosts& stores, const std::string& prompt, const Answer& answer) {
  config::Json json = store::json_of(stores, prompt, answer.question, answer.recall);
  json["absent"] = config::Json::array();
  for (const auto& [address, reason] : answer.absent)
    json["absent"].push_back({{"store", address}, {"reason", reason}});
  return json;
}

}  // namespace tessera::hosts
