#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera {

namespace safetensors {
class File;
}

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

/// The tensors of a safetensors file, copied into memory of their own, with the file's metadata.
struct TensorFile {
  std::string path;
  std::map<std::string, at::Tensor> tensors;
  std::map<std::string, std::string> metadata;

  /// Throws SystemError, or DataError where the file is damaged.
  static TensorFile load(const std::filesystem::path& path);
  /// The same of a file that is open, even where another one has its name by now.
  static TensorFile load(const safetensors::File& file);
  /// The tensor of this name and these sizes (-1: any). Throws DataError that names what was
  /// expected and found.
  const at::Tensor& at(const std::string& name, const std::vector<int64_t>& sizes) const;
  /// The same, of this type.
  const at::Tensor& at(const std::string& name, const std::vector<int64_t>& sizes,
                       at::ScalarType type) const;
  /// Throws DataError where the metadata lack it.
  const std::string& metadata_at(const std::string& name) const;
};

/// The bytes of a contiguous tensor on the CPU.
std::span<const std::byte> bytes_of(const at::Tensor& tensor);

/// Writes CPU copies of the tensors atomically, in the order given. Throws SystemError, and
/// UsageError on a type that safetensors cannot hold.
void save_tensors(const std::filesystem::path& path, const NamedTensors& tensors,
                  const std::map<std::string, std::string>& metadata = {});

/// Where the metadata keep the checksum (XXH3, 64 bits, as 16 hexadecimal digits) of a text and of
/// names and bytes of the tensors, in the order of the names: finds damage, not forgery.
constexpr const char* kChecksum = "checksum";

/// As save_tensors, with the checksum of the tensors and `text` in the metadata.
void save_with_checksum(const std::filesystem::path& path, NamedTensors tensors,
                        std::map<std::string, std::string> metadata = {},
                        std::string_view text = {});

/// Throws DataError unless the metadata have the checksum of the file's tensors and `text`.
void check_checksum(const TensorFile& file, std::string_view text = {});

}  // namespace tessera
