#include "lab/learner/babi/babi_batch.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <functional>

#include "lab/task/sequence/draws.h"
#include "tessera/base/consecutive.h"
#include "tessera/base/error.h"
#include "tessera/base/random.h"
#include "tessera/tensor/check.h"

namespace tessera::task {
namespace {

void sort_by_length(std::vector<int64_t>& readings, const std::vector<BabiReading>& all) {
  std::ranges::stable_sort(readings, std::greater{}, [&](int64_t i) { return all[i].sentences; });
}

}  // namespace

int64_t BabiBatch::count() const {
  return answers.ne(kNoQuestion).sum().item().toLong();
}

BabiBatch make_babi_batch(const BabiData& data, int64_t task, Split split,
                          std::span<const int64_t> numbers) {
  check_argument(!numbers.empty(), "make_babi_batch: no readings");
  const BabiQuestions& file = data.questions(task, split);
  std::vector<BabiReading> readings;
  for (int64_t number : numbers) readings.push_back(data.readings(task, split).at(number));
  int64_t T = 0, C = 0;
  for (const BabiReading& reading : readings) {
    T = std::max(T, reading.sentences);
    C = std::max(C, reading.questions);
  }
  const int64_t B = std::ssize(readings), W = data.longest_sentence();
  const BabiBatch batch{at::zeros({B, T, W}, at::kLong), at::zeros({B, C, W}, at::kLong),
                        at::zeros({B, C}, at::kLong),
                        at::full({B, C}, BabiBatch::kNoQuestion, at::kLong),
                        at::zeros({B, C}, at::kBool)};
  const auto put = [W](std::span<const int32_t> words, const at::Tensor& to, int64_t place) {
    std::copy(words.begin(), words.end(), to.data_ptr<int64_t>() + place * W);
  };
  for (int64_t b = 0; b < B; ++b) {
    const BabiReading& reading = readings[b];
    const int64_t first =
        file.question(reading.first_question).first_sentence + reading.first_sentence;
    for (int64_t t = 0; t < reading.sentences; ++t)
      put(file.text(first + t), batch.sentences, b * T + t);
    for (int64_t c = 0; c < reading.questions; ++c) {
      const int64_t number = reading.first_question + c, place = b * C + c;
      const BabiQuestion& question = file.question(number);
      put(file.text(question.text), batch.questions, place);
      batch.after.data_ptr<int64_t>()[place] = question.sentences - reading.first_sentence;
      batch.answers.data_ptr<int64_t>()[place] = question.answer;
      batch.unseen.data_ptr<bool>()[place] = split == Split::kTest && data.is_unseen(task, number);
    }
  }
  return batch;
}

std::vector<BabiBatch> babi_batches(const BabiData& data, int64_t task, Split split, int64_t rows,
                                    int64_t limit) {
  check_argument(rows > 0, "babi_batches: {} rows", rows);
  const auto& all = data.readings(task, split);
  const auto count = std::ssize(all);
  std::vector<int64_t> readings =
      consecutive<int64_t>(limit > 0 ? std::min<int64_t>(limit, count) : count);
  sort_by_length(readings, all);
  std::vector<BabiBatch> batches;
  for (size_t first = 0; first < readings.size(); first += rows)
    batches.push_back(make_babi_batch(
        data, task, split,
        std::span(readings).subspan(first, std::min<size_t>(rows, readings.size() - first))));
  return batches;
}

BabiDraw draw_babi(const BabiData& data, uint64_t seed, int64_t step, int64_t questions,
                   int64_t parts) {
  check_argument(questions > 0 && parts > 0, "draw_babi: {} questions in {} parts", questions,
                 parts);
  RandomStream random(seed, step);
  const auto& tasks = data.config().tasks;
  BabiDraw draw;
  draw.task = tasks[random.below(tasks.size())];
  const auto& all = data.readings(draw.task, Split::kTraining);
  std::vector<int64_t> readings;
  while (draw.questions < questions || std::ssize(readings) < parts) {
    readings.push_back(draw_between(random, 0, std::ssize(all) - 1));
    draw.questions += all[readings.back()].questions;
  }
  sort_by_length(readings, all);
  for (int64_t part = 0; part < parts; ++part)
    draw.parts.emplace_back(readings.begin() + part * std::ssize(readings) / parts,
                            readings.begin() + (part + 1) * std::ssize(readings) / parts);
  return draw;
}

at::Tensor babi_loss(const at::Tensor& logits, const BabiBatch& batch) {
  check_shape(logits, {batch.answers.size(0), batch.answers.size(1), -1}, "babi_loss: logits");
  return at::cross_entropy_loss(logits.flatten(0, 1), batch.answers.flatten().to(logits.device()),
                                {}, at::Reduction::Sum, BabiBatch::kNoQuestion);
}

at::Tensor wrong_babi_answers(const at::Tensor& logits, const BabiBatch& batch) {
  check_shape(logits, {batch.answers.size(0), batch.answers.size(1), -1},
              "wrong_babi_answers: logits");
  const at::Tensor answers = batch.answers.to(logits.device());
  const auto wrong = logits.detach().argmax(-1).ne(answers).logical_or(logits.isnan().any(-1));
  return wrong.logical_and(answers.ne(BabiBatch::kNoQuestion)).cpu();
}

}  // namespace tessera::task
