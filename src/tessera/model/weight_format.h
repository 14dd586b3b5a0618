#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/config.h"

namespace tessera {

class SequenceModel;

/// How a tensor of a foreign file lies in memory, seen from our own parameter.
enum class TensorForm {
  kSame,
  kTransposed,   ///< [out, in] <-> [in, out]; vectors stay
  kConvolution,  ///< [out, in] <-> [out, in, 1]; vectors stay
  kPerHead,      ///< [H] <-> [1, H, 1, 1]
  kSlots,        ///< [P, H, M, D] <-> [P, 1, H, M, D]
  kSlotsApart    ///< [P, H, M, D] <-> P tensors [1, H, M, D]
};

/// One row of a format's table of names. '#' stands for the layer, '*' for "weight" or "bias", '@'
/// for the number of a persistent memory.
struct NameRow {
  std::string_view own;
  std::string_view foreign;
  TensorForm form = TensorForm::kSame;
  bool repeats_other = false;   ///< a tied copy of the tensor of an earlier row
  bool never_prefixed = false;  ///< whatever prefix the other names have
};

/// What a file in a foreign format tells of its model. Parameters go by our own names.
class ForeignSizes {
 public:
  virtual ~ForeignSizes() = default;
  /// The shape of a parameter. Throws DataError where the tensor that holds it is missing or does
  /// not have the rank that it should.
  virtual std::vector<int64_t> shape(const std::string& own_name, size_t rank) const = 0;
  virtual bool holds(const std::string& own_name) const = 0;
  /// The shape of a buffer by its foreign name; none where there is no such buffer.
  virtual std::optional<std::vector<int64_t>> buffer_shape(const std::string& name) const = 0;
  /// A whole number of the file's metadata. Throws DataError where it is something else.
  virtual std::optional<int64_t> metadata(const std::string& key) const = 0;
};

/// A format in which another program keeps the weights of a kind of model.
struct WeightFormat {
  std::string_view name;  ///< as `tessera import --from` gives it
  /// The first name without wildcards is in every file; the prefix of a file is what stands before.
  std::vector<NameRow> names;
  std::vector<std::string_view> buffers;  ///< foreign names of tensors that are not parameters
  /// Hyper-parameters that every model in this format has, their values as JSON.
  std::vector<std::pair<std::string_view, std::string_view>> implied;
  /// The other hyper-parameters, from what a file tells.
  config::Json (*hyper_parameters)(const ForeignSizes&);
  /// The metadata of an exported file, where the format keeps sizes.
  std::map<std::string, std::string> (*metadata)(const SequenceModel&);
  /// A variant of another format is recognised by a tensor (its foreign name) that only it has.
  std::string_view variant_of = {}, recognised_by = {};
};

/// What networks of blocks have in common: vocabulary, channels, layers (the number of blocks that
/// have this norm) and bias. No state dict tells the dropout; it becomes 0.
config::Json sizes_of_blocks(const ForeignSizes& file, std::string_view norm_of_block);
/// The same of a model, under the names that nanoGPT gave them, and "window" under `window_key`.
std::map<std::string, std::string> metadata_of_blocks(const SequenceModel& model,
                                                      std::string_view window_key);

}  // namespace tessera
