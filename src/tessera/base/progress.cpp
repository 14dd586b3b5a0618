#include "tessera/base/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "tessera/base/utf8.h"

namespace tessera {
namespace {

constexpr std::string_view kWipe = "\r\033[K";  // what is in the line of a terminal
constexpr size_t kBarCells = 24, kFewestCells = 6;
constexpr auto kRedrawPause = std::chrono::milliseconds(100);
constexpr auto kLinePause = std::chrono::seconds(10);

size_t terminal_columns(std::FILE* stream) {
  winsize size{};
  const bool known = ::ioctl(::fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

std::string bar(double share, size_t cells) {
  const auto filled = static_cast<size_t>(share * static_cast<double>(cells));
  return std::string(filled, '#') + std::string(cells - filled, '.');
}

}  // namespace

void show(std::FILE* stream, std::string_view text) {
  if (stream == nullptr) return;
  std::fwrite(text.data(), 1, text.size(), stream);
  std::fflush(stream);
}

std::string format_duration(double seconds) {
  const auto whole = std::llround(seconds);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

Progress::Progress(std::FILE* stream, std::string label, int64_t total, int64_t already_done)
    : stream_(stream),
      terminal_(stream != nullptr && ::isatty(::fileno(stream))),
      label_(std::move(label)),
      total_(total),
      already_done_(already_done),
      done_(already_done),
      started_(Clock::now()),
      drawn_(Clock::now() - kLinePause) {}

Progress::~Progress() {
  finish();
}

void Progress::update(int64_t done, const std::string& note) {
  current_ = current_ && done == done_ && note == note_;
  done_ = done;
  note_ = note;
  const auto now = Clock::now();
  const bool completed = done >= total_ && !completed_;  // that is drawn whatever the pause
  completed_ = done >= total_;
  const auto pause = terminal_ ? Clock::duration(kRedrawPause) : Clock::duration(kLinePause);
  if (!completed && now - drawn_ < pause) return;
  drawn_ = now;
  draw();
}

void Progress::end_early() {
  total_ = done_;
  current_ = false;
}

void Progress::message(const std::string& text) {
  show(stream_, fmt::format("{}{}\n", terminal_ ? kWipe : "", text));
  current_ = current_ && !terminal_;
}

void Progress::wipe() {
  if (!terminal_) return;
  show(stream_, kWipe);
  drawn_ = Clock::now() - kRedrawPause;
  current_ = false;
}

void Progress::finish() {
  if (finished_) return;
  finished_ = true;
  if (!current_) draw();
  if (terminal_) show(stream_, "\n");
}

void Progress::draw() {
  current_ = true;
  if (stream_ == nullptr) return;
  const double share = total_ > 0 ? std::clamp(static_cast<double>(done_) / total_, 0.0, 1.0) : 1.0;
  const double elapsed = std::chrono::duration<double>(Clock::now() - started_).count();
  const int64_t here = done_ - already_done_;
  const std::string left = done_ >= total_ ? "done"
                           : here > 0 ? format_duration(elapsed / here * (total_ - done_)) + " left"
                                      : "";
  const std::string numbers =
      fmt::format("{:3.0f} %  {}{}{}  {}", 100 * share, note_, note_.empty() ? "" : "  ",
                  format_duration(elapsed), left);
  const auto line = [&](size_t cells) {
    return fmt::format("{} [{}] {}", label_, bar(share, cells), numbers);
  };
  if (!terminal_) return show(stream_, line(kBarCells) + "\n");
  // The bar of a narrow terminal leaves room for the numbers.
  const size_t columns = terminal_columns(stream_) - 1, without_bar = utf8::columns(line(0));
  const size_t cells =
      std::clamp(columns - std::min(columns, without_bar), kFewestCells, kBarCells);
  show(stream_, fmt::format("{}{}", kWipe, utf8::beginning_in_columns(line(cells), columns)));
}

}  // namespace tessera
