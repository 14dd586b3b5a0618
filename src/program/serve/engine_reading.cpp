// The half of the engine that reads prompts and scores texts.

#include <algorithm>
#include <utility>

#include "program/serve/engine_parts.h"

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

}  // namespace

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
    (*call)->call();
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
  Row row(job.request, text, *std::move(job.memory));
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

}  // namespace tessera::serve
