#include "tessera/checkpoint/detail/foreign_names.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cctype>
#include <optional>

namespace tessera {
namespace {

using enum TensorForm;

/// What the wildcards of a pattern stand for in a name.
struct Match {
  std::string layer, last;
};

bool all_digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c); });
}

std::optional<Match> match(std::string_view pattern, std::string_view name) {
  Match result;
  while (true) {
    const auto part = pattern.substr(0, pattern.find('.'));
    const auto word = name.substr(0, name.find('.'));
    if (part == "#" && all_digits(word))
      result.layer = word;
    else if (part == "*" && (word == "weight" || word == "bias"))
      result.last = word;
    else if (part != word)
      return {};
    const bool pattern_ends = part.size() == pattern.size();
    if (pattern_ends != (word.size() == name.size())) return {};
    if (pattern_ends) return result;
    pattern.remove_prefix(part.size() + 1);
    name.remove_prefix(word.size() + 1);
  }
}

std::string filled(std::string_view pattern, const Match& match, int64_t part) {
  std::string name;
  for (char c : pattern) {
    if (c == '#')
      name += match.layer;
    else if (c == '*')
      name += match.last;
    else if (c == '@')
      name += std::to_string(part);
    else
      name += c;
  }
  return name;
}

std::vector<int64_t> shape_in(TensorForm form, const std::vector<int64_t>& shape) {
  const bool matrix = shape.size() == 2;
  switch (form) {
    case kTransposed:
      return matrix ? std::vector<int64_t>{shape[1], shape[0]} : shape;
    case kConvolution:
      return matrix ? std::vector<int64_t>{shape[0], shape[1], 1} : shape;
    case kPerHead:
      return {1, shape[0], 1, 1};
    case kSlots:
      return {shape[0], 1, shape[1], shape[2], shape[3]};
    case kSlotsApart:
      return {1, shape[1], shape[2], shape[3]};
    case kSame:
      break;
  }
  return shape;
}

}  // namespace

std::vector<ForeignTensor> foreign_tensors(const WeightFormat& format, const std::string& own_name,
                                           const std::vector<int64_t>& shape) {
  std::vector<ForeignTensor> result;
  for (const auto& row : format.names) {
    const auto found = match(row.own, own_name);
    if (!found) continue;
    const int64_t parts = row.form == kSlotsApart ? shape.at(0) : 1;
    for (int64_t part = 0; part < parts; ++part)
      result.push_back({filled(row.foreign, *found, part), shape_in(row.form, shape), row.form,
                        part, row.repeats_other, row.never_prefixed});
  }
  return result;
}

bool is_buffer(const WeightFormat& format, std::string_view name) {
  return std::any_of(format.buffers.begin(), format.buffers.end(),
                     [&](std::string_view pattern) { return match(pattern, name).has_value(); });
}

std::vector<int64_t> own_shape(TensorForm form, const std::vector<int64_t>& shape) {
  switch (form) {
    case kTransposed:
      return shape_in(form, shape);
    case kConvolution:
      return {shape.begin(), shape.begin() + 2};
    case kPerHead:
      return {shape[1]};
    case kSlots:
      return {shape[0], shape[2], shape[3], shape[4]};
    case kSlotsApart:
    case kSame:
      break;
  }
  return shape;
}

at::Tensor in_form(const at::Tensor& own, const ForeignTensor& foreign) {
  if (foreign.form == kTransposed && own.dim() == 2) return own.t();
  return (foreign.form == kSlotsApart ? own[foreign.part] : own).view(foreign.shape);
}

}  // namespace tessera
