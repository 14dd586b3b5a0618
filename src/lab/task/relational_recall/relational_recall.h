#pragma once

#include "lab/task/sequence/bit_rows.h"
#include "lab/task/sequence/sequence_task.h"

namespace tessera::task {

/// kIntended: a drawn number of items, each of `fixed` vectors; any of them may be the query.
/// kAuthors: the authors' code, in which these two arguments are swapped: `fixed` items, each of a
/// drawn number of vectors; the query is never the last item, and a batch shares its place.
enum class RelationalRecallForm { kIntended, kAuthors };
constexpr std::array<std::string_view, 2> enum_names(RelationalRecallForm) {
  return {"intended", "authors"};
}

struct RelationalRecallConfig {
  RelationalRecallForm form = RelationalRecallForm::kIntended;
  int64_t bits = 32;
  int64_t fixed = 3;
  int64_t min_drawn = 2;
  int64_t max_drawn = 5;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("form", form, "what the sizes below count");
    field("bits", bits, "width of a vector", config::between(1, 65536));
    field("fixed", fixed, "vectors of an item (intended), or items (authors)",
          config::between(1, 65536));
    field("min_drawn", min_drawn,
          "minimum number of items (intended), or vectors of an item (authors)",
          config::at_least(1));
    field("max_drawn", max_drawn,
          "maximum number of items (intended), or of vectors of an item (authors)",
          config::between(1, 65536));
  }
};

/// Relational associative recall (Le et al. 2020, section 3.2): several items, then a query equal
/// to one of them; return the farthest other item if the last bit of the query is 1, else the
/// closest other item. Distance: Euclidean over the bits of the whole item; of equally distant
/// items the first counts. Input rows of bits + 2 channels: for each item a row with channel `bits`
/// set, then its vectors; a row with channel `bits` + 1 set, the query's vectors, such a row again;
/// then rows of zeros, at which the answer is the vectors of the item.
class RelationalRecall : public ConfiguredTask<RelationalRecallConfig> {
 public:
  /// Throws UsageError on sizes out of bounds, fewer than two items, or an empty range.
  explicit RelationalRecall(const RelationalRecallConfig& config);

  TaskShape shape() const override;
  TaskSample draw_sample(uint64_t seed, int64_t index, int64_t size_of) const override;
  config::Json describe(uint64_t seed, int64_t index) const override;
  /// Guessing every bit; answering with any other item; with the first other item; and with each
  /// bit as most of the others have it, where they are even as the query has it, or as it has not
  /// if the farthest item is asked for. The last two are measured on 10,000 samples.
  std::vector<Level> levels() const override;

 private:
  struct Items {
    std::vector<BitRows> items;
    size_t query;
  };
  Items draw(uint64_t seed, int64_t index, int64_t size_of) const;
};

/// The item that answers a query for items[query]: the farthest or closest other one, by the last
/// bit of the query. Two or more items of one shape, not empty.
size_t recalled_item(const std::vector<BitRows>& items, size_t query);

}  // namespace tessera::task
