#include "lab/task/sequence/sample_file.h"

#include <nlohmann/json.hpp>
#include <numeric>

#include "lab/task/sequence/check_range.h"
#include "lab/task/sequence/task_batch.h"
#include "tessera/tensor/tensor_file.h"

namespace tessera::task {
namespace {

constexpr int64_t kMostSamples = 100'000'000;

void check_samples(int64_t first, int64_t count) {
  check_range(count, 1, kMostSamples, "the number of samples");
  check_range(first, 0, int64_t{1} << 60, "the first sample");
}

}  // namespace

void write_jsonl(const SequenceTask& task, uint64_t seed, int64_t first, int64_t count,
                 const std::function<void(std::string_view)>& write) {
  check_samples(first, count);
  for (int64_t index = first; index < first + count; ++index)
    write(task.describe(seed, index).dump() + '\n');
}

void write_tensors(const SequenceTask& task, uint64_t seed, int64_t first, int64_t count,
                   const std::filesystem::path& path) {
  check_samples(first, count);
  std::vector<int64_t> samples(static_cast<size_t>(count));
  std::iota(samples.begin(), samples.end(), first);
  const TaskBatch batch = make_batch(task, seed, samples, BatchSizes::kOwn);
  save_tensors(path,
               {{"inputs", batch.inputs}, {"targets", batch.targets}, {"answers", batch.answers}},
               {{"seed", std::to_string(seed)},
                {"first_sample", std::to_string(first)},
                {"shape", config::to_json(task.shape()).dump()}});
}

}  // namespace tessera::task
