// A store as one of several that answer together (hosts/stores_of_hosts.h): what each is asked for.

#include <cstring>
#include <nlohmann/json.hpp>

#include "program/serve/api_error.h"
#include "program/serve/fields.h"
#include "program/serve/service.h"
#include "tessera/base/config.h"
#include "tessera/base/number.h"
#include "tessera/store/store_json.h"

namespace tessera::serve {
namespace {

using config::Json;
using store::MemoStore;

constexpr int64_t kMostSourcesOfToken = 1000;
constexpr int64_t kMostRows = 65536;
constexpr int64_t kMostTokens = 131072;  // of a text: the longest window, and as long a recital

template <typename Number>
Response binary_response(std::span<const Number> numbers) {
  const auto bytes = std::as_bytes(numbers);
  return {.content_type = "application/octet-stream",
          .body = {reinterpret_cast<const char*>(bytes.data()), bytes.size()}};
}

/// The whole number "?name=" of a request's query, 0 where there is none. Throws ApiError 400.
int64_t query_number(const Request& request, const std::string& name, int64_t least, int64_t most) {
  const std::string text = request.parameter(name, "0");
  const auto number = number_from<int64_t>(text);
  if (!number || *number < least || *number > most)
    throw ApiError(400, "?{}= is '{}', expected a whole number from {} to {}", name, text, least,
                   most)
        .about(name);
  return *number;
}

/// Whoever adds up what several stores answer needs all answers from one state of each.
void check_change(const MemoStore& store, const Request& request) {
  const int64_t asked = query_number(request, "change", 0, INT64_MAX);
  const int64_t now = store.ledger().state();
  if (asked != now)
    throw ApiError(409, "the store is at change {}, the request is for change {}", now, asked)
        .about("change")
        .with_code("store_changed");
}

Response describe_part(const MemoStore& store) {
  return json_response({{"config", Json::parse(store.config().text())},
                        {"change", store.ledger().state()},
                        {"documents", store.ledger().totals().documents},
                        {"token_counts", store.token_counts()}});
}

/// Rows of a matrix: 32 or 64 bits for each entry.
Response rows_of_matrix(const MemoStore& store, const Request& request, const Service& service) {
  const auto& config = store.config().memory;
  const int64_t matrix = query_number(request, "matrix", 0, config.shards - 1);
  const int64_t first = query_number(request, "first", 0, config.dimension - 1);
  const int64_t rows =
      query_number(request, "rows", 1, std::min(kMostRows, config.dimension - first));
  const auto& entries = store.memory().shards()[matrix].matrix();
  const double row_bytes = static_cast<double>(config.dimension * entries.bits() / 8);
  service.check_answer(static_cast<double>(rows) * row_bytes, "rows");
  return binary_response<std::byte>(entries.bytes(first, rows));
}

/// The values [n, d] of n keys. The body: the matrix of each key, 32 bits, then the keys [n, d],
/// 8 bits.
Response values_of_keys(const MemoStore& store, const Request& request) {
  const auto& config = store.config().memory;
  const size_t d = config.dimension;
  const size_t n = request.body.size() / (sizeof(uint32_t) + d);
  if (n == 0 || request.body.size() != n * (sizeof(uint32_t) + d))
    throw ApiError(400, "the body has {} bytes, expected {} for each key", request.body.size(),
                   sizeof(uint32_t) + d);
  memo::WindowQueries queries;
  for (size_t i = 0; i < n; ++i) {
    uint32_t matrix = 0;
    std::memcpy(&matrix, &request.body[i * sizeof matrix], sizeof matrix);
    if (matrix >= static_cast<uint32_t>(config.shards))
      throw ApiError(400, "key {} asks for matrix {}, expected 0 to {}", i, matrix,
                     config.shards - 1);
    queries.shards.push_back(matrix);
  }
  queries.keys.resize(n * d);
  std::memcpy(queries.keys.data(), &request.body[n * sizeof(uint32_t)], n * d);
  return binary_response<float>(store.memory().retrieve(queries));
}

Response readings_of_text(const MemoStore& store, const Request& request) {
  const auto body = json_body(request);
  const store::Readings readings = store.readings(Fields(body).required_text("prompt"));
  Json questions = Json::array();
  for (const store::Question& question : readings.questions)
    questions.push_back({{"tokens", question.tokens},
                         {"rest", std::vector<uint8_t>(question.rest.begin(), question.rest.end())},
                         {"text", question.text}});
  return json_response({{"differences", readings.differences},
                        {"doubt", readings.doubt},
                        {"likeness", readings.likeness},
                        {"readings", std::move(questions)}});
}

Response sources_of_tokens(const MemoStore& store, const Request& request) {
  const auto body = json_body(request);
  const Fields fields(body);
  const double last_id = store.config().memory.vocabulary - 1;
  std::vector<int64_t> ids;
  fields.read({{"tokens", "", &ids, {.least = 0, .most = last_id, .required = true}}});
  const std::vector<int32_t> tokens(ids.begin(), ids.end());
  if (std::ssize(tokens) > kMostTokens)
    throw ApiError(413, "'tokens' holds {} tokens, expected at most {}", tokens.size(), kMostTokens)
        .about("tokens");
  int64_t first = 0, most = 3;
  fields.read({{"first", "", &first, config::between(0, static_cast<double>(tokens.size()))},
               {"most", "", &most, config::between(1, kMostSourcesOfToken)}});
  const int64_t asked = (std::ssize(tokens) - first) * most;
  if (asked > hosts::kMostSourcesAtOnce)
    throw ApiError(413, "{} sources are asked for ('most' for each token), expected at most {}",
                   asked, hosts::kMostSourcesAtOnce)
        .about("most");
  Json list = Json::array();
  for (const store::TokenSources& found : store.sources(tokens, first, most)) {
    Json best = Json::array();
    for (const store::Source& source : found.best) best.push_back(store::json_of(source));
    list.push_back({{"places", found.places}, {"best", std::move(best)}});
  }
  return json_response({{"sources", std::move(list)}});
}

}  // namespace

void add_part_routes(Router& router, Service& service) {
  const auto add = [&](const std::string& method, const std::string& path, auto&& answer) {
    router.add(method, "/v1/stores/{store}/part" + path,
               [&service, answer](const Request& request) {
                 Response response;
                 const auto read = [&](const ServedStore::Snapshot& snapshot) {
                   response = answer(snapshot.store, request);
                 };
                 store_of(service, request)->read(read, service.unwanted(request.hung_up));
                 return response;
               });
  };
  const auto of_one_state = [](auto&& answer) {
    return [answer](const MemoStore& store, const Request& request) {
      check_change(store, request);
      return answer(store, request);
    };
  };
  add("GET", "", [](const MemoStore& store, const Request&) { return describe_part(store); });
  add("GET", "/tokenizer", [](const MemoStore& store, const Request&) {
    return Response{.body = store.tokenizer().to_json()};
  });
  add("GET", "/matrix", of_one_state([&](const MemoStore& store, const Request& request) {
        return rows_of_matrix(store, request, service);
      }));
  add("POST", "/values", of_one_state(values_of_keys));
  add("POST", "/readings", of_one_state(readings_of_text));
  add("POST", "/sources", of_one_state(sources_of_tokens));
}

}  // namespace tessera::serve
