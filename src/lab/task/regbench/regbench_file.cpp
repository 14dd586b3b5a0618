#include "lab/task/regbench/regbench_file.h"

#include <nlohmann/json.hpp>
#include <numeric>

#include "lab/task/sequence/check_range.h"
#include "tessera/tensor/tensor_file.h"

namespace tessera::task {
namespace {

void check_sequences(int64_t first, int64_t count) {
  check_range(count, 1, 100'000'000, "the number of sequences");
  check_range(first, 0, int64_t{1} << 60, "the first sequence");
}

}  // namespace

void write_regbench_jsonl(const RegBench& task, const RegBenchSet& set, int64_t first,
                          int64_t count, const std::function<void(std::string_view)>& write) {
  check_sequences(first, count);
  for (int64_t index = first; index < first + count; ++index)
    write(task.describe(set.automata, set.sequences, index).dump() + '\n');
}

void write_regbench_tensors(const RegBench& task, const RegBenchSet& set, int64_t first,
                            int64_t count, const std::filesystem::path& path) {
  check_sequences(first, count);
  std::vector<int64_t> automata(static_cast<size_t>(count));
  std::iota(automata.begin(), automata.end(), first);
  const RegBenchBatch batch = make_regbench_batch(task, set, automata);
  save_tensors(path, {{"inputs", batch.inputs}, {"targets", batch.targets}, {"truth", batch.truth}},
               {{"automata_seed", std::to_string(set.automata)},
                {"sequences_seed", std::to_string(set.sequences)},
                {"first_sequence", std::to_string(first)}});
}

}  // namespace tessera::task
