#include "program/cli/memo_writing.h"

#include <fmt/format.h>

#include "program/cli/memo_verbs.h"

namespace tessera::cli {

Writing::Writing(const store::QuestionedStore& store, const store::Question& question, bool visible,
                 std::chrono::steady_clock::time_point started)
    : longest_(memo::window_lengths(store.config().memory).back()),
      visible_(visible),
      started_(started) {
  if (question.differences > 0)
    fmt::print(stderr, "read as the stored text that differs in {}\n",
               counted(question.differences, "word"));
  if (visible_) fmt::print("{}", question.text);
}

void Writing::add(std::string_view text) const {
  if (!visible_) return;
  fmt::print("{}", text);
  std::fflush(stdout);
}

void Writing::end(Finish end, size_t tokens) const {
  using Seconds = std::chrono::duration<double>;
  const double seconds = Seconds(std::chrono::steady_clock::now() - started_).count();
  if (visible_) fmt::print("\n");
  std::fflush(stdout);  // what follows goes another way
  std::string why;
  if (end == Finish::kEndOfText) why = "; the document ends here";
  if (end == Finish::kNotStored) why = "; no stored document continues this";
  if (end == Finish::kNotStored && tokens == 0)
    why += fmt::format(
        " with enough certainty; prompts of {} tokens or more match best, and recall --error-rate "
        "0.1 accepts weaker matches",
        longest_);
  fmt::print(stderr, "{} tokens, {:.1f} tokens/s{}\n", tokens,
             static_cast<double>(tokens) / seconds, why);
}

}  // namespace tessera::cli
