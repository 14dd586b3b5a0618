#include "program/serve/engine.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "program/serve/api_error.h"

namespace tessera::serve {
namespace {

constexpr int64_t kTurnTokens = 256;    // that are read between two written tokens
constexpr int64_t kAloneTokens = 1024;  // that are read in one go while no text is being written
constexpr int64_t kLongTokens = 1024;   // what has more is read by turns with what came later

int64_t tokens_of(const ScoreJob& job) {
  int64_t tokens = 0;
  for (const auto& text : job.texts) tokens += std::ssize(text);
  return tokens;
}

/// How many wait for their turn.
int64_t jobs_of(const EngineRequest& request) {
  return std::ssize(request.texts) + std::ssize(request.scores) + std::ssize(request.calls);
}

}  // namespace

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
  MemoryBudget::Share memory = nullptr;
  int64_t read = 0;  // tokens

  bool begun() const { return prompt || scoring; }
};

struct Engine::Row {
  std::shared_ptr<Shared> request;
  std::reference_wrapper<TextJob> job;
  TextWriter writer;
  MemoryBudget::Share memory;
};

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
  if (jobs_of(request) > options_.queue)
    throw ApiError(413,
                   "the request's texts take {} places in the queue, expected at most {} "
                   "(--max-queue)",
                   jobs_of(request), options_.queue);
  const auto check_memory = [this](int64_t tokens) {
    if (decoder_->bytes(tokens) > options_.memory->bytes())
      throw ApiError(400,
                     "the memories of a text of {} tokens take {:.2f} GB, all texts together may "
                     "take {:.2f} GB; ask for fewer tokens",
                     tokens, decoder_->bytes(tokens) / 1e9, options_.memory->bytes() / 1e9)
          .with_code("context_length_exceeded");
  };
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
    check_memory(read);
  }
  for (const ScoreJob& score : request.scores)
    for (const TokenIds& text : score.texts)
      if (!longest) check_memory(std::ssize(text));
}

