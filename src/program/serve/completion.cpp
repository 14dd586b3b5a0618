#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <variant>

#include "program/serve/api_error.h"
#include "program/serve/choice.h"
#include "program/serve/completion_request.h"
#include "program/serve/fields.h"
#include "program/serve/prompts.h"
#include "program/serve/sent_events.h"
#include "program/serve/service.h"
#include "tessera/base/consecutive.h"
#include "tessera/store/recall.h"

namespace tessera::serve {
namespace {

constexpr auto kPatience = std::chrono::milliseconds(100);  // for something new, then it looks up
constexpr auto kBetweenComments =
    std::chrono::seconds(5);             // of life; some clients bear 300 of them
constexpr int64_t kScoredTokens = 4096;  // scored in one go, about

/// "cmpl-18f3…": a number for each answer of this process, after the time that it started.
std::string new_id(bool chat) {
  static const int64_t start = std::chrono::system_clock::now().time_since_epoch().count();
  static std::atomic<int64_t> next = 0;
  return fmt::format("{}{:x}-{:x}", chat ? "chatcmpl-" : "cmpl-", start, next++);
}

/// Whether its client has gone; a stream shows by itself whether anybody reads it.
std::function<bool()> hung_up(const CompletionRequest& request, const Request& http) {
  if (request.stream) return [] { return false; };
  return http.hung_up;
}

ChoiceForm form_of(const CompletionRequest& request) {
  if (!request.chat) return ChoiceForm::kText;
  return request.stream ? ChoiceForm::kDelta : ChoiceForm::kMessage;
}

/// What OpenAI's API calls the answer or, of a stream, each of its events.
std::string object_of(const CompletionRequest& request) {
  if (!request.chat) return "text_completion";
  return request.stream ? "chat.completion.chunk" : "chat.completion";
}

/// One request for completions, from the prompts to the answer. Destroyed, it gives up what the
/// engine still does for it.
class Completion {
 public:
  /// Hands the work to the model's engine. http: the request as it came. Throws ApiError.
  Completion(Service& service, const CompletionRequest& request, const Request& http);

  /// The whole answer, once it is there. Throws ApiError, also where it is unwanted before.
  nlohmann::ordered_json answer();
  /// The answer as server-sent events: one for each token as it is written, before them one that
  /// says who speaks, or one for the prompt where that is shown; comments while nothing comes.
  void stream(EventStream& stream);

 private:
  using Json = nlohmann::ordered_json;
  using Clock = std::chrono::steady_clock;

  struct Scores {
    size_t first;  ///< prompt
    std::vector<std::vector<ScoredToken>> tokens;
  };
  struct News {
    size_t choice;
    Written written;
  };
  using Event = std::variant<Scores, News, std::exception_ptr>;
  /// Where the engine's thread leaves what it has done.
  struct Mailbox {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Event> events;
    void push(Event event) {
      {
        const std::lock_guard lock(mutex);
        events.push_back(std::move(event));
      }
      changed.notify_one();
    }
  };

  bool scores_prompts() const;
  bool is_scored_to_the_end() const;
  EngineRequest work(const std::string& client);
  void add_scoring(EngineRequest& work) const;
  void add_texts(EngineRequest& work) const;
  ScoreJob score_job(size_t first, size_t last) const;
  WritingOptions writing(const ReadPrompt& prompt) const;

  bool ended() const;
  /// Waits for something new and applies it: calls `on_news` with each choice after each change.
  /// Returns false where nothing came for a while. Throws ApiError as answer().
  bool wait(const std::function<void(size_t choice)>& on_news);
  void apply(Scores&& scores, const std::function<void(size_t choice)>& on_news);
  void apply(News&& news, const std::function<void(size_t choice)>& on_news);

  Json head() const;
  Json usage() const;
  std::vector<size_t> best_choices() const;
  Json event(size_t choice, bool last);

