#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "tessera/sampling/text_writer.h"
#include "tessera/store/question.h"

namespace tessera::cli {

/// Prints a text behind its prompt, as it comes, and how fast it came.
class Writing {
 public:
  /// visible: whether anything is printed on standard output. started: the text.
  Writing(const store::QuestionedStore& store, const store::Question& question, bool visible,
          std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now());

  void add(std::string_view text) const;
  /// Prints how many tokens there were, how fast they came and why they end, on standard error.
  void end(Finish end, size_t tokens) const;

 private:
  int64_t longest_;  // window
  bool visible_;
  std::chrono::steady_clock::time_point started_;
};

}  // namespace tessera::cli
