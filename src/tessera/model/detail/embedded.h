#pragma once

#include <memory>

#include "tessera/model/model_kind.h"

namespace tessera {

/// A model of vectors that reads tokens: each token id is looked up in a learned table [V, in],
/// and the vectors are what the model inside reads. State, outputs and dropout are those of the
/// model inside. Inputs are token ids [B, T].
class Embedded : public SequenceModel {
 public:
  static constexpr std::string_view kKind = "embedded";

  /// hyper_parameters: "vocabulary" (V) and "model", a table with the kind and the hyper-parameters
  /// of the model inside, whose "inputs" are the width of the embedding. Draws the parameters from
  /// `seed`; without one they are left to be loaded. Throws UsageError on other keys, on a kind
  /// that does not read vectors, and what the model inside throws.
  explicit Embedded(const config::Json& hyper_parameters, std::optional<uint64_t> seed = 0,
                    at::Device device = at::kCPU);

  std::string_view kind() const override { return kKind; }
  config::Json hyper_parameters() const override;
  SequenceModel& inner() { return *inner_; }

  at::Tensor forward(const at::Tensor& tokens, std::optional<uint64_t> dropout_seed = {},
                     int64_t first_output = 0) override;
  SequenceState empty_state() const override { return inner_->empty_state(); }
  SequenceOutput read(const at::Tensor& tokens, SequenceState&& state,
                      int64_t first_output = 0) override;
  SequenceState state_from(const TensorFile& file, const SequenceState& empty) const override {
    return inner_->state_from(file, empty);
  }
  /// The table is normal with deviation 1, as PyTorch's.
  void initialise(uint64_t seed) override;

 private:
  at::Tensor vectors(const at::Tensor& tokens) const;  // [B, T, in]

  std::shared_ptr<SequenceModel> inner_;
  at::Tensor embedding_;  // [V, in]
};

ModelKind embedded_kind();

}  // namespace tessera
