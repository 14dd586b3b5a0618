#include "tessera/tensor/tensor_file.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include <cstring>

#include "tessera/base/checksum.h"
#include "tessera/base/error.h"
#include "tessera/base/safetensors.h"
#include "tessera/tensor/check.h"

namespace tessera {
namespace {

using safetensors::DType;

constexpr std::pair<DType, at::ScalarType> kTypes[] = {
    {DType::kBool, at::kBool}, {DType::kU8, at::kByte},       {DType::kI8, at::kChar},
    {DType::kI16, at::kShort}, {DType::kI32, at::kInt},       {DType::kI64, at::kLong},
    {DType::kF16, at::kHalf},  {DType::kBF16, at::kBFloat16}, {DType::kF32, at::kFloat},
    {DType::kF64, at::kDouble}};

at::Tensor to_tensor(const safetensors::TensorView& view, const std::string& name,
                     const std::string& path) {
  for (const auto& [dtype, scalar_type] : kTypes) {
    if (dtype != view.dtype) continue;
    at::Tensor tensor = at::empty(view.shape, scalar_type);
    if (!view.bytes.empty()) std::memcpy(tensor.data_ptr(), view.bytes.data(), view.bytes.size());
    // A bool that is neither 0 nor 1 must not come in.
    if (dtype == DType::kBool) return tensor.view(at::kByte).ne(0);
    return tensor;
  }
  throw DataError(path, "tensor '{}' has type {}, which cannot be read here", name,
                  safetensors::dtype_name(view.dtype));
}

DType to_dtype(at::ScalarType wanted, const std::string& name) {
  for (const auto& [dtype, scalar_type] : kTypes)
    if (scalar_type == wanted) return dtype;
  TESSERA_CHECK(false, "save_tensors: '", name, "' has type ", wanted,
                ", which safetensors cannot hold");
}

/// Of tensors that are contiguous on the CPU.
std::string checksum_of(const std::map<std::string, at::Tensor>& tensors, std::string_view text) {
  Checksum sum;
  sum.add(text);
  for (const auto& [name, tensor] : tensors) {
    sum.add(name);
    sum.add(bytes_of(tensor));
  }
  return sum.hex();
}

}  // namespace

TensorFile TensorFile::load(const std::filesystem::path& path) {
  return load(safetensors::File::open(path));
}

TensorFile TensorFile::load(const safetensors::File& file) {
  TensorFile result{file.path(), {}, file.metadata()};
  for (const auto& [name, view] : file.tensors())
    result.tensors[name] = to_tensor(view, name, result.path);
  return result;
}

const at::Tensor& TensorFile::at(const std::string& name, const std::vector<int64_t>& sizes) const {
  const auto found = tensors.find(name);
  if (found == tensors.end())
    throw DataError(path, "has no tensor '{}', expected one of shape [{}]", name,
                    fmt::join(sizes, ", "));
  if (!sizes_fit(found->second.sizes(), sizes))
    throw DataError(path, "tensor '{}' has shape [{}], expected [{}]", name,
                    fmt::join(found->second.sizes().vec(), ", "), fmt::join(sizes, ", "));
  return found->second;
}

const at::Tensor& TensorFile::at(const std::string& name, const std::vector<int64_t>& sizes,
                                 at::ScalarType type) const {
  const at::Tensor& tensor = at(name, sizes);
  if (tensor.scalar_type() != type)
    throw DataError(path, "tensor '{}' has type {}, expected {}", name,
                    c10::toString(tensor.scalar_type()), c10::toString(type));
  return tensor;
}

const std::string& TensorFile::metadata_at(const std::string& name) const {
  const auto found = metadata.find(name);
  if (found == metadata.end()) throw DataError(path, "its metadata has no entry '{}'", name);
  return found->second;
}

std::span<const std::byte> bytes_of(const at::Tensor& tensor) {
  return {static_cast<const std::byte*>(tensor.data_ptr()), tensor.nbytes()};
}

void save_tensors(const std::filesystem::path& path, const NamedTensors& tensors,
                  const std::map<std::string, std::string>& metadata) {
  std::vector<at::Tensor> kept;  // owns the bytes while they are written
  std::vector<safetensors::NamedTensor> views;
  for (const auto& [name, tensor] : tensors) {
    kept.push_back(tensor.detach().to(at::kCPU).contiguous());
    views.push_back(
        {name,
         {to_dtype(tensor.scalar_type(), name), kept.back().sizes().vec(), bytes_of(kept.back())}});
  }
  safetensors::write(path, views, metadata);
}

void save_with_checksum(const std::filesystem::path& path, NamedTensors tensors,
                        std::map<std::string, std::string> metadata, std::string_view text) {
  // Both the sum and the file want them there.
  for (auto& [name, tensor] : tensors) tensor = tensor.detach().to(at::kCPU).contiguous();
  metadata[kChecksum] = checksum_of({tensors.begin(), tensors.end()}, text);
  save_tensors(path, tensors, metadata);
}

void check_checksum(const TensorFile& file, std::string_view text) {
  const std::string found = checksum_of(file.tensors, text), expected = file.metadata_at(kChecksum);
  if (found != expected)
    throw DataError(file.path,
                    "is damaged: its content has the checksum {}, its header says {}; put back a "
                    "copy",
                    found, expected);
}

}  // namespace tessera
