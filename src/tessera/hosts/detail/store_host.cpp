#include "tessera/hosts/detail/store_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "tessera/base/error.h"
#include "tessera/base/utf8.h"
#include "tessera/hosts/detail/http_client.h"
#include "tessera/hosts/stores_of_hosts.h"

namespace tessera::hosts {

namespace {

using nlohmann::json;

constexpr size_t kMostTextBytes = size_t{1} << 26;   // of an answer in JSON
constexpr size_t kMostErrorBytes = size_t{1} << 16;  // of one that refuses
constexpr int64_t kLargestCount = int64_t{1} << 53;
constexpr size_t kMostRest = 4096;  // bytes
/// Of what keys of 8 bits read of 2^17 entries of 64 bits; scores of such values are finite.
constexpr float kLargestValue = 0x1p87f;
constexpr int kChanged = 409;

json parse_answer(const std::string& text) {
  try {
    return config::parse_sorted_json(text, "its answer");
  } catch (const DataError& error) {
    throw HostError(error.what());
  }
}

/// what: names the number in the message.
int64_t whole_number(const json& value, const char* what, int64_t least, int64_t most) {
  const bool fits = value.is_number_integer() &&
                    !(value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX);
  if (!fits || value.get<int64_t>() < least || value.get<int64_t>() > most)
    throw HostError(fmt::format("its answer has {} that is not a whole number from {} to {}", what,
                                least, most));
  return value.get<int64_t>();
}

/// Reads the fields of a JSON object that a host answered. Members throw HostError, which names the
/// field, where it is missing or not what it should be.
class AnswerFields {
 public:
  /// The object must outlive it.
  explicit AnswerFields(const json& object) : object_(object) {
    if (!object.is_object())
      throw HostError("its answer has something else in the place of an object");
  }

  const json& value(const char* name) const {
    const auto found = object_.find(name);
    if (found == object_.end()) throw HostError(fmt::format("its answer lacks '{}'", name));
    return *found;
  }

  int64_t whole(const char* name, int64_t least, int64_t most) const {
    return whole_number(value(name), name, least, most);
  }

  std::string text(const char* name) const {
    const json& found = value(name);
    if (!found.is_string())
      throw HostError(fmt::format("its answer has a '{}' that is not a text", name));
    return found.get<std::string>();
  }

  /// A list of at most so many values.
  const json& list(const char* name, size_t most) const {
    const json& found = value(name);
    if (!found.is_array() || found.size() > most)
      throw HostError(
          fmt::format("its answer has a '{}' that is not a list of at most {}", name, most));
    return found;
  }

