#include "program/serve/choice.h"

#include <algorithm>
#include <cmath>

#include "tessera/base/config.h"
#include "tessera/base/utf8.h"

namespace tessera::serve {
namespace {

/// JSON has no -infinity; OpenAI's API shows it as this.
constexpr double kImpossible = -9999.0;

double finite(double log_probability) {
  return std::isfinite(log_probability) ? log_probability : kImpossible;
}

nlohmann::ordered_json bytes_json(const std::string& bytes) {
  auto json = nlohmann::ordered_json::array();
  for (const char byte : bytes) json.push_back(static_cast<unsigned char>(byte));
  return json;
}

/// A text ends at its maximum of tokens, or by itself.
std::string_view openai_name(Finish finish) {
  return finish == Finish::kMaxTokens ? "length" : "stop";
}

/// The token itself among the most probable ones. It comes first where it is as probable as the
/// first of them, so that a reader who looks for the maximum finds it.
std::vector<TokenChoice> with_itself(const ScoredToken& token) {
  std::vector<TokenChoice> choices = token.alternatives;
  const TokenChoice own = {token.token, *token.log_probability};
  std::erase_if(choices, [&](const TokenChoice& choice) { return choice.token == own.token; });
  const auto place = std::find_if(choices.begin(), choices.end(), [&](const TokenChoice& choice) {
    return choice.log_probability <= own.log_probability;
  });
  choices.insert(place, own);
  return choices;
}

}  // namespace

Choice::Choice(const ServedModel& model, ChoiceForm form, ChoiceReport report)
    : model_(&model), form_(form), report_(report) {}

void Choice::count(int64_t token) {
  characters_ += utf8::code_points(read_.push(model_->bytes_of(token)));
}

void Choice::add_prompt(const TokenIds& prompt, bool echo, std::span<const ScoredToken> tokens) {
  TextStream shown;
  if (report_.token_ids) prompt_ids_ = prompt;
  for (size_t i = 0; i < prompt.size(); ++i) {
    if (echo && report_.logprobs) report(tokens[i]);
    if (echo) text_ += shown.push(model_->bytes_of(prompt[i]));
    count(prompt[i]);
  }
  text_ += shown.finish();
}

void Choice::add(const Written& written) {
  text_ += written.text;
  if (written.finish) finish_ = written.finish;
  if (!written.token) return;
  const ScoredToken& token = *written.token;
  if (report_.logprobs) report(token);
  ids_.push_back(token.token);
  count(token.token);
  log_probability_ += *token.log_probability;
  ++tokens_;
}

void Choice::report(const ScoredToken& token) {
  if (form_ != ChoiceForm::kText) {
    content_.push_back(content_report(token));
    return;
  }
  tokens_shown_.push_back(model_->shown(token.token));
  token_logprobs_.push_back(token.log_probability ? Json(finite(*token.log_probability))
                                                  : Json(nullptr));
  top_logprobs_.push_back(token.log_probability ? text_report(token) : Json(nullptr));
  text_offset_.push_back(characters_);
}

/// {"token": its log-probability, …}
Choice::Json Choice::text_report(const ScoredToken& token) {
  Json report = Json::object();
  for (const auto& [id, log_probability] : with_itself(token))
    if (const std::string name = model_->shown(id); !report.contains(name))
      report[name] = finite(log_probability);
  return report;
}

Choice::Json Choice::content_report(const ScoredToken& token) const {
  const auto entry = [&](int64_t id, double log_probability) {
    return Json{{"token", model_->shown(id)},
                {"logprob", finite(log_probability)},
                {"bytes", bytes_json(model_->bytes_of(id))}};
  };
  Json report = entry(token.token, token.log_probability.value_or(0));
  report["top_logprobs"] = Json::array();
  for (const auto& [id, log_probability] : token.alternatives)
    report["top_logprobs"].push_back(entry(id, log_probability));
  return report;
}

double Choice::mean_log_probability() const {
  return tokens_ > 0 ? log_probability_ / static_cast<double>(tokens_) : 0;
}

bool Choice::has_news() const {
  return !text_.empty() || !ids_.empty() || !tokens_shown_.empty() || finish_;
}

Choice::Json Choice::flush(int64_t index) {
  const auto taken = [](Json& list) {
    return list.is_null() ? Json::array() : std::exchange(list, nullptr);
  };
  Json json = {{"index", index}};
  if (begins()) {
    begun_ = true;
    json["delta"] = {{"role", "assistant"}, {"content", ""}};
    for (const char* nothing : {"logprobs", "finish_reason", "finish"}) json[nothing] = nullptr;
    return json;
  }
  if (form_ == ChoiceForm::kText)
    json["text"] = text_;
  else if (form_ == ChoiceForm::kMessage)
    json["message"] = {{"role", "assistant"}, {"content", text_}, {"refusal", nullptr}};
  else
    json["delta"] = text_.empty() && ids_.empty() ? Json::object() : Json{{"content", text_}};
  text_.clear();
  json["logprobs"] = nullptr;
  if (report_.logprobs && form_ == ChoiceForm::kText)
    json["logprobs"] = {{"tokens", taken(tokens_shown_)},
                        {"token_logprobs", taken(token_logprobs_)},
                        {"top_logprobs", taken(top_logprobs_)},
                        {"text_offset", taken(text_offset_)}};
  else if (report_.logprobs)
    json["logprobs"] = {{"content", taken(content_)}, {"refusal", nullptr}};
  if (!prompt_ids_.empty() && form_ == ChoiceForm::kText)
    json["prompt_token_ids"] = std::exchange(prompt_ids_, {});
  if (report_.token_ids) json["token_ids"] = ids_;
  ids_.clear();
  json["finish_reason"] = finish_ ? Json(openai_name(*finish_)) : Json(nullptr);
  json["finish"] = finish_ ? Json(config::enum_name(*finish_)) : Json(nullptr);
  return json;
}

}  // namespace tessera::serve
