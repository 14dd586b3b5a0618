#include "tessera/task/babi/babi_batch.h"

#include <ATen/Functions.h>

#include <algorithm>

#include "tessera/base/error.h"
#include "tessera/task/sequence/draws.h"
#include "tessera/tensor/check_shape.h"

namespace tessera::task {

BabiBatch BabiBatch::to(const at::Device& device) const {
  return {stories.to(device), sentences.to(device), questions.to(device), answers.to(device)};
}

BabiBatch make_babi_batch(const BabiData& data, int64_t task, Split split,
                          std::span<const int64_t> numbers) {
  check_argument(!numbers.empty(), "make_babi_batch: no questions");
  const BabiQuestions& all = data.questions(task, split);
  const int64_t steps = data.story_length(task), rows = std::ssize(numbers);
  const int64_t width = data.longest_sentence();
  BabiBatch batch{at::zeros({steps, rows, width}, at::kLong), at::zeros({rows}, at::kLong),
                  at::zeros({rows, width}, at::kLong), at::zeros({rows}, at::kLong)};
  auto* stories = batch.stories.data_ptr<int64_t>();
  const auto put = [](std::span<const int32_t> words, int64_t* row) {
    std::copy(words.begin(), words.end(), row);
  };
  for (int64_t b = 0; b < rows; ++b) {
    const int64_t number = numbers[static_cast<size_t>(b)];
    const int64_t sentences = all.sentences(number), kept = std::min(sentences, steps);
    for (int64_t t = 0; t < kept; ++t)
      put(all.sentence(number, sentences - kept + t), stories + (t * rows + b) * width);
    batch.sentences.data_ptr<int64_t>()[b] = kept;
    put(all.question(number), batch.questions.data_ptr<int64_t>() + b * width);
    batch.answers.data_ptr<int64_t>()[b] = all.answer(number);
  }
  return batch;
}

BabiBatch joint_babi_batch(const BabiData& data, uint64_t seed, int64_t step, int64_t rows) {
  RandomStream random(seed, static_cast<uint64_t>(step));
  const auto& tasks = data.config().tasks;
  const int64_t task = tasks[random.below(tasks.size())];
  const int64_t last = data.questions(task, Split::kTraining).size() - 1;
  std::vector<int64_t> questions;
  for (int64_t i = 0; i < rows; ++i) questions.push_back(draw_between(random, 0, last));
  return make_babi_batch(data, task, Split::kTraining, questions);
}

int64_t wrong_babi_answers(const at::Tensor& logits, const BabiBatch& batch) {
  check_shape(logits, {batch.answers.size(0), -1}, "wrong_babi_answers: logits");
  const auto wrong =
      logits.detach().argmax(-1).ne(batch.answers).logical_or(logits.isnan().any(-1));
  return wrong.sum().item().toLong();
}

}  // namespace tessera::task
