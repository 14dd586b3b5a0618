#include "tessera/base/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

#include <algorithm>

namespace tessera {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// What `job` writes to the stream that it is given.
template <typename Job>
std::string written(Job&& job) {
  std::FILE* file = std::tmpfile();
  job(file);
  std::rewind(file);
  std::string result;
  for (int letter; (letter = std::fgetc(file)) != EOF;) result += static_cast<char>(letter);
  std::fclose(file);
  return result;
}

TEST(Progress, CountsWhatIsDone) {
  const std::string text = written([](std::FILE* file) {
    Progress progress(file, "parts", 3, /*already_done=*/1);
    progress.advance("the second");
    progress.advance("the third");
  });
  EXPECT_THAT(text, HasSubstr(" 67 %  the second"));
  EXPECT_THAT(text, HasSubstr("100 %  the third"));
}

/// As of a training whose log fills the disk.
TEST(Progress, AStreamThatTakesNothingEndsNoJob) {
  std::FILE* full = std::fopen("/dev/full", "w");
  ASSERT_NE(full, nullptr);
  std::setvbuf(full, nullptr, _IONBF, 0);  // as standard error has it
  {
    Progress progress(full, "train", 3);
    EXPECT_NO_THROW(progress.update(1));
    EXPECT_NO_THROW(progress.message("checkpoint"));
    progress.update(2, "not drawn before the end");
  }
  std::fclose(full);
}

TEST(Progress, WritesPlainLinesWhereThereIsNoTerminal) {
  const std::string text = written([](std::FILE* file) {
    Progress progress(file, "train", 10);
    progress.update(1, "loss 2.50");
    progress.update(2, "loss 2.25");  // too soon after the first for a line of its own
    progress.message("checkpoint");
    progress.update(10, "loss 1.00");
  });
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
  EXPECT_THAT(text, StartsWith("train [##"));
  EXPECT_THAT(text, HasSubstr("10 %  loss 2.50"));
  EXPECT_THAT(text, HasSubstr("\ncheckpoint\n"));
  EXPECT_THAT(text, HasSubstr("100 %  loss 1.00"));
  EXPECT_THAT(text, testing::EndsWith("done\n"));
  EXPECT_THAT(text, testing::Not(HasSubstr("\r")));
}

TEST(Progress, DrawsThatAllIsDoneAtOnceAndOnce) {
  const std::string text = written([](std::FILE* file) {
    Progress progress(file, "Evaluating", 10);
    progress.update(9);
    progress.update(10, "1356980 tokens");
    const long drawn = std::ftell(file);
    progress.update(10, "1356980 tokens");  // too soon for another line
    EXPECT_EQ(std::ftell(file), drawn);
    EXPECT_GT(drawn, 80);
    progress.message("loss by position");
  });
  EXPECT_THAT(text, testing::ContainsRegex("90 %.*\n.*100 %  1356980 tokens.*done\nloss by"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
}

TEST(Progress, AJobThatEndsEarlyIsDone) {
  const std::string text = written([](std::FILE* file) {
    Progress progress(file, "train", 10);
    progress.update(4, "loss 0.10");
    progress.end_early();
  });
  EXPECT_THAT(text, testing::ContainsRegex("100 %  loss 0.10.*done\n$"));
}

/// What a job draws on a terminal of 40 columns.
std::string drawn_on_terminal(const std::string& label, const std::string& note) {
  int master = -1, slave = -1;
  winsize size{24, 40, 0, 0};
  if (::openpty(&master, &slave, nullptr, nullptr, &size) != 0) return "";
  std::FILE* terminal = ::fdopen(slave, "w");
  {
    Progress progress(terminal, label, 2);
    progress.update(1, note);
  }
  const char end = '\0';  // the kernel may hand over in parts what was written at once
  std::fwrite(&end, 1, 1, terminal);
  std::fflush(terminal);
  std::string text;
  char part[4096];
  while (!text.ends_with(end)) {
    const ssize_t got = ::read(master, part, sizeof part);
    if (got <= 0) break;
    text.append(part, got);
  }
  if (text.ends_with(end)) text.pop_back();
  std::fclose(terminal);
  ::close(master);
  return text;
}

TEST(Progress, RedrawsOneLineWithinTheWidthOfATerminal) {
  const std::string text = drawn_on_terminal("train", std::string(100, 'x'));
  EXPECT_THAT(text, StartsWith("\r\033[Ktrain [###...]  50 %  xxx"));  // the bar is short there
  for (size_t begin = 0, next; begin < text.size(); begin = next + 1) {
    next = std::min(text.find('\r', begin), text.size());
    EXPECT_LT(next - begin, 40u + 3u);  // the escape sequence takes no columns
  }
}

TEST(Progress, CountsColumnsAndNotBytes) {
  EXPECT_THAT(drawn_on_terminal("T = 10⁴", ""), StartsWith("\r\033[KT = 10⁴ [####....]  50 %"));
  EXPECT_THAT(drawn_on_terminal("記憶の記憶", std::string(100, 'x')),
              StartsWith("\r\033[K記憶の記憶 [###...]  50 %  " + std::string(12, 'x') + "\r"));
}

TEST(Progress, SurvivesNoWorkAndNoStream) {
  EXPECT_THAT(written([](std::FILE* file) { Progress(file, "nothing", 0).finish(); }),
              HasSubstr("100 %"));
  Progress silent(nullptr, "silent", 3);
  silent.update(1);
  silent.message("unheard");
  for (const int64_t done : {INT64_MIN, INT64_MAX})
    EXPECT_THAT(written([&](std::FILE* file) { Progress(file, "odd", 3, done).finish(); }),
                HasSubstr(" %"));
}

TEST(FormatDuration, RoundsToSeconds) {
  EXPECT_EQ(format_duration(0.0), "0 s");
  EXPECT_EQ(format_duration(11.6), "12 s");
  EXPECT_EQ(format_duration(59.6), "1:00");
  EXPECT_EQ(format_duration(245.0), "4:05");
  EXPECT_EQ(format_duration(3723.0), "1:02:03");
  EXPECT_EQ(format_duration(360000.0), "100:00:00");
}

}  // namespace
}  // namespace tessera
