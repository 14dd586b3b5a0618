#include "program/serve/engine.h"

#include <ATen/Parallel.h>

#include <utility>

#include "program/serve/api_error.h"
#include "program/serve/engine_parts.h"

namespace tessera::serve {

Engine::Ticket::~Ticket() {
  {
    const std::lock_guard lock(request_->mutex);
    request_->cancelled = true;
  }
  request_->bell->ring();  // it may wait for memory that others could have
}

Engine::Engine(std::unique_ptr<Decoder> decoder, const EngineOptions& options)
    : decoder_(std::move(decoder)), options_(options), thread_([this] { run(); }) {}

Engine::~Engine() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  bell_->ring();
  thread_.join();
  options_.memory->leave(bell_);
}

void Engine::check(const EngineRequest& request) const {
  if (std::ssize(request.texts) > options_.queue)
    throw ApiError(413, "the request asks for {} texts, expected at most {} (--max-queue)",
                   request.texts.size(), options_.queue);
  const auto longest = decoder_->longest_text();
  for (const TextJob& text : request.texts) {
    // The last token that is written is not read.
    const int64_t read = std::ssize(text.prompt) + text.writing.max_tokens - 1;
    if (longest && read > *longest)
      throw ApiError(
          400,
          "the prompt has {} tokens, with max_tokens {} the model would have to read {}; "
          "it reads at most {}",
          text.prompt.size(), text.writing.max_tokens, read, *longest)
          .with_code("context_length_exceeded");
    if (decoder_->bytes(read) > options_.memory->bytes())
      throw ApiError(400,
                     "the memories of a text of {} tokens take {:.2f} GB, all texts together may "
                     "take {:.2f} GB; ask for fewer tokens",
                     read, decoder_->bytes(read) / 1e9, options_.memory->bytes() / 1e9)
          .with_code("context_length_exceeded");
  }
  for (const ScoreJob& score : request.scores)
    for (const TokenIds& text : score.texts)
      if (!longest && decoder_->bytes(std::ssize(text)) > options_.memory->bytes())
        throw ApiError(400, "the memories of a text of {} tokens take {:.2f} GB, there are {:.2f}",
                       text.size(), decoder_->bytes(std::ssize(text)) / 1e9,
                       options_.memory->bytes() / 1e9)
            .with_code("context_length_exceeded");
}

std::shared_ptr<Engine::Ticket> Engine::submit(EngineRequest request) {
  check(request);
  const auto jobs =
      std::ssize(request.texts) + std::ssize(request.scores) + std::ssize(request.calls);
  const auto shared = std::make_shared<Shared>();
  shared->request = std::move(request);
  shared->bell = bell_;
  EngineRequest& own = shared->request;
  {
    const std::lock_guard lock(mutex_);
    if (counts_.waiting + jobs > options_.queue)
      throw ApiError(503, "{} texts are waiting already; try again later", counts_.waiting.load())
          .with_code("overloaded")
          .retry_after(1);
    counts_.waiting += jobs;
    const auto push = [&](auto& jobs) {
      for (auto& job : jobs) queue_.push(own.client, std::make_unique<Job>(Job{shared, &job}));
    };
    push(own.scores);
    push(own.calls);
    push(own.texts);
  }
  bell_->ring();
  return std::make_shared<Ticket>(shared);
}

void Engine::run() {
  for (bool idle = true;;) {
    if (idle) bell_->wait();
    {
      const std::lock_guard lock(mutex_);
      if (stopped_) return;
    }
    try {
      // Then all that waits, if anything does, waits for memory of other engines.
      idle = !read() && rows_.empty() && !latest_ && longer_.empty();
      write_tokens();
    } catch (...) {  // of all texts together
      idle = false;
      end_all(std::current_exception());
    }
  }
}

/// The next token of every text, on all threads: a softmax over the vocabulary for each.
std::vector<Engine::Step> Engine::next_steps() {
  std::vector<Step> steps(rows_.size());
  at::parallel_for(0, std::ssize(rows_), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto row = static_cast<size_t>(i);
      try {
        TextWriter& writer = rows_[row].writer;
        steps[row].written = decoder_->goes_on(row)
                                 ? writer.draw(decoder_->logits(row), decoder_->tokens(row))
                                 : writer.end(Finish::kNotStored);
      } catch (...) {
        steps[row].failure = std::current_exception();
      }
    }
  });
  return steps;
}

/// One token of every text.
void Engine::write_tokens() {
  if (rows_.empty()) return;
  std::vector<Row> going_on;
  std::vector<int64_t> kept;
  TokenIds drawn;
  std::vector<Step> steps = next_steps();
  for (size_t index = 0; index < rows_.size(); ++index) {
    Row& row = rows_[index];
    const auto token = hand_on(row, std::move(steps[index]));
    if (!token) continue;
    kept.push_back(static_cast<int64_t>(index));
    drawn.push_back(*token);
    going_on.push_back(std::move(row));
  }
  rows_ = std::move(going_on);
  counts_.rows = std::ssize(rows_);
  ++counts_.steps;
  decoder_->step(kept, drawn);
}

/// Hands on the next token of a text; returns it if the text goes on.
std::optional<int64_t> Engine::hand_on(Row& row, Step&& step) {
  if (row.request->is_cancelled()) return std::nullopt;
  if (step.failure) {
    fail(row.request, step.failure);
    return std::nullopt;
  }
  std::optional<int64_t> next;
  if (!step.written.finish) next = step.written.token->token;
  if (step.written.token) ++counts_.tokens_written;
  try {
    row.request->call([&] { row.job.get().on_news(std::move(step.written)); });
  } catch (...) {
    fail(row.request, std::current_exception());
    return std::nullopt;
  }
  return next;
}

/// Its functions are not called any more, whatever becomes of the last one.
void Engine::fail(const std::shared_ptr<Shared>& request, std::exception_ptr error) noexcept {
  try {
    request->call([&] {
      request->cancelled = true;
      request->request.on_failure(error);
    });
  } catch (...) {
    as_api_error(std::current_exception());  // for the log
  }
}

/// Ends all texts that are being written; later ones are written again.
void Engine::end_all(std::exception_ptr error) noexcept {
  for (const Row& row : rows_) fail(row.request, error);
  rows_.clear();
  counts_.rows = 0;
  decoder_->clear();
}

}  // namespace tessera::serve
