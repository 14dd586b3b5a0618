#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace tessera {

/// Writes to a stream that people read (null: none), at once. What it does not take, as where the
/// disk of a log is full, is lost: that ends no job.
void show(std::FILE* stream, std::string_view text);

/// The progress of one long job on a stream (stderr): on a terminal a bar that is redrawn, with
/// percentage, a note, elapsed time and the time left; elsewhere a plain line at most every
/// ten seconds, and one at the end. A null stream keeps it silent; show() writes.
class Progress {
 public:
  /// total: units of work in all (steps, bytes); already_done: units done before this process.
  Progress(std::FILE* stream, std::string label, int64_t total, int64_t already_done = 0);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// note: what is worth knowing now ("loss 2.31, 4,210 tok/s"). Completion is always drawn
  /// immediately.
  void update(int64_t done, const std::string& note = "");
  /// The same with one more unit done.
  void advance(const std::string& note = "") { update(done_ + 1, note); }
  /// Makes what is done the total: the job is complete before it was expected to be.
  void end_early();
  /// A line that stays, above the bar.
  void message(const std::string& text);
  /// Takes the bar off a terminal, so that a line can be printed elsewhere; update() draws it
  /// again.
  void wipe();
  /// Draws the last state unless it is there already, and ends the line; the destructor calls it.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  void draw();

  std::FILE* stream_;
  bool terminal_;
  std::string label_, note_;
  int64_t total_, already_done_, done_;
  Clock::time_point started_, drawn_;
  bool current_ = false;    // whether the last state is on the stream
  bool completed_ = false;  // whether the last update said that all is done
  bool finished_ = false;
};

/// "1:02:03", "4:05", "12 s".
std::string format_duration(double seconds);

}  // namespace tessera
