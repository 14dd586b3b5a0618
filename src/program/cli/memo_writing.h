#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "tessera/store/question.h"
#include "tessera/store/recall.h"

namespace tessera::cli {

/// Prints a text token by token behind its prompt, and how fast it came.
class Writing {
 public:
  /// visible: whether anything is printed on standard output. started: the text.
  Writing(const store::QuestionedStore& store, const store::Question& question, bool visible,
          std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now());

  void add(int32_t token);
  /// Prints how many tokens there were, how fast they came and why they end, on standard error.
  void end(store::RecallEnd end) const;

  /// Of the tokens, without the prompt.
  const std::string& text() const { return text_.text(); }

 private:
  store::RecitedText text_;
  int64_t longest_;  // window
  bool visible_;
  std::chrono::steady_clock::time_point started_;
  int64_t tokens_ = 0;
};

}  // namespace tessera::cli
