#include "tessera/base/safetensors.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "tessera/base/config.h"
#include "tessera/base/error.h"
#include "tessera/base/suggestion.h"

namespace tessera::safetensors {
namespace {

using nlohmann::json;

struct DTypeInfo {
  std::string_view name;
  size_t bytes;
};
constexpr DTypeInfo kDTypes[] = {{"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"U16", 2},
                                 {"I16", 2},  {"I32", 4}, {"I64", 8}, {"F16", 2},
                                 {"BF16", 2}, {"F32", 4}, {"F64", 8}};
constexpr uint64_t kLongestHeader = 100'000'000;  // the format's own limit, in bytes
constexpr size_t kAlignment = 64;                 // bytes

/// Elements times bytes, or nothing where it (or a stride) overflows.
std::optional<uint64_t> bytes_of(const std::vector<int64_t>& shape, DType dtype) {
  int64_t bytes = dtype_bytes(dtype);
  bool empty = false;
  for (int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(bytes, std::max<int64_t>(size, 1), &bytes)) return {};
    empty = empty || size == 0;
  }
  return empty ? 0 : static_cast<uint64_t>(bytes);
}

DType parse_dtype(const std::string& name, const std::string& tensor, const std::string& path) {
  for (size_t i = 0; i < std::size(kDTypes); ++i)
    if (kDTypes[i].name == name) return static_cast<DType>(i);
  throw DataError(path, "tensor '{}' has the unknown type '{}'", tensor, name);
}

struct Entry {
  DType dtype;
  std::vector<int64_t> shape;
  uint64_t begin, end;
};

/// A list of whole numbers from 0 on; anything else is a json::exception or a DataError.
std::vector<int64_t> parse_sizes(const json& list, const std::string& name,
                                 const std::string& path) {
  constexpr size_t kMostSizes = 64;  // more dimensions than any tensor has
  if (list.size() > kMostSizes)
    throw DataError(path, "tensor '{}' has {} sizes, at most {} are read", name, list.size(),
                    kMostSizes);
  std::vector<int64_t> sizes;
  for (const auto& item : list) {
    if (!item.is_number_unsigned() || !std::in_range<int64_t>(item.get<uint64_t>()))
      throw DataError(path, "tensor '{}' has the size or offset {}", name, item.dump());
    sizes.push_back(item.get<int64_t>());
  }
  return sizes;
}

Entry parse_entry(const json& item, const std::string& name, const std::string& path) {
  try {
    const auto offsets = parse_sizes(item.at("data_offsets"), name, path);
    if (offsets.size() != 2) throw DataError(path, "tensor '{}' needs two data_offsets", name);
    return {parse_dtype(item.at("dtype").get<std::string>(), name, path),
            parse_sizes(item.at("shape"), name, path), static_cast<uint64_t>(offsets[0]),
            static_cast<uint64_t>(offsets[1])};
  } catch (const json::exception&) {
    throw DataError(path, "tensor '{}' is not described by dtype, shape and data_offsets", name);
  }
}

/// The bytes of a tensor are those of its shape, and in the file.
void check_entry(const Entry& entry, const std::string& name, uint64_t data_bytes,
                 const std::string& path) {
  const auto expected = bytes_of(entry.shape, entry.dtype);
  if (!expected || entry.end < entry.begin || entry.end - entry.begin != *expected)
    throw DataError(path, "tensor '{}' has shape {} of {} in bytes {} to {}, which does not fit",
                    name, json(entry.shape).dump(), dtype_name(entry.dtype), entry.begin,
                    entry.end);
  if (entry.end > data_bytes)
    throw DataError(path,
                    "tensor '{}' ends at byte {} of the data, which has {}; the file is truncated",
                    name, entry.end, data_bytes);
}

/// The parts of the data area must follow one another without hole or overlap.
void check_layout(std::vector<std::pair<uint64_t, uint64_t>> ranges, uint64_t data_bytes,
                  const std::string& path) {
  std::sort(ranges.begin(), ranges.end());
  uint64_t position = 0;
  for (const auto& [begin, end] : ranges) {
    if (begin != position)
      throw DataError(path, "byte {} of the data: tensors overlap or leave a hole", position);
    position = end;
  }
  if (position != data_bytes)
    throw DataError(path, "holds {} bytes of data, its header describes {}; the file is {}",
                    data_bytes, position, position > data_bytes ? "truncated" : "too long");
}

}  // namespace

std::string_view dtype_name(DType dtype) {
  return kDTypes[static_cast<size_t>(dtype)].name;
}
size_t dtype_bytes(DType dtype) {
  return kDTypes[static_cast<size_t>(dtype)].bytes;
}

File File::open(const std::filesystem::path& path) {
  File file(MappedFile(path), path.native());
  file.parse_header();
  return file;
}

void File::parse_header() {
  const auto bytes = mapping_.bytes();
  uint64_t header_bytes = 0;
  if (bytes.size() < sizeof header_bytes)
    throw DataError(path_, "has {} bytes, too few for a safetensors file", bytes.size());
  std::memcpy(&header_bytes, bytes.data(), sizeof header_bytes);
  if (header_bytes > kLongestHeader || header_bytes > bytes.size() - sizeof header_bytes)
    throw DataError(path_,
                    "announces a header of {} bytes in a file of {}; it is truncated or not a "
                    "safetensors file",
                    header_bytes, bytes.size());
  const auto data = bytes.subspan(sizeof header_bytes + header_bytes);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + sizeof header_bytes,
                              header_bytes);
  const json header = config::parse_sorted_json(text, path_ + ": header");
  if (!header.is_object()) throw DataError(path_, "its header is not a JSON object");

  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (const auto& [name, item] : header.items()) {
    if (name == "__metadata__") {
      try {
        metadata_ = item.get<std::map<std::string, std::string>>();
      } catch (const json::exception&) {
        throw DataError(path_, "its metadata is not a table of strings");
      }
      continue;
    }
    const Entry entry = parse_entry(item, name, path_);
    check_entry(entry, name, data.size(), path_);
    tensors_[name] = {entry.dtype, entry.shape, data.subspan(entry.begin, entry.end - entry.begin)};
    ranges.emplace_back(entry.begin, entry.end);
  }
  check_layout(std::move(ranges), data.size(), path_);
}

