#include "lab/task/relational_recall/relational_recall.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "lab/task/sequence/draws.h"

namespace tessera::task {

size_t recalled_item(const std::vector<BitRows>& items, size_t query) {
  check_argument(items.size() >= 2 && query < items.size(),
                 "recalled_item: query {} of {} items; two or more are needed", query,
                 items.size());
  const bool farthest = items[query].back().back() != 0;
  std::optional<size_t> best;
  int64_t best_distance = 0;
  for (size_t item = 0; item < items.size(); ++item) {
    if (item == query) continue;
    const int64_t distance = hamming_distance(items[item], items[query]);
    if (!best || (farthest ? distance > best_distance : distance < best_distance)) {
      best = item;
      best_distance = distance;
    }
  }
  return *best;
}

RelationalRecall::RelationalRecall(const RelationalRecallConfig& config) : config_(config) {
  constexpr int64_t kMost = 65536;
  const bool intended = config.form == RelationalRecallForm::kIntended;
  check_range(config.bits, 1, kMost, "relational-recall: bits");
  check_range(config.max_drawn, 1, kMost, "relational-recall: max_drawn");
  check_range(config.min_drawn, intended ? 2 : 1, config.max_drawn, "relational-recall: min_drawn");
  check_range(config.fixed, intended ? 1 : 2, kMost, "relational-recall: fixed");
}

TaskShape RelationalRecall::shape() const {
  return bit_shape(config_.bits);
}

RelationalRecall::Items RelationalRecall::draw(uint64_t seed, int64_t index,
                                               int64_t size_of) const {
  RandomStream sizes = size_stream(seed, size_of), content = content_stream(seed, index);
  const int64_t drawn = draw_size(seed, size_of, config_.min_drawn, config_.max_drawn);
  const bool intended = config_.form == RelationalRecallForm::kIntended;
  const int64_t items = intended ? drawn : config_.fixed;
  const int64_t vectors = intended ? config_.fixed : drawn;
  const int64_t query =
      intended ? draw_between(content, 0, items - 1) : draw_between(sizes, 0, items - 2);
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
  double vectors = 0, wrong_items = 0;  // means over the sizes drawn
  const double sizes = static_cast<double>(config_.max_drawn - config_.min_drawn + 1);
  for (int64_t drawn = config_.min_drawn; drawn <= config_.max_drawn; ++drawn) {
    const auto items = static_cast<double>(intended ? drawn : config_.fixed);
    const auto length = static_cast<double>(intended ? config_.fixed : drawn);
    vectors += length / sizes;
    // Another item is the answer with 1 / (items - 1); a wrong one differs in half of its bits, but
    // for some more (0.2 % of 96 bits), since the answer was chosen by its distance.
    wrong_items += length * (items - 2) / (items - 1) / sizes;
  }
  const double half_width = 0.5 * static_cast<double>(config_.bits);
  return {{"guess every bit", "bits per sequence", half_width * vectors},
          {"any other item", "bits per sequence", half_width * wrong_items}};
}

}  // namespace tessera::task
