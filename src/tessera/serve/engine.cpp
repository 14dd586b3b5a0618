#include "tessera/serve/engine.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "tessera/base/physical_memory.h"
#include "tessera/serve/api_error.h"

namespace tessera::serve {
namespace {

constexpr int64_t kTurnTokens = 256;  // of prompts that are read between two written tokens

int64_t tokens_of(const ScoreJob& job) {
  int64_t tokens = 0;
  for (const auto& text : job.texts) tokens += std::ssize(text);
  return tokens;
}

}  // namespace

/// The state of one request. A cancelled request's functions are not called: whoever calls them
/// holds the mutex, and so does whoever cancels.
struct Engine::Shared {
  std::mutex mutex;
  bool cancelled = false;
  bool begun = false;  // the engine's thread alone
  EngineRequest request;

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
};

struct Engine::Row {
  Row(std::shared_ptr<Shared> owner, TextJob& text, double reserved)
      : request(std::move(owner)), job(text), stream(text.stop), bytes(reserved) {}

  std::shared_ptr<Shared> request;
  std::reference_wrapper<TextJob> job;
  TextStream stream;
  double bytes;  // reserved for it
  int64_t written = 0;
};

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
  const auto shared = std::make_shared<Shared>();
  shared->request = std::move(request);
  EngineRequest& own = shared->request;
  {
    const std::lock_guard lock(mutex_);
    if (counts_.waiting >= options_.queue)
      throw ApiError(503, "{} requests are waiting already; try again later",
                     counts_.waiting.load())
          .with_code("overloaded")
          .retry_after(1);
    ++counts_.waiting;
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
      take_work();
      write_tokens();
    } catch (...) {  // of all texts together
      end_all(std::current_exception());
    }
  }
}

bool Engine::has_work() const {
  return !queue_.empty() || !rows_.empty() || reading_;
}

/// Reads prompts and scores texts, as much as may be done before the texts go on.
void Engine::take_work() {
  for (int64_t budget = kTurnTokens; budget > 0;) {
    if (reading_) {
      budget -= read_prompt();
      continue;
    }
    auto job = next_job();
    if (!job) return;
    budget -= start(*std::move(job));
  }
}

/// The next job that there is room for. Those of cancelled requests are dropped.
std::optional<Engine::Job> Engine::next_job() {
  const std::lock_guard lock(mutex_);
  while (!queue_.empty()) {
    const Job& next = *queue_.front();
    const bool cancelled = next.request->is_cancelled();
    if (const auto* text = std::get_if<TextJob*>(&next.what); text && !cancelled) {
      const double bytes = decoder_->bytes(std::ssize((*text)->prompt) + (*text)->max_tokens);
      const bool full = std::ssize(rows_) >= options_.rows ||
                        (!rows_.empty() && used_bytes_ + bytes > options_.memory_bytes);
      if (full) return std::nullopt;
    }
    const auto job = queue_.pop();
    if (!std::exchange(job->request->begun, true)) --counts_.waiting;
    if (!cancelled) return *job;
  }
  return std::nullopt;
}

/// Returns how many tokens were read.
int64_t Engine::start(Job job) {
  int64_t tokens = kTurnTokens;
  try {
    if (auto* score = std::get_if<ScoreJob*>(&job.what)) {
      tokens = tokens_of(**score);
      auto scores = decoder_->score((*score)->texts, (*score)->alternatives);
      counts_.tokens_read += tokens;
      job.request->call([&] { (*score)->on_scores(std::move(scores)); });
    } else if (auto* call = std::get_if<CallJob*>(&job.what)) {
      (*call)->call();
    } else {
      TextJob& text = *std::get<TextJob*>(job.what);
      const double bytes = decoder_->bytes(std::ssize(text.prompt) + text.max_tokens);
      auto row = std::make_unique<Row>(job.request, text, bytes);
      decoder_->begin(text.prompt);
      reading_ = std::move(row);
      used_bytes_ += bytes;
      tokens = 0;
    }
  } catch (...) {
    fail(job.request, std::current_exception());
  }
  return tokens;
}

int64_t Engine::read_prompt() {
  const auto request = reading_->request;
  const auto leave = [this] {
    used_bytes_ -= reading_->bytes;
    reading_.reset();
  };
  if (request->is_cancelled()) {
    decoder_->drop_prompt();
    leave();
    return 0;
  }
  const auto count = std::ssize(reading_->job.get().prompt);
  try {
    if (decoder_->read_piece()) {
      counts_.tokens_read += count;
      rows_.push_back(std::move(*reading_));
      reading_.reset();
      counts_.rows = std::ssize(rows_);
    }
  } catch (...) {
    leave();
    fail(request, std::current_exception());
  }
  return std::min(count, kTurnTokens);
}

/// One token of every text.
void Engine::write_tokens() {
  if (rows_.empty()) return;
  std::vector<Row> going_on;
  std::vector<int64_t> kept;
  TokenIds drawn;
  for (size_t index = 0; index < rows_.size(); ++index) {
    Row& row = rows_[index];
    if (!write_token(row, index, drawn)) {
      used_bytes_ -= row.bytes;
      continue;
    }
    kept.push_back(static_cast<int64_t>(index));
    going_on.push_back(std::move(row));
  }
  rows_ = std::move(going_on);
  if (rows_.empty()) used_bytes_ = reading_ ? reading_->bytes : 0;  // no rounding is left over
  counts_.rows = std::ssize(rows_);
  ++counts_.steps;
  decoder_->step(kept, drawn);
}

/// Draws the next token of a text; returns whether it goes on.
bool Engine::write_token(Row& row, size_t index, TokenIds& drawn) {
  if (row.request->is_cancelled()) return false;
  TextJob& job = row.job;
  try {
    TextToken next;
    next.token = draw_token(decoder_->logits(index), decoder_->tokens(index), job.sampling,
                            job.sequence, job.prompt.size());
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

void Engine::fail(const std::shared_ptr<Shared>& request, std::exception_ptr error) {
  request->call([&] {
    request->request.on_failure(error);
    request->cancelled = true;
  });
}

void Engine::end_all(std::exception_ptr error) {
  for (const Row& row : rows_) fail(row.request, error);
  rows_.clear();
  decoder_->step({}, {});
  used_bytes_ = reading_ ? reading_->bytes : 0;
  counts_.rows = 0;
}

}  // namespace tessera::serve