const TensorView& File::at(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found != tensors_.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [other, view] : tensors_) known.push_back(other);
  throw DataError(path_, "has no tensor '{}'{}", name, suggestion(name, known));
}

std::string header(const std::vector<NamedTensor>& tensors,
                   const std::map<std::string, std::string>& metadata) {
  config::Json entries = config::Json::object();
  if (!metadata.empty()) entries["__metadata__"] = metadata;
  std::set<std::string> seen;
  uint64_t position = 0;
  for (const auto& [name, tensor] : tensors) {
    check_argument(seen.insert(name).second && name != "__metadata__",
                   "safetensors::write: the name '{}' cannot be used (again)", name);
    const auto bytes = bytes_of(tensor.shape, tensor.dtype);
    check_argument(bytes.has_value(), "safetensors::write: '{}' has an impossible shape", name);
    entries[name] = {{"dtype", dtype_name(tensor.dtype)},
                     {"shape", tensor.shape},
                     {"data_offsets", {position, position + *bytes}}};
    position += *bytes;
  }
  std::string text;
  try {
    text = entries.dump();
  } catch (const json::type_error& error) {
    throw UsageError("safetensors::write: a name or the metadata is not UTF-8: {}", error.what());
  }
  text.append((kAlignment - (sizeof(uint64_t) + text.size()) % kAlignment) % kAlignment, ' ');
  const uint64_t length = text.size();
  std::string result(sizeof length, '\0');
  std::memcpy(result.data(), &length, sizeof length);
  return result + text;
}

void write(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors,
           const std::map<std::string, std::string>& metadata) {
  const std::string head = header(tensors, metadata);
  for (const auto& [name, tensor] : tensors)
    check_argument(bytes_of(tensor.shape, tensor.dtype) == tensor.bytes.size(),
                   "safetensors::write: '{}' has {} bytes, which do not fit its shape", name,
                   tensor.bytes.size());
  AtomicFile file(path);
  file.write(head);
  for (const auto& [name, tensor] : tensors) file.write(tensor.bytes);
  file.commit();
}

}  // namespace tessera::safetensors
