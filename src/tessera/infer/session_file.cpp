// A streaming session as a file.

#include <ATen/ATen.h>

#include "tessera/base/checksum.h"
#include "tessera/base/config.h"
#include "tessera/base/error.h"
#include "tessera/base/number.h"
#include "tessera/infer/streaming_session.h"
#include "tessera/model/language_model.h"

namespace tessera {
namespace {

constexpr const char* kFormat = "tessera-session-1";

/// The sequences one after the other, and their lengths.
NamedTensors token_tensors(const std::vector<Tokens>& sequences) {
  Tokens all, lengths;
  for (const auto& sequence : sequences) {
    all.insert(all.end(), sequence.begin(), sequence.end());
    lengths.push_back(std::ssize(sequence));
  }
  return {{"tokens", at::tensor(all, at::kLong)}, {"lengths", at::tensor(lengths, at::kLong)}};
}

std::vector<Tokens> sequences_from(const TensorFile& file, int64_t vocabulary) {
  const at::Tensor lengths = file.at("lengths", {-1}, at::kLong);
  const at::Tensor tokens = file.at("tokens", {-1}, at::kLong);
  std::vector<Tokens> sequences;
  const int64_t* next = tokens.data_ptr<int64_t>();
  const int64_t* const end = next + tokens.numel();
  for (int64_t row = 0; row < lengths.numel(); ++row) {
    const int64_t length = lengths.data_ptr<int64_t>()[row];
    if (length < 1 || length > end - next)
      throw DataError(file.path, "'lengths' does not fit 'tokens' at sequence {}", row);
    sequences.emplace_back(next, next + length);
    next += length;
    for (int64_t token : sequences.back())
      if (token < 0 || token >= vocabulary)
        throw DataError(file.path, "token {} is outside the model's vocabulary of {}", token,
                        vocabulary);
  }
  if (next != end || sequences.empty())
    throw DataError(file.path, "'lengths' does not fit 'tokens'");
  return sequences;
}

/// Of all parameters, to tell a model from another one of the same sizes.
std::string checksum_of(const LanguageModel& model) {
  Checksum sum;
  for (const auto& parameter : model.parameters())
    sum.add(bytes_of(parameter.detach().cpu().contiguous()));
  return sum.hex();
}

/// Throws DataError on a number that is not finite: the model would be blamed for what follows.
void check_finite(const TensorFile& file) {
  for (const auto& [name, tensor] : file.tensors)
    if (tensor.is_floating_point() && !tensor.isfinite().all().item<bool>())
      throw DataError(file.path, "'{}' contains a number that is not finite", name);
}

/// What the memories hold goes to the model's device; what is counted stays on the CPU.
void place(TensorFile& file, at::Device device) {
  for (auto& [name, tensor] : file.tensors)
    if (tensor.scalar_type() != at::kLong) tensor = tensor.to(device);
}

/// The value of an enum that the metadata name.
template <config::NamedEnum Enum>
Enum enum_at(const TensorFile& file, const std::string& name) {
  return config::enum_value<Enum>(file.metadata_at(name), name);
}

MemoryBound bound_from(const TensorFile& file) {
  const std::string& text = file.metadata_at("bound");
  const auto pairs = number_from<int64_t>(text);
  if (!pairs || *pairs < 0)
    throw DataError(file.path, "'bound' is '{}', expected a number of pairs", text);
  return {.pairs = *pairs, .eviction = enum_at<Eviction>(file, "eviction")};
}

}  // namespace

void StreamingSession::save(const std::filesystem::path& path) const {
  check_argument(state_.has_value(),
                 "StreamingSession::save: the session has no state: it has read nothing, or more "
                 "than the window");
  NamedTensors tensors = token_tensors(tokens_);
  if (logits_.defined()) tensors.emplace_back("logits", logits_.to(at::kFloat));
  for (auto& named : state_->tensors()) tensors.push_back(std::move(named));
  save_tensors(path, tensors,
               {{"format", kFormat},
                {"kind", std::string(model_->kind())},
                {"parameters", checksum_of(*model_)},
                {"reading", config::enum_name(reading_)},
                {"bound", std::to_string(bound_.pairs)},
                {"eviction", config::enum_name(bound_.eviction)}});
}

// Files of builds before version 0.1.0 have no checksum of the parameters and no logits.
StreamingSession StreamingSession::load(LanguageModel& model, const std::filesystem::path& path) {
  TensorFile file = TensorFile::load(path);
  if (file.metadata_at("format") != kFormat)
    throw DataError(file.path, "is not a session of this version");
  if (file.metadata_at("kind") != model.kind())
    throw DataError(file.path, "is the session of a {}, the model is a {}",
                    file.metadata_at("kind"), model.kind());
  if (file.metadata.contains("parameters") && file.metadata.at("parameters") != checksum_of(model))
    throw DataError(file.path, "is the session of another {}: their parameters differ",
                    model.kind());
  check_finite(file);
  try {
    StreamingSession session(model, enum_at<Reading>(file, "reading"), bound_from(file));
    session.tokens_ = sequences_from(file, model.vocabulary());
    const int64_t rows = std::ssize(session.tokens_);
    if (file.tensors.contains("logits"))
      session.logits_ = file.at("logits", {rows, model.vocabulary()}, at::kFloat);
    place(file, model.parameters().front().device());
    session.state_ = model.state_from(file, model.bounded_state(session.bound_));
    if (session.state_->rows() != rows)
      throw DataError(file.path, "'lengths' are of {} sequences, the state is of {}", rows,
                      session.state_->rows());
    return session;
  } catch (const UsageError& error) {  // what the file says of itself
    throw DataError(file.path, "{}", error.what());
  }
}

}  // namespace tessera