  Service& service_;
  const CompletionRequest request_;
  const ServedModels::Model model_;
  const std::string id_;
  const int64_t created_ = unix_seconds(std::chrono::system_clock::now());
  Clock::time_point started_ = Clock::now();
  const Unwanted unwanted_;
  const std::function<bool()> may_have_gone_;
  const std::vector<ReadPrompt> prompts_;
  std::vector<Choice> choices_;  // best_of for each prompt
  std::set<size_t> scored_;      // prompts whose scores have come
  std::vector<News> early_;      // what was written after the others, which comes behind them
  bool has_tokens_ = false;
  bool prompts_shown_ = false;
  std::shared_ptr<Mailbox> mailbox_ = std::make_shared<Mailbox>();
  Engine::Ticket ticket_;
};

Completion::Completion(Service& service, const CompletionRequest& request, const Request& http)
    : service_(service),
      request_(request),
      model_(service.models.find(request.model)),
      id_(new_id(request.chat)),
      unwanted_(service.unwanted(hung_up(request, http))),
      may_have_gone_(http.may_have_gone),
      prompts_(read_prompts(request_, *model_, unwanted_)) {
  check_request_size(request_, prompts_, service_, *model_);
  for (const auto& [prompt, rest] : prompts_)
    for (int64_t i = 0; i < request_.best_of; ++i) {
      Choice& choice = choices_.emplace_back(
          *model_, form_of(request_),
          ChoiceReport{.logprobs = request_.logprobs.has_value(), .token_ids = request_.token_ids});
      if (scores_prompts()) continue;
      choice.add_prompt(prompt, request_.echo, {});
      if (request_.writing.max_tokens == 0) choice.end(Finish::kMaxTokens);
    }
  if (!ended()) ticket_ = model_->engine->submit(work(http.asker));
}

bool Completion::scores_prompts() const {
  return request_.echo && request_.logprobs;
}

/// Whether the scores of the prompts already give the answer.
bool Completion::is_scored_to_the_end() const {
  const int64_t tokens = request_.writing.max_tokens;
  return scores_prompts() && (tokens == 0 || (tokens == 1 && request_.is_greedy()));
}

EngineRequest Completion::work(const std::string& client) {
  EngineRequest work;
  work.client = client;
  work.on_failure = [mailbox = mailbox_](std::exception_ptr error) { mailbox->push(error); };
  if (scores_prompts()) add_scoring(work);
  if (!is_scored_to_the_end()) add_texts(work);
  return work;
}

/// The prompts in groups that are scored in one go.
void Completion::add_scoring(EngineRequest& work) const {
  for (size_t first = 0; first < prompts_.size();) {
    int64_t tokens = std::ssize(prompts_[first].tokens);
    size_t last = first + 1;
    while (last < prompts_.size() && tokens + std::ssize(prompts_[last].tokens) <= kScoredTokens)
      tokens += std::ssize(prompts_[last++].tokens);
    work.scores.push_back(score_job(first, last));
    first = last;
  }
}

ScoreJob Completion::score_job(size_t first, size_t last) const {
  ScoreJob job;
  for (size_t i = first; i < last; ++i) job.texts.push_back(prompts_[i].tokens);
  job.alternatives = *request_.logprobs;
  job.on_scores = [mailbox = mailbox_, first](std::vector<std::vector<ScoredToken>>&& tokens) {
    mailbox->push(Scores{first, std::move(tokens)});
  };
  return job;
}

void Completion::add_texts(EngineRequest& work) const {
  for (size_t choice = 0; choice < choices_.size(); ++choice) {
    TextJob job;
    const ReadPrompt& prompt = prompts_[choice / request_.best_of];
    job.prompt = prompt.tokens;
    job.writing = writing(prompt);
    job.sequence = choice % request_.best_of;
    job.on_news = [mailbox = mailbox_, choice](Written&& written) {
      mailbox->push(News{choice, std::move(written)});
    };
    work.texts.push_back(std::move(job));
  }
}

/// What was asked for, with the model's tokens. The model outlives what its engine writes.
WritingOptions Completion::writing(const ReadPrompt& prompt) const {
  WritingOptions options = request_.writing;
  options.token_bytes = store::bytes_after(model_->tokenizer, prompt.rest);
  if (!options.ignore_end) options.end_of_text = model_->tokenizer.end_of_text();
  if (const auto longest = model_->engine->longest_text(); longest && !request_.limited) {
    // The last token that is written is not read.
    const int64_t room = *longest + 1 - std::ssize(prompt.tokens);
    options.max_tokens = std::clamp<int64_t>(room, 1, options.max_tokens);
  }
  return options;
}

bool Completion::ended() const {
  return std::ranges::all_of(choices_, &Choice::ended);
}

bool Completion::wait(const std::function<void(size_t)>& on_news) {
  std::deque<Event> events;
  {
    std::unique_lock lock(mailbox_->mutex);
    mailbox_->changed.wait_for(lock, kPatience, [this] { return !mailbox_->events.empty(); });
    events.swap(mailbox_->events);
  }
  for (Event& event : events) {
    if (const auto* error = std::get_if<std::exception_ptr>(&event))
      throw as_api_error(*error);
    else if (auto* scores = std::get_if<Scores>(&event))
      apply(std::move(*scores), on_news);
    else if (auto* news = std::get_if<News>(&event))
      apply(std::move(*news), on_news);
  }
  if (!ended() && unwanted_()) throw given_up();
  const std::chrono::duration<double> passed = Clock::now() - started_;
  if (!events.empty() && !std::exchange(has_tokens_, true))
    service_.metrics.first_token_seconds.observe(passed.count());
  return !events.empty();
}

void Completion::apply(Scores&& scores, const std::function<void(size_t)>& on_news) {
  for (size_t i = 0; i < scores.tokens.size(); ++i) {
    const auto& tokens = scores.tokens[i];
    const size_t number = scores.first + i;
    const ReadPrompt& prompt = prompts_[number];
    const WritingOptions options = writing(prompt);
    for (int64_t sample = 0; sample < request_.best_of; ++sample) {
      const size_t index = number * request_.best_of + sample;
      Choice& choice = choices_[index];
      choice.add_prompt(prompt.tokens, true, std::span(tokens).first(tokens.size() - 1));
      if (options.max_tokens == 0) choice.end(Finish::kMaxTokens);
      on_news(index);
      if (options.max_tokens == 0 || !is_scored_to_the_end()) continue;
      choice.add(TextWriter(options, 0, prompt.tokens.size()).add(tokens.back()));
      on_news(index);
    }
    scored_.insert(number);
  }
  for (News& news : std::exchange(early_, {})) apply(std::move(news), on_news);
}

/// A short prompt may be written on while longer ones are still scored with it.
void Completion::apply(News&& news, const std::function<void(size_t)>& on_news) {
  if (scores_prompts() && !scored_.contains(news.choice / request_.best_of)) {
    early_.push_back(std::move(news));
    return;
  }
  choices_[news.choice].add(news.written);
  on_news(news.choice);
}

Completion::Json Completion::head() const {
  return {
      {"id", id_}, {"object", object_of(request_)}, {"created", created_}, {"model", model_->name}};
}

Completion::Json Completion::usage() const {
  int64_t read = 0, written = 0;
  for (const auto& [prompt, rest] : prompts_) read += std::ssize(prompt);
  for (const Choice& choice : choices_) written += choice.tokens();
  return {
      {"prompt_tokens", read}, {"completion_tokens", written}, {"total_tokens", read + written}};
}

/// For each prompt the `choices` candidates with the highest mean log-probability, best first; all
/// in their order where there are no others.
std::vector<size_t> Completion::best_choices() const {
  std::vector<size_t> best;
  for (size_t prompt = 0; prompt < prompts_.size(); ++prompt) {
    std::vector<size_t> candidates =
        consecutive<size_t>(request_.best_of, prompt * request_.best_of);
    if (request_.best_of > request_.choices)
      std::ranges::stable_sort(candidates, std::greater(), [&](size_t candidate) {
        return choices_[candidate].mean_log_probability();
      });
    best.insert(best.end(), candidates.begin(), candidates.begin() + request_.choices);
  }
  return best;
}

Completion::Json Completion::answer() {
  while (!ended()) wait([](size_t) {});
  Json json = head();
  json["choices"] = Json::array();
  for (const size_t choice : best_choices())
    json["choices"].push_back(choices_[choice].flush(std::ssize(json["choices"])));
  if (request_.token_ids && request_.chat) json["prompt_token_ids"] = prompts_.front().tokens;
  json["usage"] = usage();
  return json;
}

/// What is new of a choice. last: nothing comes after it.
Completion::Json Completion::event(size_t choice, bool last) {
  Json json = head();
  json["choices"] = {choices_[choice].flush(choice)};
  if (request_.token_ids && request_.chat && !std::exchange(prompts_shown_, true))
    json["prompt_token_ids"] = prompts_.front().tokens;
  if (request_.usage_apart)
    json["usage"] = nullptr;
  else if (last)
    json["usage"] = usage();
  return json;
}

void Completion::stream(EventStream& stream) {
  SentEvents events(stream);
  try {
    size_t open = choices_.size();  // choices whose end is not sent yet
    const auto send = [&](size_t choice) {
      if (!choices_[choice].has_news()) return;
      if (choices_[choice].begins()) events.send(json_line(event(choice, false)));
      if (choices_[choice].ended()) --open;
      events.send(json_line(event(choice, open == 0)));
    };
    for (size_t choice = 0; choice < choices_.size(); ++choice) send(choice);
    while (open > 0) {
      wait(send);
      if (events.has_left(may_have_gone_() ? Clock::duration::zero() : kBetweenComments)) return;
    }
    if (request_.usage_apart) {
      Json json = head();
      json["choices"] = Json::array();
      json["usage"] = usage();
      events.send(json_line(json));
    }
    events.send("[DONE]");
  } catch (...) {
    events.send(as_api_error(std::current_exception()).json());
  }
}

}  // namespace

Response complete(Service& service, const CompletionRequest& asked, const Request& request) {
  const auto completion = std::make_shared<Completion>(service, asked, request);
  if (!asked.stream) return json_response(completion->answer());
  return Response::of_events([completion](EventStream& events) { completion->stream(events); });
}

void add_completion_routes(Router& router, Service& service) {
  const auto add = [&](const char* pattern, CompletionRequest (*read)(const nlohmann::json&)) {
    add_model_route(router, "POST", pattern, [&service, read](const Request& request) {
      CompletionRequest asked = read(json_body(request));
      asked.model = asked_model(request, asked.model);
      return complete(service, asked, request);
    });
  };
  add("/v1/completions", completion_request);
  add("/v1/chat/completions", chat_request);
}

}  // namespace tessera::serve
