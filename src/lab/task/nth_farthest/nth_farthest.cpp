#include "lab/task/nth_farthest/nth_farthest.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "lab/task/sequence/draws.h"
#include "tessera/base/consecutive.h"

namespace tessera::task {
namespace {

double squared_distance(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = double{a[i]} - double{b[i]};
    sum += difference * difference;
  }
  return sum;
}

}  // namespace

std::vector<size_t> farthest_first(const std::vector<std::vector<float>>& vectors,
                                   size_t reference) {
  check_argument(reference < vectors.size(), "farthest_first: vector {} of {}", reference,
                 vectors.size());
  std::vector<double> distances;
  for (const auto& vector : vectors)
    distances.push_back(squared_distance(vector, vectors[reference]));
  distances[reference] = -1;  // behind an equal vector
  std::vector<size_t> order = consecutive<size_t>(vectors.size());
  std::ranges::stable_sort(order, std::greater{}, [&](size_t i) { return distances[i]; });
  return order;
}

TaskShape NthFarthest::shape() const {
  return {.input_width = config_.dimension + 3 * config_.vectors,
          .output_width = config_.vectors,
          .targets = TargetKind::kClasses};
}

NthFarthest::Question NthFarthest::draw(uint64_t seed, int64_t index) const {
  RandomStream random = content_stream(seed, index);
  Question question;
  for (int64_t i = 0; i < config_.vectors; ++i) {
    auto& vector = question.vectors.emplace_back();
    for (int64_t j = 0; j < config_.dimension; ++j)
      vector.push_back(static_cast<float>(2 * random.uniform() - 1));
  }
  question.labels = draw_permutation(random, config_.vectors);
  question.k = draw_between(random, 0, config_.vectors - 1);
  question.reference = draw_between(random, 0, config_.vectors - 1);
  return question;
}

TaskSample NthFarthest::draw_sample(uint64_t seed, int64_t index, int64_t) const {
  const Question question = draw(seed, index);
  const int64_t n = config_.vectors, dimension = config_.dimension;
  TaskSample sample;
  for (int64_t i = 0; i < n; ++i) {
    const auto row = sample.add_row(shape().input_width);
    std::copy(question.vectors[i].begin(), question.vectors[i].end(), row.begin());
    row[dimension + question.labels[i]] = 1;
    row[dimension + n + question.k] = 1;
    row[dimension + 2 * n + question.labels[question.reference]] = 1;
  }
  const auto order = farthest_first(question.vectors, question.reference);
  sample.first_answer = sample.steps - 1;
  sample.answers = 1;
  sample.classes = {question.labels[order[question.k]]};
  return sample;
}

config::Json NthFarthest::describe(uint64_t seed, int64_t index) const {
  const Question question = draw(seed, index);
  config::Json vectors = config::Json::array();
  for (const auto& vector : question.vectors) vectors.push_back(shortest_decimals(vector));
  std::vector<int64_t> ranking;
  for (size_t place : farthest_first(question.vectors, question.reference))
    ranking.push_back(question.labels[place]);
  return {{"index", index},
          {"vectors", vectors},
          {"labels", question.labels},
          {"k", question.k},
          {"m", question.labels[question.reference]},
          {"labels_farthest_first", ranking},
          {"answer", ranking[question.k]}};
}

std::vector<Level> NthFarthest::levels() const {
  constexpr int64_t kSamples = 10'000;
  double by_length = 0;
  for (int64_t index = 0; index < kSamples; ++index) {
    Question question = draw(0, index);
    const size_t answer = farthest_first(question.vectors, question.reference)[question.k];
    question.vectors[question.reference].assign(config_.dimension, 0);  // distances are lengths
    by_length += answer == farthest_first(question.vectors, question.reference)[question.k] ? 1 : 0;
  }
  const double n = config_.vectors;
  return {{"guess a label", "accuracy", 1 / n},
          {"m if k = N-1, else any other label", "accuracy", 2 / n},
          {"m if k = N-1, else the k-th longest other", "accuracy", by_length / kSamples}};
}

}  // namespace tessera::task
