#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tessera/sampling/text_writer.h"

namespace tessera::serve {

/// A prompt as it came: a text, or token ids.
using PromptContent = std::variant<std::string, std::vector<int64_t>>;

/// What POST /v1/completions or /v1/chat/completions asks for.
struct CompletionRequest {
  std::string model;  ///< "" for the first one there is
  bool chat = false;
  std::vector<PromptContent> prompts;
  /// What the fields say of it: `ignore_end` is "ignore_eos", `alternatives` is `logprobs`; the
  /// seed is drawn if none is given.
  WritingOptions writing;
  bool limited = false;  ///< whether it names the maximum of tokens; else they must also fit
  int64_t choices = 1;   ///< "n"
  int64_t best_of = 1;   ///< candidates of each prompt, of which the best `choices` return
  bool echo = false;
  std::optional<int64_t> logprobs;  ///< most probable tokens to report with each; none: no scores
  bool token_ids = false;           ///< reports them ("return_token_ids", as vLLM's server)
  bool stream = false;
  bool usage_apart = false;  ///< stream_options.include_usage

  /// Whether the one token that it asks for is the model's first choice, whatever was read.
  bool is_greedy() const;
};

/// Throws ApiError that names the field. Unknown fields are ignored.
CompletionRequest completion_request(const nlohmann::json& body);
/// The same for a chat, whose messages become one prompt (chat_prompt).
CompletionRequest chat_request(const nlohmann::json& body);

/// The text that a base model continues for a list of {"role", "content"}:
///
///     role: content
///
///     role: content
///
///     assistant:
///
/// There is no more to it: the model has not been taught to answer. kChatTemplate says the same in
/// Jinja, the language of tokenizer files. Throws ApiError.
std::string chat_prompt(const nlohmann::json& messages);

inline constexpr const char* kChatTemplate =
    "{% for message in messages %}{{ message['role'] + ': ' + message['content'] + '\\n\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ 'assistant:' }}{% endif %}";

}  // namespace tessera::serve
