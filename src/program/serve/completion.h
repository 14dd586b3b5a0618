#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "program/serve/choice.h"
#include "program/serve/completion_request.h"
#include "program/serve/service.h"

namespace tessera::serve {

/// One request for completions, from the prompts to the answer. Destroyed, it gives up what the
/// engine still does for it.
class Completion {
 public:
  /// Hands the work to the model's engine. http: the request as it came. Throws ApiError.
  Completion(Service& service, const CompletionRequest& request, const Request& http);

  /// The whole answer, once it is there. Throws ApiError, also where it is unwanted before.
  nlohmann::ordered_json answer();
  /// The answer as server-sent events: one for each token as it is written, before them one for
  /// the prompt where that is shown.
  void stream(EventStream& events);

 private:
  using Json = nlohmann::ordered_json;
  using Clock = std::chrono::steady_clock;

  struct Prompt {
    TokenIds tokens;
    std::string rest;  ///< its end that is no whole token (store::Question::rest)
  };
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
    void push(Event event);
  };

  Prompt read(const PromptContent& content) const;
  bool scores_prompts() const;
  bool is_scored_to_the_end() const;
  void check_size() const;
  EngineRequest work(const std::string& client);
  void add_scoring(EngineRequest& work) const;
  void add_texts(EngineRequest& work) const;
  ScoreJob score_job(size_t first, size_t last) const;
  WritingOptions writing(const Prompt& prompt) const;

  bool ended() const;
  /// Waits for something new and applies it: calls `on_news` with each choice after each change.
  /// Returns false where nothing came for a while. Throws ApiError as answer().
  bool wait(const std::function<void(size_t choice)>& on_news);
  void apply(Scores&& scores, const std::function<void(size_t choice)>& on_news);

  Json head() const;
  Json usage() const;
  std::vector<size_t> best_choices() const;
  Json event(size_t choice, bool last);

  Service& service_;
  const CompletionRequest request_;
  const ServedModels::Model model_;
  std::string id_;
  Clock::time_point started_ = Clock::now();
  const Unwanted unwanted_;
  std::vector<Prompt> prompts_;
  std::vector<Choice> choices_;  // best_of for each prompt
  bool has_tokens_ = false;
  bool prompts_shown_ = false;
  std::shared_ptr<Mailbox> mailbox_ = std::make_shared<Mailbox>();
  std::shared_ptr<Engine::Ticket> ticket_;
};

}  // namespace tessera::serve
