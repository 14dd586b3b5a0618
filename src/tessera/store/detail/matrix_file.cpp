#include "tessera/store/detail/matrix_file.h"

#include <charconv>
#include <utility>

#include "tessera/base/checksum.h"
#include "tessera/base/error.h"
#include "tessera/store/digest.h"

namespace tessera::store {
namespace {

using safetensors::DType;

constexpr const char* kMatrixFormat = "tessera-memo-matrix-1";
constexpr const char* kTensor = "C";
constexpr const char* kRemedy = "'tessera memo verify --repair' rebuilds it from the ledger";

/// What the checksums cover first: whose file it is. A store of one matrix does not number it.
std::string owner_of(const StoreConfig& config, int32_t shard) {
  return config.memory.shards == 1 ? config.text() : fmt::format("{} {}", config.text(), shard);
}

std::string checksum_of(const std::string& owner, const MatrixState& state,
                        std::span<const std::byte> entries) {
  Checksum sum;
  sum.add(fmt::format("{}\n{} {}\n", owner, state.change, state.pairs));
  sum.add(entries);
  return sum.hex();
}

/// Of the state, so that it can be trusted before the entries are read.
std::string state_checksum(const std::string& owner, const MatrixState& state) {
  return checksum(fmt::format("{}\n{} {} {} {}\n{}", owner, state.change, state.pairs,
                              state.energy.value(), state.digest, state.after));
}

const std::string& metadata(const safetensors::File& file, const std::string& name) {
  const auto found = file.metadata().find(name);
  if (found == file.metadata().end())
    throw DataError(file.path(), "its metadata lacks '{}'; {}", name, kRemedy);
  return found->second;
}

template <typename Number>
Number number(const safetensors::File& file, const std::string& name) {
  const std::string& text = metadata(file, name);
  Number value = 0;
  const auto [stop, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || stop != text.data() + text.size() || !(value >= 0))
    throw DataError(file.path(), "its metadata '{}' is '{}', expected a number from 0 on; {}", name,
                    text, kRemedy);
  return value;
}

MatrixState state_of(const safetensors::File& file, const std::string& owner) {
  MatrixState state{.change = number<int64_t>(file, "change"),
                    .pairs = number<int64_t>(file, "pairs")};
  if (file.metadata().contains("after")) state.after = metadata(file, "after");
  if (!file.metadata().contains("state_checksum")) return state;  // of an earlier version
  state.energy = number<double>(file, "energy");
  state.digest = metadata(file, "digest");
  if (state_checksum(owner, state) != metadata(file, "state_checksum"))
    throw DataError(file.path(), "is damaged: the checksum of its state does not match; {}",
                    kRemedy);
  return state;
}

void check_owner(const safetensors::File& file, const StoreConfig& config, int32_t shard) {
  if (metadata(file, "format") != kMatrixFormat)
    throw DataError(file.path(), "has format '{}', this version of Tessera reads '{}'",
                    metadata(file, "format"), kMatrixFormat);
  if (metadata(file, "config") != config.text())
    throw DataError(file.path(), "belongs to a store with {}, this one has {}; {}",
                    metadata(file, "config"), config.text(), kRemedy);
  if (config.memory.shards > 1 && number<int32_t>(file, "shard") != shard)
    throw DataError(file.path(), "holds shard {}, expected shard {}; {}", metadata(file, "shard"),
                    shard, kRemedy);
}

void check_tensor(const safetensors::File& file, int64_t dimension) {
  const auto& tensor = file.at(kTensor);
  if (tensor.shape != std::vector<int64_t>{dimension, dimension} ||
      (tensor.dtype != DType::kI32 && tensor.dtype != DType::kI64) ||
      reinterpret_cast<uintptr_t>(tensor.bytes.data()) % sizeof(int64_t) != 0)
    throw DataError(file.path(), "'{}' is not I32 or I64 of shape [{}, {}]; {}", kTensor, dimension,
                    dimension, kRemedy);
}

}  // namespace

MatrixFile::MatrixFile(safetensors::File file, MatrixState state, std::string owner)
    : file_(std::make_shared<safetensors::File>(std::move(file))),
      state_(std::move(state)),
      owner_(std::move(owner)) {}

MatrixFile MatrixFile::open(const std::filesystem::path& path, const StoreConfig& config,
                            int32_t shard) {
  if (!is_there(path)) throw DataError(path.native(), "is missing; {}", kRemedy);
  auto file = safetensors::File::open(path, Mapping::kCopyOnWrite);
  check_owner(file, config, shard);
  check_tensor(file, config.memory.dimension);
  const std::string owner = owner_of(config, shard);
  MatrixState state = state_of(file, owner);
  return {std::move(file), std::move(state), owner};
}

memo::MemoryShard MatrixFile::shard() const {
  return {state_.pairs, state_.energy, [file = file_, state = state_, owner = owner_] {
            const auto& tensor = file->at(kTensor);
            if (checksum_of(owner, state, tensor.bytes) != metadata(*file, "checksum"))
              throw DataError(file->path(),
                              "is damaged: its checksum does not match its content; {}", kRemedy);
            return memo::ExactCorrelationMemory::from_bytes(tensor.shape[0], tensor.shape[1],
                                                            tensor.dtype == DType::kI32 ? 32 : 64,
                                                            file->writable_bytes(kTensor), file);
          }};
}

std::string MatrixFile::write(const std::filesystem::path& path, const StoreConfig& config,
                              int32_t shard, const memo::MemoryShard& memory, int64_t change,
                              const std::string& after) {
  const memo::ExactCorrelationMemory& matrix = memory.matrix();
  const MatrixState state{change, after, memory.pairs(), memory.energy(),
                          content_digest(config.text(), matrix)};
  const std::string owner = owner_of(config, shard);
  std::map<std::string, std::string> metadata = {
      {"format", kMatrixFormat},
      {"config", config.text()},
      {"change", std::to_string(state.change)},
      {"pairs", std::to_string(state.pairs)},
      {"energy", fmt::format("{}", *state.energy)},
      {"digest", state.digest},
      {"state_checksum", state_checksum(owner, state)},
      {"checksum", checksum_of(owner, state, matrix.bytes())}};
  if (config.memory.shards > 1) metadata["shard"] = std::to_string(shard);
  if (!after.empty()) metadata["after"] = after;
  const safetensors::TensorView tensor{matrix.bits() == 32 ? DType::kI32 : DType::kI64,
                                       {matrix.rows(), matrix.columns()},
                                       matrix.bytes()};
  safetensors::write(path, {{kTensor, tensor}}, metadata);
  return state.digest;
}

}  // namespace tessera::store
