#include "program/serve/completion_request.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "program/serve/api_error.h"
#include "program/serve/fields.h"
#include "tessera/base/error.h"
#include "tessera/base/number.h"

namespace tessera::serve {
namespace {

using nlohmann::json;

// OpenAI's limits, where it states any.
constexpr int64_t kMostPrompts = 2048;
constexpr int64_t kMostChoices = 128;
constexpr int64_t kMostLogprobs = 20;
constexpr size_t kMostStops = 16;
constexpr int64_t kDefaultTokens = 16;
constexpr int64_t kDefaultChatTokens = 256;

/// The list's whole numbers from 0 on, if it is one that holds nothing else.
std::optional<std::vector<int64_t>> ids_of(const json& list) {
  if (!list.is_array()) return std::nullopt;
  std::vector<int64_t> result;
  for (const json& one : list) {
    if (!one.is_number_unsigned() || one.get<uint64_t>() > INT32_MAX) return std::nullopt;
    result.push_back(one.get<int64_t>());
  }
  return result;
}

/// A text, a list of texts, a list of ids, or a list of lists of ids.
std::vector<PromptContent> prompts_of(const Fields& fields) {
  const json& prompt = fields.value("prompt");
  if (prompt.is_string()) return {prompt.get<std::string>()};
  const auto refuse = [&] {
    fields.refuse("prompt", "a string, a list of strings, of token ids, or of lists of token ids");
  };
  if (!prompt.is_array() || prompt.empty()) refuse();
  if (auto ids = ids_of(prompt)) return {*std::move(ids)};
  std::vector<PromptContent> prompts;
  for (const json& one : prompt) {
    if (one.is_string())
      prompts.emplace_back(one.get<std::string>());
    else if (auto ids = ids_of(one))
      prompts.emplace_back(*std::move(ids));
    else
      refuse();
  }
  if (std::ssize(prompts) > kMostPrompts)
    throw ApiError(400, "'prompt' holds {} prompts, expected at most {}", prompts.size(),
                   kMostPrompts)
        .about("prompt");
  return prompts;
}

/// {"50256": -100, …}
std::map<int64_t, double> bias_of(const Fields& fields) {
  std::map<int64_t, double> bias;
  const json& found = fields.value("logit_bias");
  if (found.is_null()) return bias;
  const auto refuse = [&] {
    fields.refuse("logit_bias", "an object of token ids with numbers from -100 to 100");
  };
  if (!found.is_object()) refuse();
  for (const auto& [key, value] : found.items()) {
    const auto token = number_from<int64_t>(key);
    if (!token || *token < 0) refuse();
    if (!value.is_number() || !(std::abs(value.get<double>()) <= 100)) refuse();
    bias[*token] = value.get<double>();
  }
  return bias;
}

/// As the library's, with OpenAI's bounds of penalties and two customs: top_k may be -1 for all,
/// and without a seed every answer is another one.
SamplingOptions sampling_of(const Fields& fields) {
  SamplingOptions sampling;
  auto known = config::fields_of(sampling);
  std::erase_if(known, [](const config::Field& field) { return field.name == "seed"; });
  for (config::Field& field : known) {
    if (field.name == "top_k") field.demand.least = -1;
    if (field.name == "frequency_penalty" || field.name == "presence_penalty")
      field.demand = config::between(-2, 2);
  }
  fields.read(known);
  sampling.top_k = std::max<int64_t>(0, sampling.top_k);
  sampling.logit_bias = bias_of(fields);
  std::optional<int64_t> seed;  // OpenAI allows any
  fields.read({{"seed", "", &seed}});
  sampling.seed = seed ? static_cast<uint64_t>(*seed) : std::random_device{}();
  return sampling;
}

std::vector<std::string> stops_of(const Fields& fields) {
  std::vector<std::string> stops;
  if (const json& found = fields.value("stop"); found.is_string())
    stops = {found.get<std::string>()};
  else if (found.is_array())
    fields.read({{"stop", "", &stops}});
  else if (!found.is_null())
    fields.refuse("stop", "a string or a list of strings");
  if (stops.size() > kMostStops)
    throw ApiError(400, "'stop' holds {} texts, expected at most {}", stops.size(), kMostStops)
        .about("stop");
  for (const auto& stop : stops)
    if (stop.empty()) fields.refuse("stop", "texts that are not empty");
  return stops;
}

/// What both kinds of request have in common.
CompletionRequest common_request(const Fields& fields) {
  CompletionRequest request;
  request.model = fields.text("model").value_or("");
  request.writing.sampling = sampling_of(fields);
  request.writing.stop = stops_of(fields);
  fields.read({{"n", "", &request.choices, config::between(1, kMostChoices)},
               {"ignore_eos", "", &request.writing.ignore_end},
               {"return_token_ids", "", &request.token_ids},
               {"stream", "", &request.stream}});
  request.best_of = request.choices;
  if (const json& format = fields.value("response_format"); !format.is_null())
    if (const auto type = Fields(format, "response_format").text("type").value_or("");
        type != "text")
      throw ApiError(400,
                     "'response_format' asks for '{}', which is not supported: these models write "
                     "free text only",
                     type)
          .about("response_format");
  if (const json& options = fields.value("stream_options"); !options.is_null())
    Fields(options, "stream_options").read({{"include_usage", "", &request.usage_apart}});
  return request;
}

/// The text of a message: a string, or a list of {"type": "text", "text": …}.
std::string content_of(const json& content) {
  if (content.is_string()) return content.get<std::string>();
  if (content.is_null()) return "";
  std::string text;
  if (!content.is_array())
    throw ApiError(400, "a message's 'content' is neither a string nor a list").about("messages");
  for (const json& part : content) {
    const Fields fields(part, "messages");
    if (fields.text("type") != "text")
      throw ApiError(400, "a part of a message has the type {}, expected 'text'",
                     fields.value("type").dump())
          .about("messages");
    text += fields.required_text("text");
  }
  return text;
}

}  // namespace

bool CompletionRequest::is_greedy() const {
  return writing.sampling.temperature == 0 && writing.sampling.logit_bias.empty() &&
         writing.sampling.repetition_penalty == 1 && best_of == 1;
}

CompletionRequest completion_request(const json& body) {
  const Fields fields(body);
  CompletionRequest request = common_request(fields);
  if (const auto suffix = fields.text("suffix"); suffix && !suffix->empty())
    throw ApiError(400, "'suffix' is not supported: these models read from left to right only")
        .about("suffix");
  request.prompts = prompts_of(fields);
  request.writing.max_tokens = kDefaultTokens;
  request.limited = fields.has("max_tokens");
  fields.read({{"max_tokens", "", &request.writing.max_tokens, config::at_least(0)},
               {"echo", "", &request.echo},
               {"logprobs", "", &request.logprobs, config::between(0, kMostLogprobs)},
               {"best_of", "", &request.best_of, config::between(1, kMostChoices)}});
  request.writing.sampling.alternatives = request.logprobs.value_or(0);
  if (request.best_of < request.choices)
    throw ApiError(400, "'best_of' is {}, expected at least 'n', which is {}", request.best_of,
                   request.choices)
        .about("best_of");
  if (request.stream && request.best_of > request.choices)
    throw ApiError(400,
                   "'best_of' is above 'n': which choices are the best is known at the end "
                   "only, so they cannot be streamed")
        .about("best_of");
  return request;
}

CompletionRequest chat_request(const json& body) {
  const Fields fields(body);
  CompletionRequest request = common_request(fields);
  request.chat = true;
  request.prompts = {chat_prompt(fields.value("messages"))};
  const std::string limit =
      fields.has("max_completion_tokens") ? "max_completion_tokens" : "max_tokens";
  request.writing.max_tokens = kDefaultChatTokens;
  request.limited = fields.has(limit);
  bool reports = false;
  std::optional<int64_t> alternatives;
  fields.read({{limit, "", &request.writing.max_tokens, config::at_least(0)},
               {"logprobs", "", &reports},
               {"top_logprobs", "", &alternatives, config::between(0, kMostLogprobs)}});
  if (reports)
    request.logprobs = alternatives.value_or(0);
  else if (alternatives && *alternatives > 0)
    throw ApiError(400, "'top_logprobs' is given without 'logprobs': true").about("top_logprobs");
  request.writing.sampling.alternatives = request.logprobs.value_or(0);
  for (const char* name : {"tools", "functions"})
    if (const json& found = fields.value(name); !found.empty())
      throw ApiError(400, "'{}' is not supported: these models cannot call tools", name)
          .about(name);
  return request;
}

std::string chat_prompt(const json& messages) {
  if (!messages.is_array() || messages.empty())
    throw ApiError(400, "'messages' must be a list of at least one {{\"role\", \"content\"}}")
        .about("messages");
  std::string prompt;
  for (const json& message : messages) {
    const Fields fields(message, "messages");
    prompt += fmt::format("{}: {}\n\n", fields.required_text("role"),
                          content_of(fields.value("content")));
  }
  return prompt + "assistant:";
}

}  // namespace tessera::serve
