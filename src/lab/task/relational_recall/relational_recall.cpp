#include "lab/task/relational_recall/relational_recall.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numbers>

#include "lab/task/sequence/draws.h"

namespace tessera::task {
namespace {

/// Probability of `ones` ones among so many fair bits.
double binomial(double bits, double ones) {
  return std::exp(std::lgamma(bits + 1) - std::lgamma(ones + 1) - std::lgamma(bits - ones + 1) -
                  bits * std::numbers::ln2);
}

/// Of several random items the one that is closest to a query differs from each of the others in a
/// little more than half of its bits, because these lie farther from the query: by how many bits
/// more, summed over the others. As many for the farthest one. Two items that differ from the query
/// in bits / 2 + a and bits / 2 + b bits differ from each other in bits / 2 - 2 a b / bits.
double bits_beyond_half(int64_t items, int64_t bits) {
  if (items < 3) return 0;         // of two each lies as far from the other as any do
  constexpr int64_t kWide = 1024;  // beyond it no width makes a difference of 0.001 bits
  const auto count = static_cast<double>(items), width = static_cast<double>(std::min(bits, kWide));
  double share = 0, sum = 0;          // P(d >= distance) of an item, E[d - bits / 2; d >= distance]
  double all_share = 0, all_sum = 0;  // the same where all items are as far
  double products = 0;                // E[a (b1 + b2 + ...)], a of the closest item
  for (double distance = width; distance >= 0; --distance) {
    const double a = distance - width / 2, farther_share = all_share, farther_sum = all_sum;
    const double at_distance = binomial(width, distance);
    share += at_distance;
    sum += at_distance * a;
    all_share = std::pow(share, count);
    all_sum = count * std::pow(share, count - 1) * sum;
    products += a * (all_sum - farther_sum) - a * a * (all_share - farther_share);
  }
  return -2 * products / width;
}

/// The first item beside the query.
BitRows first_other(const std::vector<BitRows>& items, size_t query) {
  return items[query == 0 ? 1 : 0];
}

/// Each bit as most of the other items have it; where they are even, as the query has it, or as it
/// has not if the farthest item is asked for.
BitRows bits_of_most(const std::vector<BitRows>& items, size_t query) {
  const uint8_t farthest = items[query].back().back();
  BitRows answer = items[query];
  for (size_t row = 0; row < answer.size(); ++row)
    for (size_t i = 0; i < answer[row].size(); ++i) {
      int64_t votes = (answer[row][i] ^ farthest) != 0 ? 1 : -1;
      for (size_t item = 0; item < items.size(); ++item)
        if (item != query) votes += items[item][row][i] != 0 ? 2 : -2;
      answer[row][i] = votes > 0 ? 1 : 0;
    }
  return answer;
}

}  // namespace

size_t recalled_item(const std::vector<BitRows>& items, size_t query) {
  check_argument(items.size() >= 2 && query < items.size(),
                 "recalled_item: query {} of {} items; two or more are needed", query,
                 items.size());
  const bool farthest = items[query].back().back() != 0;
  std::vector<int64_t> distances;
  for (const BitRows& item : items) distances.push_back(hamming_distance(item, items[query]));
  distances[query] = farthest ? -1 : std::numeric_limits<int64_t>::max();
  const auto answer =
      farthest ? std::ranges::max_element(distances) : std::ranges::min_element(distances);
  return answer - distances.begin();
}

RelationalRecall::RelationalRecall(const RelationalRecallConfig& config) : ConfiguredTask(config) {
  const bool intended = config.form == RelationalRecallForm::kIntended;
  check_range(config.min_drawn, intended ? 2 : 1, config.max_drawn, "task.min_drawn");
  if (!intended && config.fixed < 2)
    throw UsageError("task.fixed is {}, expected two items or more", config.fixed);
}

TaskShape RelationalRecall::shape() const {
  return bit_shape(config_.bits);
}

RelationalRecall::Items RelationalRecall::draw(uint64_t seed, int64_t index,
                                               int64_t size_of) const {
  RandomStream content = content_stream(seed, index);
  RandomStream queries = size_stream(seed, -1 - size_of);  // no size is drawn from it
  const int64_t drawn = draw_size(seed, size_of, config_.min_drawn, config_.max_drawn);
  const bool intended = config_.form == RelationalRecallForm::kIntended;
  const int64_t items = intended ? drawn : config_.fixed;
  const int64_t vectors = intended ? config_.fixed : drawn;
  const int64_t query =
      intended ? draw_between(content, 0, items - 1) : draw_between(queries, 0, items - 2);
  Items result{.items = {}, .query = static_cast<size_t>(query)};
  for (int64_t i = 0; i < items; ++i)
    result.items.push_back(draw_bit_rows(content, vectors, config_.bits));
  return result;
}

TaskSample RelationalRecall::draw_sample(uint64_t seed, int64_t index, int64_t size_of) const {
  const auto [items, query] = draw(seed, index, size_of);
  TaskSample sample;
  for (const BitRows& item : items) {
    add_mark(sample, config_.bits, 0);
    for (const BitRow& row : item) add_bit_row(sample, row);
  }
  add_mark(sample, config_.bits, 1);
  for (const BitRow& row : items[query]) add_bit_row(sample, row);
  add_mark(sample, config_.bits, 1);
  answer_with_bits(sample, items[recalled_item(items, query)]);
  return sample;
}

config::Json RelationalRecall::describe(uint64_t seed, int64_t index) const {
  const auto [items, query] = draw(seed, index, index);
  config::Json texts = config::Json::array(), distances = config::Json::array();
  for (const BitRows& item : items) {
    texts.push_back(bit_texts(item));
    distances.push_back(hamming_distance(item, items[query]));
  }
  return {{"index", index},
          {"items", texts},
          {"query", query},
          {"asks_for", items[query].back().back() != 0 ? "farthest" : "closest"},
          {"bits_apart", distances},
          {"answer", recalled_item(items, query)}};
}

std::vector<Level> RelationalRecall::levels() const {
  const bool intended = config_.form == RelationalRecallForm::kIntended;
  double guessed = 0, of_another = 0;  // means over the sizes drawn
  const double sizes = static_cast<double>(config_.max_drawn - config_.min_drawn + 1);
  for (int64_t drawn = config_.min_drawn; drawn <= config_.max_drawn; ++drawn) {
    const int64_t others = (intended ? drawn : config_.fixed) - 1;
    const int64_t bits = config_.bits * (intended ? config_.fixed : drawn);
    const double half = 0.5 * static_cast<double>(bits), wrong = static_cast<double>(others - 1);
    guessed += half / sizes;
    // Each of the others is the answer with 1 / others.
    of_another += (wrong * half + bits_beyond_half(others, bits)) / (wrong + 1) / sizes;
  }
  constexpr int64_t kSamples = 10'000;
  const auto measured = [&](const char* name, auto* answer) {
    double bits = 0, faultless = 0;
    for (int64_t index = 0; index < kSamples; ++index) {
      const auto [items, query] = draw(0, index, index);
      const auto apart = hamming_distance(answer(items, query), items[recalled_item(items, query)]);
      bits += static_cast<double>(apart);
      faultless += apart == 0 ? 1 : 0;
    }
    return Level{name, "bits per sequence", bits / kSamples, faultless / kSamples};
  };
  return {{"guess every bit", "bits per sequence", guessed},
          {"any other item", "bits per sequence", of_another},
          measured("the first other item", first_other),
          measured("bits of most others, else the query's", bits_of_most)};
}

}  // namespace tessera::task
