#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/file.h"

namespace tessera::safetensors {

enum class DType { kBool, kU8, kI8, kU16, kI16, kI32, kI64, kF16, kBF16, kF32, kF64 };

/// "F32" and so on, as in the file.
std::string_view dtype_name(DType dtype);
size_t dtype_bytes(DType dtype);

/// A tensor's bytes in row-major order, not owned. The bytes may lie at any alignment.
struct TensorView {
  DType dtype;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;
};

/// A safetensors file, memory-mapped. The header is checked before any tensor can be read: sizes,
/// types, shapes, and byte ranges that neither overlap nor leave holes nor leave the file.
class File {
 public:
  /// Throws SystemError, or DataError that names the tensor and what is wrong with it.
  static File open(const std::filesystem::path& path);

  /// Throws DataError with the nearest name where there is no such tensor.
  const TensorView& at(const std::string& name) const;
  const std::map<std::string, TensorView>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::string& path() const { return path_; }

 private:
  File(MappedFile mapping, std::string path)
      : mapping_(std::move(mapping)), path_(std::move(path)) {}
  void parse_header();

  MappedFile mapping_;
  std::string path_;
  std::map<std::string, TensorView> tensors_;
  std::map<std::string, std::string> metadata_;
};

struct NamedTensor {
  std::string name;
  TensorView tensor;
};

/// Writes the tensors atomically, in the order given, the header padded by spaces so that the data
/// starts at a multiple of 64 bytes. Throws SystemError; UsageError on a repeated name
/// or bytes that do not fit the shape.
void write(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors,
           const std::map<std::string, std::string>& metadata = {});

/// The header of such a file alone (the eight length bytes, the JSON, the padding), for writers
/// that stream the data after it.
std::string header(const std::vector<NamedTensor>& tensors,
                   const std::map<std::string, std::string>& metadata);

}  // namespace tessera::safetensors
