#include "tessera/checkpoint/detail/weight_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "tessera/base/error.h"

namespace tessera {
namespace {

constexpr size_t kMostComplaints = 10;

std::string shape_text(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

bool is_floating(safetensors::DType dtype) {
  using safetensors::DType;
  return dtype == DType::kF16 || dtype == DType::kBF16 || dtype == DType::kF32 ||
         dtype == DType::kF64;
}

bool fits(safetensors::DType found, const std::string& name,
          const std::map<std::string, safetensors::DType>& types) {
  const auto expected = types.find(name);
  return expected == types.end() ? is_floating(found) : found == expected->second;
}

}  // namespace

void check_tensors(const std::map<std::string, safetensors::TensorView>& found,
                   const std::vector<ParameterShape>& expected, const std::string& path,
                   const std::map<std::string, safetensors::DType>& types) {
  std::vector<std::string> complaints;
  std::set<std::string> known;
  for (const auto& [name, shape] : expected) {
    known.insert(name);
    const auto entry = found.find(name);
    if (entry == found.end())
      complaints.push_back(
          fmt::format("tensor '{}' is missing, expected shape {}", name, shape_text(shape)));
    else if (entry->second.shape != shape)
      complaints.push_back(fmt::format("tensor '{}' has shape {}, expected {}", name,
                                       shape_text(entry->second.shape), shape_text(shape)));
    else if (!fits(entry->second.dtype, name, types))
      complaints.push_back(fmt::format(
          "tensor '{}' has type {}, expected {}", name,
          safetensors::dtype_name(entry->second.dtype),
          types.count(name) ? safetensors::dtype_name(types.at(name)) : "a floating-point type"));
  }
  for (const auto& [name, view] : found)
    if (!known.contains(name))
      complaints.push_back(
          fmt::format("tensor '{}' of shape {} is unexpected", name, shape_text(view.shape)));
  if (complaints.empty()) return;
  const size_t more = complaints.size() - std::min(complaints.size(), kMostComplaints);
  complaints.resize(std::min(complaints.size(), kMostComplaints));
  throw DataError(path, "{}{}", fmt::join(complaints, "; "),
                  more > 0 ? fmt::format("; and {} more", more) : "");
}

}  // namespace tessera