 private:
  const json& object_;
};

store::StoreConfig config_of(const json& value) {
  store::StoreConfig config;
  try {
    config::from_json(config::Json(value), config, "");
    memo::check_config(config.memory);
  } catch (const std::exception& error) {
    throw HostError(fmt::format("its configuration is not that of a store: {}", error.what()));
  }
  return config;
}

std::vector<int32_t> tokens_of(const AnswerFields& fields, int64_t vocabulary) {
  std::vector<int32_t> tokens;
  for (const json& token : fields.list("tokens", kMostTextBytes))
    tokens.push_back(static_cast<int32_t>(whole_number(token, "a token", 0, vocabulary - 1)));
  return tokens;
}

/// Whether a text has control characters other than white space, which its reader's terminal would
/// obey.
bool has_commands(std::string text) {
  std::erase_if(text, [](char c) { return c >= '\t' && c <= '\r'; });
  return !utf8::is_printable(text);
}

store::Question question_of(const json& value, const PartState& state) {
  const AnswerFields fields(value);
  store::Question question;
  question.tokens = tokens_of(fields, state.config.memory.vocabulary);
  if (std::ssize(question.tokens) < memo::window_lengths(state.config.memory).front())
    throw HostError("its answer has a reading that is shorter than every window");
  question.text = fields.text("text");
  if (has_commands(question.text)) throw HostError("its answer has a text with control characters");
  for (const json& byte : fields.list("rest", kMostRest))
    question.rest += static_cast<char>(whole_number(byte, "a byte", 0, 255));
  return question;
}

store::Source source_of(const json& value) {
  const AnswerFields fields(value);
  const auto count = [&](const char* name) { return fields.whole(name, 0, kLargestCount); };
  store::Source source = {.document = fields.text("document"),
                          .position = count("position"),
                          .matched_length = count("matched_length"),
                          .byte = count("byte"),
                          .character = count("character"),
                          .line = count("line")};
  if (!utf8::is_printable(source.document))
    throw HostError("its answer has a document's name with control characters");
  return source;
}

store::TokenSources token_sources_of(const json& value, size_t most) {
  const AnswerFields fields(value);
  store::TokenSources sources;
  sources.places = fields.whole("places", 0, kLargestCount);
  for (const json& source : fields.list("best", most)) sources.best.push_back(source_of(source));
  return sources;
}

HostRequest json_request(const std::string& path, const json& asked) {
  return {.path = path,
          .content_type = "application/json",
          .body = asked.dump(),
          .most_bytes = kMostTextBytes};
}

/// What an answer that is an error says.
std::string message_of(const HostAnswer& answer) {
  try {
    const json error = config::parse_sorted_json(answer.body, "").at("error");
    return error.at("message").get<std::string>();
  } catch (const std::exception&) {
    return "no message";
  }
}

}  // namespace

StoreHost::StoreHost(const std::string& address, double seconds, const std::string& key,
                     std::function<bool()> unwanted)
    : address_(address), client_(checked_address(address), seconds, key, std::move(unwanted)) {}

std::string StoreHost::ask(HostRequest&& request) {
  request.path = "/part" + request.path;
  request.most_bytes = std::max(request.most_bytes, kMostErrorBytes);
  HostAnswer answer = client_.ask(request);
  if (answer.status == 200) return std::move(answer.body);
  const std::string what = fmt::format("status {}: {}", answer.status, message_of(answer));
  if (answer.status == kChanged) throw StoreChanged(what);
  throw HostError(what);
}

std::string StoreHost::ask_of_state(const PartState& state, HostRequest&& request) {
  request.path += fmt::format(
      "{}change={}", request.path.find('?') == std::string::npos ? '?' : '&', state.change);
  return ask(std::move(request));
}

PartState StoreHost::state() {
  const json answer = parse_answer(ask({.most_bytes = kMostTextBytes}));
  const AnswerFields fields(answer);
  PartState state;
  state.config = config_of(fields.value("config"));
  state.change = fields.whole("change", 0, kLargestCount);
  const size_t vocabulary = state.config.memory.vocabulary;
  for (const json& count : fields.list("token_counts", vocabulary))
    state.token_counts.push_back(whole_number(count, "a count", 0, kLargestCount));
  if (state.token_counts.size() != vocabulary)
    throw HostError(fmt::format("its answer has {} token counts, expected {}",
                                state.token_counts.size(), vocabulary));
  return state;
}

Tokenizer StoreHost::tokenizer(const store::StoreConfig& config) {
  const std::string text = ask({.path = "/tokenizer", .most_bytes = kMostTextBytes});
  try {
    Tokenizer tokenizer = Tokenizer::parse(text, address_);
    if (store::digest_of(tokenizer) == config.tokenizer &&
        tokenizer.vocabulary_size() == config.memory.vocabulary)
      return tokenizer;
  } catch (const DataError& error) {
    throw HostError(fmt::format("its tokenizer is damaged: {}", error.what()));
  }
  throw HostError("its tokenizer is not the one that its configuration names");
}

std::vector<int64_t> StoreHost::rows_of_matrix(const PartState& state, int64_t matrix,
                                               int64_t first, int64_t rows) {
  const size_t count = rows * state.config.memory.dimension;
  const std::string bytes = ask_of_state(
      state, {.path = fmt::format("/matrix?matrix={}&first={}&rows={}", matrix, first, rows),
              .most_bytes = count * sizeof(int64_t)});
  std::vector<int64_t> entries(count);
  if (bytes.size() == count * sizeof(int32_t)) {
    std::vector<int32_t> narrow(count);
    std::memcpy(narrow.data(), bytes.data(), bytes.size());
    entries.assign(narrow.begin(), narrow.end());
  } else if (bytes.size() == count * sizeof(int64_t)) {
    std::memcpy(entries.data(), bytes.data(), bytes.size());
  } else {
    throw HostError(fmt::format("its matrix has {} bytes in {} rows, expected {} or {}",
                                bytes.size(), rows, count * sizeof(int32_t),
                                count * sizeof(int64_t)));
  }
  return entries;
}

std::vector<float> StoreHost::retrieve(const PartState& state, const memo::WindowQueries& queries) {
  const size_t d = state.config.memory.dimension;
  const size_t n = queries.keys.size() / d;
  std::vector<uint32_t> matrices(queries.shards.begin(), queries.shards.end());
  matrices.resize(n);  // without shards there is one matrix, 0
  std::string body(n * sizeof(uint32_t) + n * d, '\0');
  std::memcpy(body.data(), matrices.data(), n * sizeof(uint32_t));
  std::memcpy(&body[n * sizeof(uint32_t)], queries.keys.data(), n * d);
  const std::string bytes = ask_of_state(state, {.path = "/values",
                                                 .content_type = "application/octet-stream",
                                                 .body = std::move(body),
                                                 .most_bytes = n * d * sizeof(float)});
  std::vector<float> values(n * d);
  if (bytes.size() != values.size() * sizeof(float))
    throw HostError(fmt::format("its answer has {} bytes, expected {}", bytes.size(),
                                values.size() * sizeof(float)));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  for (const float value : values)
    if (!(std::abs(value) <= kLargestValue))
      throw HostError("its answer has a value that is not a number, or is too large");
  return values;
}

store::Readings StoreHost::readings(const PartState& state, std::string_view typed) {
  std::string prompt;  // JSON holds UTF-8 only: spaces in the place of other bytes
  utf8::CharacterCutter().append(typed, [&](std::string_view bytes, std::optional<char32_t> code) {
    prompt += code ? bytes : " ";
  });
  const json answer =
      parse_answer(ask_of_state(state, json_request("/readings", {{"prompt", prompt}})));
  const AnswerFields fields(answer);
  store::Readings readings;
  readings.differences = fields.whole("differences", 0, INT64_MAX);
  readings.doubt = fields.whole("doubt", 0, INT64_MAX);
  readings.likeness = static_cast<int>(fields.whole("likeness", 0, 3));
  for (const json& value : fields.list("readings", store::Readings::kMost)) {
    readings.questions.push_back(question_of(value, state));
    readings.questions.back().differences = readings.differences;
  }
  return readings;
}

/// A token's sources depend on nothing that comes after it.
std::vector<store::TokenSources> StoreHost::sources(const PartState& state,
                                                    std::span<const int32_t> text, size_t first,
                                                    size_t most) {
  const size_t at_once = kMostSourcesAtOnce / std::clamp<size_t>(most, 1, kMostSourcesAtOnce);
  std::vector<store::TokenSources> sources;
  for (size_t begin = first; begin < text.size(); begin += at_once) {
    const size_t end = std::min(text.size(), begin + at_once);
    for (auto& token : sources_at_once(state, text.first(end), begin, most))
      sources.push_back(std::move(token));
  }
  return sources;
}

std::vector<store::TokenSources> StoreHost::sources_at_once(const PartState& state,
                                                            std::span<const int32_t> text,
                                                            size_t first, size_t most) {
  const json asked = {
      {"tokens", std::vector<int32_t>(text.begin(), text.end())}, {"first", first}, {"most", most}};
  const json answer = parse_answer(ask_of_state(state, json_request("/sources", asked)));
  const size_t expected = text.size() - first;
  std::vector<store::TokenSources> sources;
  for (const json& value : AnswerFields(answer).list("sources", expected))
    sources.push_back(token_sources_of(value, most));
  if (sources.size() != expected)
    throw HostError(fmt::format("its answer has the sources of {} tokens, expected {}",
                                sources.size(), expected));
  return sources;
}

}  // namespace tessera::hosts
