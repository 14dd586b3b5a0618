#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "program/serve/decoder.h"
#include "program/serve/fair_queue.h"
#include "program/serve/memory_budget.h"
#include "tessera/sampling/text_writer.h"

namespace tessera::serve {

/// A text to be continued, as infer/generate.h continues it.
struct TextJob {
  TokenIds prompt;
  WritingOptions writing;  ///< of 1 token or more
  uint64_t sequence = 0;
  std::function<void(Written&&)> on_news;
};

/// Texts to be scored (Decoder::score).
struct ScoreJob {
  std::vector<TokenIds> texts;
  int64_t alternatives = 0;
  std::function<void(std::vector<std::vector<ScoredToken>>&&)> on_scores;
};

/// Anything else that the model is needed for.
using CallJob = std::function<void()>;

/// Everything that one request asks of an engine. The functions are called on the engine's thread.
struct EngineRequest {
  std::string client;
  std::vector<TextJob> texts;
  std::vector<ScoreJob> scores;
  std::vector<CallJob> calls;
  std::function<void(std::exception_ptr)> on_failure;  ///< at most once; what is left is dropped
};

struct EngineOptions {
  int64_t rows = 32;     ///< most texts that are written side by side
  int64_t queue = 4096;  ///< limit of the texts that wait, 1 or more
  /// For the memories of all texts that are being written, also by other engines.
  std::shared_ptr<MemoryBudget> memory = std::make_shared<MemoryBudget>(1e9);
};

/// What an engine has done and what it is doing.
struct EngineCounts {
  std::atomic<int64_t> tokens_read = 0, tokens_written = 0, steps = 0;
  std::atomic<int64_t> waiting = 0, rows = 0;  ///< texts that have not begun, that are written
};

/// Continues the texts of all requests to one model side by side (continuous batching, Yu et al.
/// 2022, section 3): a text joins as soon as its prompt is read and leaves with its last token,
/// between two tokens of the others. Long prompts and long texts to be scored are read in parts, by
/// turns with each other and with whatever else is asked. One thread; waiting clients take turns.
class Engine {
 public:
  Engine(std::unique_ptr<Decoder> decoder, const EngineOptions& options);
  /// Drops what is left.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// A request that was taken. With its last owner it cancels what is left of the request, whose
  /// functions are then not called any more.
  using Ticket = std::shared_ptr<const void>;
  /// Takes a request. Throws ApiError: 503 where too many texts wait, 413 where it alone has too
  /// many, 400 where a text is too long for the model or would take more memory than there is for
  /// all.
  Ticket submit(EngineRequest request);

  const EngineCounts& counts() const { return counts_; }
  int64_t vocabulary() const { return decoder_->vocabulary(); }
  std::optional<int64_t> longest_text() const { return decoder_->longest_text(); }

 private:
  struct Shared;  // of one request's jobs
  struct Job;
  struct Row;
  /// What a row writes next, or why it cannot.
  struct Step {
    Written written;
    std::exception_ptr failure;
  };

  void check(const EngineRequest& request) const;
  void run();
  bool read();
  std::unique_ptr<Job> next_job();
  std::unique_ptr<Job> waiting_job();
  bool take_room_for(Job& job, bool& waits);
  double bytes_of(const Job& job) const;
  bool begin(Job& job);
  bool read_part(Job& job, int64_t tokens);
  void end_reading(Job& job);
  void write_tokens();
  std::vector<Step> next_steps();
  std::optional<int64_t> hand_on(Row& row, Step&& step);
  void fail(const std::shared_ptr<Shared>& request, std::exception_ptr error) noexcept;
  void end_all(std::exception_ptr error) noexcept;

  std::unique_ptr<Decoder> decoder_;
  EngineOptions options_;
  EngineCounts counts_;

  // The engine's thread alone:
  std::vector<Row> rows_;
  std::unique_ptr<Job> latest_;              // is being read; the last one that was begun
  std::deque<std::unique_ptr<Job>> longer_;  // are being read, a part of each by turns
  bool longer_next_ = false;
  int64_t prompts_ = 0;  // of texts that are being read

  const std::shared_ptr<Bell> bell_ = std::make_shared<Bell>();  // of the engine's thread
  std::mutex mutex_;                                             // guards what follows
  FairQueue<std::unique_ptr<Job>> queue_;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace tessera::serve
