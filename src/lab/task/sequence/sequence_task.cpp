#include "lab/task/sequence/sequence_task.h"

#include "tessera/base/random.h"

namespace tessera::task {

std::span<float> TaskSample::add_row(int64_t width) {
  ++steps;
  inputs.resize(inputs.size() + width);
  return std::span(inputs).last(width);
}

void TaskSample::answer_with_classes(std::span<const int64_t> answer, int64_t width) {
  first_answer = steps;
  answers = std::ssize(answer);
  classes.assign(answer.begin(), answer.end());
  for (size_t i = 0; i < answer.size(); ++i) add_row(width);
}

uint64_t split_seed(uint64_t seed, Split split) {
  constexpr uint64_t kSplits = 0x73706C697473;  // "splits": a stream that no sample has
  return Philox(seed, kSplits).number(static_cast<uint64_t>(split));
}

}  // namespace tessera::task