Engine::Ticket Engine::submit(EngineRequest request) {
  check(request);
  const int64_t jobs = jobs_of(request);
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
  return Ticket(nullptr, [shared](const void*) {
    {
      const std::lock_guard lock(shared->mutex);
      shared->cancelled = true;
    }
    shared->bell->ring();  // it may wait for memory that others could have
  });
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

// ---- Reading prompts and scoring texts.

/// Reads prompts and scores texts, as much as may be done before the texts go on; returns whether
/// more may be left to do.
bool Engine::read() {
  const int64_t most = rows_.empty() ? kAloneTokens : kTurnTokens;
  for (int64_t left = most; left > 0;) {
    auto job = next_job();
    if (!job) return false;
    const int64_t before = job->read;
    bool goes_on = false;
    try {
      goes_on = !job->request->is_cancelled() && begin(*job) && read_part(*job, left);
    } catch (...) {
      fail(job->request, std::current_exception());
    }
    left -= std::max<int64_t>(job->read - before, 1);
    if (!goes_on)
      end_reading(*job);
    else if (job->read < kLongTokens)
      latest_ = std::move(job);
    else
      longer_.push_back(std::move(job));
  }
  return true;
}

/// The latest and one of the longer ones by turns.
std::unique_ptr<Engine::Job> Engine::next_job() {
  longer_next_ = !longer_next_;
  if (!longer_next_ || longer_.empty())
    if (auto job = latest_ ? std::move(latest_) : waiting_job()) return job;
  if (longer_.empty()) return nullptr;
  auto job = std::move(longer_.front());
  longer_.pop_front();
  return job;
}

/// The first one in the queue that may begin: texts for which there is no room do not let later
/// ones pass.
std::unique_ptr<Engine::Job> Engine::waiting_job() {
  const std::lock_guard lock(mutex_);
  bool has_room = true, waits = false;
  auto job = queue_.pop([&](const std::unique_ptr<Job>& next) {
    if (next->request->is_cancelled() || std::holds_alternative<CallJob*>(next->what)) return true;
    if (next->request->reads_prompt || !has_room) return false;
    return has_room = take_room_for(*next, waits);
  });
  if (!job && !waits) options_.memory->leave(bell_);
  if (!job) return nullptr;
  --counts_.waiting;
  return *std::move(job);
}

/// Takes a row and the memory for a text. waits: set where only memory lacks.
bool Engine::take_room_for(Job& job, bool& waits) {
  const bool is_text = std::holds_alternative<TextJob*>(job.what);
  if (is_text && std::ssize(rows_) + prompts_ >= options_.rows) return false;
  job.memory = options_.memory->take(bytes_of(job), bell_);
  waits = !job.memory;
  return !waits;
}

/// Bytes of memory that it takes at most.
double Engine::bytes_of(const Job& job) const {
  if (const auto* text = std::get_if<TextJob*>(&job.what))
    return decoder_->bytes(std::ssize((*text)->prompt) + (*text)->writing.max_tokens);
  const auto* score = std::get_if<ScoreJob*>(&job.what);
  if (!score) return 0;
  int64_t longest = 0;
  for (const TokenIds& text : (*score)->texts) longest = std::max(longest, std::ssize(text));
  return decoder_->bytes(std::min(longest, decoder_->longest_text().value_or(longest)));
}

/// Begins a job, or does it where there is nothing to read; returns whether there is.
bool Engine::begin(Job& job) {
  if (job.begun()) return true;
  if (auto* const* call = std::get_if<CallJob*>(&job.what)) {
    job.read = kTurnTokens;  // what a call takes is not known; the texts go on after it
    (**call)();
    return false;
  }
  if (auto* const* score = std::get_if<ScoreJob*>(&job.what)) {
    job.scoring = decoder_->score((*score)->texts, (*score)->alternatives);
  } else {
    job.prompt = decoder_->read(std::get<TextJob*>(job.what)->prompt);
    job.request->reads_prompt = true;
    ++prompts_;
  }
  return true;
}

/// Reads a part; returns whether there is more. A prompt that is read becomes a row.
bool Engine::read_part(Job& job, int64_t tokens) {
  job.read += tokens;
  if (job.scoring) {
    if (!job.scoring->advance(tokens)) return true;
    const ScoreJob& score = *std::get<ScoreJob*>(job.what);
    counts_.tokens_read += tokens_of(score);
    job.request->call([&] { score.on_scores(job.scoring->scores()); });
    return false;
  }
  TextJob& text = *std::get<TextJob*>(job.what);
  const auto length = std::ssize(text.prompt);
  if (!job.prompt->advance(tokens)) return true;
  job.read = std::min(job.read, length);
  counts_.tokens_read += length;
  Row row{job.request, text, TextWriter(text.writing, text.sequence, text.prompt.size()),
          std::move(job.memory)};
  rows_.reserve(rows_.size() + 1);  // so that the decoder has no row that this has not
  decoder_->add(*job.prompt);
  rows_.push_back(std::move(row));
  counts_.rows = std::ssize(rows_);
  return false;
}

/// Its siblings may begin like it now.
void Engine::end_reading(Job& job) {
  if (!job.prompt) return;
  job.request->reads_prompt = false;
  --prompts_;
}

// ---- Writing.

/// The next token of every text, on all threads: a softmax over the vocabulary for each.
std::vector<Engine::Step> Engine::next_steps() {
  std::vector<Step> steps(rows_.size());
  at::parallel_for(0, std::ssize(rows_), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const size_t row = i;
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
  going_on.reserve(rows_.size());  // once a row has gone there, nothing may fail before all have
  kept.reserve(rows_.size());
  drawn.reserve(rows_.size());
  std::vector<Step> steps = next_steps();
  for (size_t index = 0; index < rows_.size(); ++index) {
    Row& row = rows_[index];
    const auto token = hand_on(row, std::move(steps[index]));
    if (!token) continue;
    kept.push_back(index);
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
