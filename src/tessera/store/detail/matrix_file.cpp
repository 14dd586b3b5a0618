#include "tessera/store/detail/matrix_file.h"

#include <fmt/ranges.h>

#include <limits>
#include <string_view>
#include <type_traits>

#include "tessera/base/checksum.h"
#include "tessera/base/error.h"
#include "tessera/base/number.h"
#include "tessera/store/digest.h"

namespace tessera::store {
namespace {

using safetensors::DType;

constexpr const char* kMatrixFormat = "tessera-memo-matrix-2";
constexpr const char* kUnpackedFormat = "tessera-memo-matrix-1";  // C [d, d], of earlier versions
constexpr const char* kTensor = "C";
constexpr int64_t kMostPairs = int64_t{1} << 50;  // so that those of all shards fit 64 bits
constexpr const char* kRemedy = "'tessera memo verify --repair' rebuilds it from the ledger";

/// What the checksums cover first: whose file it is. A store of one matrix does not number it.
std::string owner_of(const StoreConfig& config, int32_t shard) {
  return config.memory.shards == 1 ? config.text() : fmt::format("{} {}", config.text(), shard);
}

/// packing: none of entries that are not packed.
std::string checksum_of(const std::string& owner, const MatrixState& state,
                        const std::optional<memo::Packing>& packing,
                        std::span<const std::byte> entries) {
  Checksum sum;
  sum.add(fmt::format("{}\n{} {}\n", owner, state.change, state.pairs));
  if (packing) sum.add(fmt::format("{} {} {}\n", packing->least, packing->most, packing->step));
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
Number number(const safetensors::File& file, const std::string& name, Number least = 0,
              Number most = std::numeric_limits<Number>::max()) {
  const std::string& text = metadata(file, name);
  const auto value = number_from<Number>(text);
  if (value && *value >= least && *value <= most) return *value;
  throw DataError(file.path(), "its metadata '{}' is '{}', expected {}; {}", name, text,
                  std::is_floating_point_v<Number>
                      ? fmt::format("a finite number of at least {}", least)
                      : fmt::format("a whole number from {} to {}", least, most),
                  kRemedy);
}

MatrixState state_of(const safetensors::File& file, const std::string& owner) {
  MatrixState state{.change = number<int64_t>(file, "change"),
                    .pairs = number<int64_t>(file, "pairs", 0, kMostPairs)};
  if (file.metadata().contains("after")) state.after = metadata(file, "after");
  if (!file.metadata().contains("state_checksum")) return state;  // of an earlier version
  state.energy = number<double>(file, "energy");
  state.digest = metadata(file, "digest");
  if (state_checksum(owner, state) != metadata(file, "state_checksum"))
    throw DataError(file.path(), "is damaged: the checksum of its state does not match; {}",
                    kRemedy);
  return state;
}

bool is_packed(const safetensors::File& file) {
  return metadata(file, "format") != kUnpackedFormat;
}

std::optional<memo::Packing> packing_of(const safetensors::File& file) {
  if (!is_packed(file)) return {};
  const memo::Packing packing = {number<int64_t>(file, "least", INT64_MIN),
                                 number<int64_t>(file, "most", INT64_MIN),
                                 number<int64_t>(file, "step", 1)};
  if (packing.least > packing.most || packing.step > 2)
    throw DataError(file.path(), "its entries are said to lie from {} to {} in steps of {}; {}",
                    packing.least, packing.most, packing.step, kRemedy);
  return packing;
}

/// The file, mapped. Where it is not a whole safetensors file, the message says how to mend that.
safetensors::File opened(const std::filesystem::path& path) {
  const std::string& name = path.native();
  if (!is_there(path)) throw DataError(name, "is missing; {}", kRemedy);
  try {
    return safetensors::File::open(path);
  } catch (const DataError& error) {
    const std::string_view complaint = error.what();
    throw DataError(name, "{}; {}", complaint.substr(name.size() + 2), kRemedy);  // after "NAME: "
  }
}

void check_owner(const safetensors::File& file, const StoreConfig& config, int32_t shard) {
  if (metadata(file, "format") != kMatrixFormat && is_packed(file))
    throw DataError(file.path(), "has format '{}', this version of Tessera reads '{}' and '{}'",
                    metadata(file, "format"), kMatrixFormat, kUnpackedFormat);
  if (metadata(file, "config") != config.text())
    throw DataError(file.path(), "belongs to a store with {}, this one has {}; {}",
                    metadata(file, "config"), config.text(), kRemedy);
  if (config.memory.shards > 1 && number<int32_t>(file, "shard") != shard)
    throw DataError(file.path(), "holds shard {}, expected shard {}; {}", metadata(file, "shard"),
                    shard, kRemedy);
}

void check_tensor(const safetensors::File& file, int64_t dimension) {
  const auto& tensor = file.at(kTensor);
  const std::optional<memo::Packing> packing = packing_of(file);
  const auto shape = packing ? std::vector<int64_t>{packing->words(dimension * dimension)}
                             : std::vector<int64_t>{dimension, dimension};
  if (tensor.shape != shape ||
      (tensor.dtype != DType::kI64 && (packing || tensor.dtype != DType::kI32)) ||
      reinterpret_cast<uintptr_t>(tensor.bytes.data()) % sizeof(int64_t) != 0)
    throw DataError(file.path(), "'{}' is not {} of shape [{}]; {}", kTensor,
                    packing ? "I64" : "I32 or I64", fmt::join(shape, ", "), kRemedy);
}

memo::ExactCorrelationMemory matrix_of(const safetensors::File& file, int64_t dimension) {
  const auto& tensor = file.at(kTensor);
  const std::optional<memo::Packing> packing = packing_of(file);
  if (!packing)
    return memo::ExactCorrelationMemory::from_bytes(
        dimension, dimension, tensor.dtype == DType::kI32 ? 32 : 64, tensor.bytes);
  return memo::ExactCorrelationMemory::from_packed(
      dimension, dimension, *packing,
      {reinterpret_cast<const uint64_t*>(tensor.bytes.data()),
       static_cast<size_t>(tensor.shape[0])});
}

}  // namespace

MatrixFile::MatrixFile(const std::filesystem::path& path, const StoreConfig& config, int32_t shard)
    : file_(std::make_shared<safetensors::File>(opened(path))),
      owner_(owner_of(config, shard)),
      dimension_(config.memory.dimension) {
  check_owner(*file_, config, shard);
  check_tensor(*file_, dimension_);
  state_ = state_of(*file_, owner_);
}

memo::MemoryShard MatrixFile::shard() const {
  return {state_.pairs, state_.energy, [*this] {
            if (checksum_of(owner_, state_, packing_of(*file_), file_->at(kTensor).bytes) !=
                metadata(*file_, "checksum"))
              throw DataError(file_->path(),
                              "is damaged: its checksum does not match its content; {}", kRemedy);
            return matrix_of(*file_, dimension_);
          }};
}

std::string MatrixFile::write(const std::filesystem::path& path, const StoreConfig& config,
                              int32_t shard, const memo::MemoryShard& memory, int64_t change,
                              const std::string& after) {
  const memo::ExactCorrelationMemory& matrix = memory.matrix();
  const MatrixState state{change, after, memory.pairs(), memory.energy(),
                          content_digest(config.text(), matrix)};
  const std::string owner = owner_of(config, shard);
  const memo::Packing packing = matrix.packing();
  const std::vector<uint64_t> words = matrix.packed(packing);
  const auto bytes = std::as_bytes(std::span(words));
  std::map<std::string, std::string> metadata = {
      {"format", kMatrixFormat},
      {"config", config.text()},
      {"change", std::to_string(state.change)},
      {"pairs", std::to_string(state.pairs)},
      {"energy", fmt::format("{}", *state.energy)},
      {"digest", state.digest},
      {"least", std::to_string(packing.least)},
      {"most", std::to_string(packing.most)},
      {"step", std::to_string(packing.step)},
      {"state_checksum", state_checksum(owner, state)},
      {"checksum", checksum_of(owner, state, packing, bytes)}};
  if (config.memory.shards > 1) metadata["shard"] = std::to_string(shard);
  if (!after.empty()) metadata["after"] = after;
  const safetensors::TensorView tensor{DType::kI64, {std::ssize(words)}, bytes};
  safetensors::write(path, {{kTensor, tensor}}, metadata);
  return state.digest;
}

}  // namespace tessera::store
