#include "program/serve/engine.h"

#include <ATen/Parallel.h>

#include <utility>

#include "program/serve/api_error.h"
#include "program/serve/engine_parts.h"

namespace tessera::serve {

Engine::Ticket::~Ticket() {
  const std::lock_guard lock(request_->mutex);
  request_->cancelled = true;
}

Engine::Engine(std::unique_ptr<Decoder> decoder, std::function<std::string(int64_t)> token_bytes,
               const EngineOptions& options)
    : decoder_(std::move(decoder)),
      token_bytes_(std::move(token_bytes)),
      options_(options),
      thread_([this] { run(); }) {}

Engine::~Engine() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Engine::check(const EngineRequest& request) const {
  if (std::ssize(request.texts) > options_.queue)
    throw ApiError(413, "the request asks for {} texts, expected at most {} (--max-queue)",
                   request.texts.size(), options_.queue);
  const auto longest = decoder_->longest_text();
  for (const TextJob& text : request.texts) {
    // The last token that is written is not read.
    const int64_t read = std::ssize(text.prompt) + text.max_tokens - 1;
    if (longest && read > *longest)
      throw ApiError(
          400,
          "the prompt has {} tokens, with max_tokens {} the model would have to read {}; "
          "it reads at most {}",
          text.prompt.size(), text.max_tokens, read, *longest)
          .with_code("context_length_exceeded");
    if (decoder_->bytes(read) > options_.memory_bytes)
      throw ApiError(400,
                     "the memories of a text of {} tokens take {:.2f} GB, all texts together may "
                     "take {:.2f} GB; ask for fewer tokens",
                     read, decoder_->bytes(read) / 1e9, options_.memory_bytes / 1e9)
          .with_code("context_length_exceeded");
  }
  for (const ScoreJob& score : request.scores)
    for (const TokenIds& text : score.texts)
      if (!longest && decoder_->bytes(std::ssize(text)) > options_.memory_bytes)
        throw ApiError(400, "the memories of a text of {} tokens take {:.2f} GB, there are {:.2f}",
                       text.size(), decoder_->bytes(std::ssize(text)) / 1e9,
                       options_.memory_bytes / 1e9)
            .with_code("context_length_exceeded");
}

std::shared_ptr<Engine::Ticket> Engine::submit(EngineRequest request) {
  check(request);
  const auto jobs =
      std::ssize(request.texts) + std::ssize(request.scores) + std::ssize(request.calls);
  const auto shared = std::make_shared<Shared>();
  shared->request = std::move(request);
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
  changed_.notify_one();
  return std::make_shared<Ticket>(shared);
}

void Engine::run() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopped_ || has_work(); });
      if (stopped_) return;
    }
    try {
      read();
      write_tokens();
    } catch (...) {  // of all texts together
      end_all(std::current_exception());
    }
  }
}

bool Engine::has_work() const {
  return !queue_.empty() || !rows_.empty() || latest_ || !longer_.empty();
}

/// The next token of every text, on all threads: a softmax over the vocabulary for each.
std::vector<Engine::Draw> Engine::draw_tokens() {
  std::vector<Draw> draws(rows_.size());
  at::parallel_for(0, std::ssize(rows_), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto row = static_cast<size_t>(i);
      const TextJob& job = rows_[row].job;
      try {
        draws[row].token = draw_token(decoder_->logits(row), decoder_->tokens(row), job.sampling,
                                      job.sequence, job.prompt.size());
      } catch (...) {
        draws[row].failure = std::current_exception();
      }
    }
  });
  return draws;
}

/// One token of every text.
void Engine::write_tokens() {
  if (rows_.empty()) return;
  std::vector<Row> going_on;
  std::vector<int64_t> kept;
  TokenIds drawn;
  std::vector<Draw> draws = draw_tokens();
  for (size_t index = 0; index < rows_.size(); ++index) {
    Row& row = rows_[index];
    if (!write_token(row, std::move(draws[index]), drawn)) {
      used_bytes_ -= row.bytes;
      continue;
    }
    kept.push_back(static_cast<int64_t>(index));
    going_on.push_back(std::move(row));
  }
  rows_ = std::move(going_on);
  counts_.rows = std::ssize(rows_);
  ++counts_.steps;
  decoder_->step(kept, drawn);
}

/// Hands on the next token of a text; returns whether it goes on.
bool Engine::write_token(Row& row, Draw draw, TokenIds& drawn) {
  if (row.request->is_cancelled()) return false;
  if (draw.failure) {
    fail(row.request, draw.failure);
    return false;
  }
  TextJob& job = row.job;
  try {
    TextToken next;
    next.token = std::move(draw.token);
    ++row.written;
    ++counts_.tokens_written;
    const bool ended = next.token.token == job.end_of_text;
    if (!ended) next.text = row.stream.push(token_bytes_(next.token.token));
    if (ended || row.stream.stopped())
      next.finish = FinishReason::kStop;
    else if (row.written == job.max_tokens)
      next.finish = FinishReason::kLength;
    if (next.finish) next.text += row.stream.finish();
    const int64_t token = next.token.token;
    const bool goes_on = !next.finish;
    row.request->call([&] { job.on_token(std::move(next)); });
    if (goes_on) drawn.push_back(token);
    return goes_on;
  } catch (...) {
    fail(row.request, std::current_exception());
    return false;
  }
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
  for (const Row& row : rows_) {
    used_bytes_ -= row.bytes;
    fail(row.request, error);
  }
  rows_.clear();
  counts_.rows = 0;
  decoder_->clear();
}

}  // namespace tessera::serve
