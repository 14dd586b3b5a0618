#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/config.h"
#include "tessera/ops/number_formats.h"
#include "tessera/tensor/tensor_file.h"

namespace tessera {

class LanguageModel;
class SequenceModel;

/// A format in which another program keeps weights, and the prefix of its names there.
///   nanomosaics         nanoMosaics (Memory Mosaics, alternate parameterisation)
///   memory-mosaics      the library behind the experiments of Zhang et al. 2024
///   memory-mosaics-eft  the same library's variant with a fused scan, whose leaks are named twice
///   nanogpt             nanoGPT
///   gpt2                GPT-2 as Hugging Face names it: linear weights transposed, tanh GELU
///   sam                 the two-memory model of Le et al. 2020 (`stm_basic.STM`), of one step
/// The prefix stands before every name ("transformer.", "module.", "_orig_mod."); GPT-2's
/// lm_head.weight alone never has one. Each kind of model lists its formats (ModelKind).
struct ForeignFormat {
  std::string name;
  std::string prefix;
};

/// The names of all formats.
std::vector<std::string_view> weight_format_names();

/// Writes config.json (kind, format, source, the numbers of the weights, hyper-parameters) and
/// model.safetensors into the folder, creating it where it is missing; each file appears whole or
/// not at all. Matrices are written in the numbers in which the model has them. source: the format
/// that the weights were imported from, if any. Throws SystemError.
void save_model(const std::filesystem::path& folder, const SequenceModel& model,
                const std::optional<ForeignFormat>& source = {});

/// The model that save_model wrote, to the bit, but for matrices of fewer bits, which become
/// floats. The tensor file is compared with config.json before anything is allocated. Throws
/// SystemError, or DataError where the folder holds no model, or one whose key or tensors, all of
/// them named with the expected and the found shape, are wrong.
std::shared_ptr<SequenceModel> load_sequence_model(const std::filesystem::path& folder);
/// The same for a language model; DataError where it is of another kind.
std::shared_ptr<LanguageModel> load_model(const std::filesystem::path& folder);

/// The language model to be read only: its matrices in numbers of this type or, where none is
/// given, in those of the folder. Throws as load_model does, and UsageError where a model of this
/// kind is read in float32 alone.
std::shared_ptr<LanguageModel> load_to_read(const std::filesystem::path& folder,
                                            std::optional<ops::WeightType> weights = {});

/// The numbers that the folder keeps matrices in. Throws as load_model does.
ops::WeightType weights_of_model(const std::filesystem::path& folder);

/// The kind and the hyper-parameters of a model: what a [model] table holds.
config::Json model_table(const SequenceModel& model);
/// The same of the folder's model, from its config.json alone. Throws DataError where there is none
/// or it is no such file.
config::Json model_table(const std::filesystem::path& folder);

/// The format that the folder's model was imported from. Throws as load_model does.
std::optional<ForeignFormat> source_of_model(const std::filesystem::path& folder);

struct ImportedModel {
  std::shared_ptr<SequenceModel> model;
  ForeignFormat format;  ///< memory-mosaics may turn out to be memory-mosaics-eft
};

/// Builds a model from a foreign state dict in a safetensors file. Its sizes are those of `sizes`
/// ("heads", "window"), else of the file's metadata (n_layer, n_head, n_embd, block_size
/// or n_positions, vocab_size, pmem_size, pmem_count; for sam input, output, num_slot, slot_size,
/// rel_size, mlp_size, out_att_size), else of the tensors' shapes. What shapes do
/// not tell: a GPT's heads, assumed to be 64 channels wide, as in GPT-2 of every size; the window
/// of a Memory Mosaic without buffers, assumed to be 512 tokens, as in the paper; whether a sam
/// model uses its gates, assumed. Dropout, which no state dict tells, is 0. Buffers are ignored.
/// Throws DataError that names every wrong, missing and unexpected tensor with the expected and
/// found shapes, before the model is allocated; UsageError on an unknown format and unknown
/// `sizes`.
ImportedModel import_weights(std::string_view format, const std::filesystem::path& file,
                             const std::map<std::string, int64_t>& sizes = {});

/// Writes the model's parameters under the format's names, with its sizes in the metadata. What
/// import_weights then reads has the same parameters to the bit, but not the model's dropout and
/// precision, which no format keeps. Throws UsageError where the format cannot hold the model.
void export_weights(const ForeignFormat& format, const SequenceModel& model,
                    const std::filesystem::path& file);

/// Tensors under own parameter names (parameters, or gradients of them), as the format names and
/// shapes them. A parameter that a state dict holds twice is given once, under its first name.
NamedTensors to_foreign(const ForeignFormat& format, const NamedTensors& own);

}  // namespace tessera
