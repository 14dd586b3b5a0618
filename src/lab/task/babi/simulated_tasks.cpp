#include "lab/task/babi/simulated_tasks.h"

#include <utility>

namespace tessera::task {

int64_t Narrator::tell(std::string statement) {
  story_.push_back({.text = std::move(statement), .answer = {}, .support = {}});
  return std::ssize(story_);
}

void Narrator::ask(std::string question, std::string answer, std::vector<int64_t> support) {
  story_.push_back({std::move(question), std::move(answer), std::move(support)});
  ++questions_;
}

std::string_view Narrator::moved_to() {
  static constexpr std::string_view kWords[] = {"moved to", "went to", "travelled to",
                                                "journeyed to", "went back to"};
  return pick(kWords);
}

std::string_view Narrator::picked_up() {
  static constexpr std::string_view kWords[] = {"picked up", "got", "grabbed", "took"};
  return pick(kWords);
}

std::string_view Narrator::dropped() {
  static constexpr std::string_view kWords[] = {"dropped", "left", "discarded", "put down"};
  return pick(kWords);
}

std::string_view Narrator::gave() {
  static constexpr std::string_view kWords[] = {"gave", "handed", "passed"};
  return pick(kWords);
}

}  // namespace tessera::task
