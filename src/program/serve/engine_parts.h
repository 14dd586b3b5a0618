#pragma once

#include <variant>

#include "program/serve/engine.h"

namespace tessera::serve {

/// The state of one request. A cancelled request's functions are not called: whoever calls them
/// holds the mutex, and so does whoever cancels.
struct Engine::Shared {
  std::mutex mutex;
  bool cancelled = false;
  EngineRequest request;
  std::shared_ptr<Bell> bell;  ///< of the engine
  // The engine's thread alone:
  bool reads_prompt = false;  // its next one waits: it may begin like this one

  bool is_cancelled() {
    const std::lock_guard lock(mutex);
    return cancelled;
  }
  /// Calls a function of the request unless it is cancelled.
  template <typename Call>
  void call(Call&& function) {
    const std::lock_guard lock(mutex);
    if (!cancelled) function();
  }
};

struct Engine::Job {
  std::shared_ptr<Shared> request;
  std::variant<TextJob*, ScoreJob*, CallJob*> what;  // of the request
  std::unique_ptr<PromptReading> prompt = nullptr;   // of a text, once it is begun
  std::unique_ptr<ScoreReading> scoring = nullptr;
  std::optional<MemoryBudget::Share> memory = {};
  int64_t read = 0;  // tokens

  bool begun() const { return prompt || scoring; }
};

struct Engine::Row {
  Row(std::shared_ptr<Shared> owner, TextJob& text, MemoryBudget::Share share)
      : request(std::move(owner)),
        job(text),
        writer(text.writing, text.sequence, text.prompt.size()),
        memory(std::move(share)) {}

  std::shared_ptr<Shared> request;
  std::reference_wrapper<TextJob> job;
  TextWriter writer;
  MemoryBudget::Share memory;
};

}  // namespace tessera::serve
