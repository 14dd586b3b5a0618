#include "tessera/store/matrix_file.h"

#include <charconv>

#include "tessera/base/checksum.h"
#include "tessera/base/error.h"

namespace tessera::store {
namespace {

using safetensors::DType;

constexpr const char* kMatrixFormat = "tessera-memo-matrix-1";
constexpr const char* kTensor = "C";
constexpr const char* kRemedy = "'tessera memo verify --repair' rebuilds it from the ledger";

std::string checksum_of(const std::string& config, const MatrixState& state,
                        std::span<const std::byte> entries) {
  Checksum sum;
  sum.add(fmt::format("{}\n{} {}\n", config, state.change, state.pairs));
  sum.add(entries);
  return sum.hex();
}

const std::string& metadata(const safetensors::File& file, const std::string& name) {
  const auto found = file.metadata().find(name);
  if (found == file.metadata().end())
    throw DataError(file.path(), "its metadata lacks '{}'; {}", name, kRemedy);
  return found->second;
}

int64_t number(const safetensors::File& file, const std::string& name) {
  const std::string& text = metadata(file, name);
  int64_t value = 0;
  const auto [stop, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || stop != text.data() + text.size() || value < 0)
    throw DataError(file.path(), "its metadata '{}' is '{}', expected a whole number; {}", name,
                    text, kRemedy);
  return value;
}

}  // namespace

MatrixFile::MatrixFile(safetensors::File file, MatrixState state, std::string config,
                       int64_t dimension)
    : file_(std::make_shared<safetensors::File>(std::move(file))),
      state_(state),
      config_(std::move(config)),
      dimension_(dimension) {}

MatrixFile MatrixFile::open(const std::filesystem::path& path, const std::string& config,
                            int64_t dimension) {
  if (!is_there(path)) throw DataError(path.native(), "is missing; {}", kRemedy);
  auto file = safetensors::File::open(path, Mapping::kCopyOnWrite);
  if (metadata(file, "format") != kMatrixFormat)
    throw DataError(path.native(), "has format '{}', this version of Tessera reads '{}'",
                    metadata(file, "format"), kMatrixFormat);
  if (metadata(file, "config") != config)
    throw DataError(path.native(), "belongs to a store with {}, this one has {}; {}",
                    metadata(file, "config"), config, kRemedy);
  const auto& tensor = file.at(kTensor);
  if (tensor.shape != std::vector<int64_t>{dimension, dimension} ||
      (tensor.dtype != DType::kI32 && tensor.dtype != DType::kI64) ||
      reinterpret_cast<uintptr_t>(tensor.bytes.data()) % sizeof(int64_t) != 0)
    throw DataError(path.native(), "'{}' is not I32 or I64 of shape [{}, {}]; {}", kTensor,
                    dimension, dimension, kRemedy);
  const MatrixState state{number(file, "change"), number(file, "pairs")};
  return {std::move(file), state, config, dimension};
}

memo::ExactCorrelationMemory MatrixFile::matrix() && {
  const auto& tensor = file_->at(kTensor);
  if (checksum_of(config_, state_, tensor.bytes) != metadata(*file_, "checksum"))
    throw DataError(file_->path(), "is damaged: its checksum does not match its content; {}",
                    kRemedy);
  const auto bytes = file_->writable_bytes(kTensor);
  return memo::ExactCorrelationMemory::from_bytes(
      dimension_, dimension_, tensor.dtype == DType::kI32 ? 32 : 64, bytes, std::move(file_));
}

void MatrixFile::write(const std::filesystem::path& path, const std::string& config,
                       const MatrixState& state, const memo::ExactCorrelationMemory& matrix) {
  const safetensors::TensorView tensor{matrix.bits() == 32 ? DType::kI32 : DType::kI64,
                                       {matrix.rows(), matrix.columns()},
                                       matrix.bytes()};
  safetensors::write(path, {{kTensor, tensor}},
                     {{"format", kMatrixFormat},
                      {"config", config},
                      {"change", std::to_string(state.change)},
                      {"pairs", std::to_string(state.pairs)},
                      {"checksum", checksum_of(config, state, matrix.bytes())}});
}

}  // namespace tessera::store
