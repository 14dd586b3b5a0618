#pragma once

#include <array>
#include <string_view>

#include "tessera/ops/gated_write.h"
#include "tessera/ops/self_attentive_memory.h"

namespace tessera {

/// What one step writes into the item memory (Le et al. 2020, eq. 9).
///   kF1F1  f1(x) ⊗ f1(x), the authors' code
///   kF1F2  f1(x) ⊗ f2(x), the paper
enum class WriteProduct { kF1F1, kF1F2 };
constexpr std::array<std::string_view, 2> enum_names(WriteProduct) {
  return {"f1-f1", "f1-f2"};
}

/// How a relational candidate S joins the relational memory R (eq. 12).
///   kDecay    α1 R + S, the authors' code
///   kAdd      R + α1 S, the paper
///   kReplace  S alone, the authors' code for reinforcement learning: R keeps nothing from step to
///             step and is not read; α1 and α2 have no meaning
enum class RelationalWrite { kDecay, kAdd, kReplace };
constexpr std::array<std::string_view, 3> enum_names(RelationalWrite) {
  return {"decay", "add", "replace"};
}

/// How queries, keys and values are taken from the item memory M (eq. 4-6).
///   kColumns  the columns of M Wᵀ + bias, after one layer norm over all of them: the authors' code
///   kRows     the rows of W M, each after a layer norm of its own: the paper
///   kColumnsNormedAcross  the columns of M Wᵀ + bias, after a layer norm of the 3N values of each
///                         row: the authors' code for reinforcement learning
enum class MemoryProjection { kColumns, kRows, kColumnsNormedAcross };
constexpr std::array<std::string_view, 3> enum_names(MemoryProjection) {
  return {"columns", "rows", "columns-normed-across"};
}

/// What is transferred to the item memory (eq. 13).
///   kCandidate  the S of this step, the authors' code
///   kMemory     the R after this step, the paper
enum class TransferSource { kCandidate, kMemory };
constexpr std::array<std::string_view, 2> enum_names(TransferSource) {
  return {"candidate", "memory"};
}

/// The equations of the two-memory model, where the paper and its authors' code differ. The
/// defaults are the code's.
struct TwoMemoryEquations {
  WriteProduct write_product = WriteProduct::kF1F1;
  ops::GateForm gates = ops::GateForm::kSigmoid;
  RelationalWrite relational_write = RelationalWrite::kDecay;
  ops::ReadSide relational_read = ops::ReadSide::kKeys;
  MemoryProjection projection = MemoryProjection::kColumns;
  TransferSource transfer = TransferSource::kCandidate;

  static TwoMemoryEquations of_authors() { return {}; }
  static TwoMemoryEquations of_paper() {
    return {WriteProduct::kF1F2,    ops::GateForm::kLinear,  RelationalWrite::kAdd,
            ops::ReadSide::kValues, MemoryProjection::kRows, TransferSource::kMemory};
  }
  /// Those of the code's agent for reinforcement learning.
  static TwoMemoryEquations of_reinforcement() {
    TwoMemoryEquations equations;
    equations.relational_write = RelationalWrite::kReplace;
    equations.projection = MemoryProjection::kColumnsNormedAcross;
    return equations;
  }
  bool operator==(const TwoMemoryEquations&) const = default;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("write_product", write_product, "what a step writes into the item memory");
    field("gates", gates, "form of the item memory's gates");
    field("relational_write", relational_write, "how a candidate joins the relational memory");
    field("relational_read", relational_read, "side of the relational memory that is read by");
    field("projection", projection, "how queries, keys and values are taken");
    field("transfer", transfer, "what is transferred to the item memory");
  }
};

/// A factor α between parts of the two memories: a parameter, or a constant.
struct BlendFactor {
  double value = 0;  ///< the first value of a learned one
  bool learned = true;

  /// Whether what it multiplies need not be computed.
  bool absent() const { return !learned && value == 0; }

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("value", value, "its value, or its first value where it is learned");
    field("learned", learned, "whether it is a parameter");
  }
};

/// The sizes and choices of one cell.
struct TwoMemoryOptions {
  int64_t inputs = 0;  ///< width of x
  int64_t slots = 0;   ///< N: queries, keys and values; matrices of the relational memory
  int64_t width = 0;   ///< D: the item memory is [D, D]
  int64_t projection_hidden = 0;  ///< 0: f1, f2, f3 are single linear maps, else three in a row
  bool gated = true;              ///< whether the item memory has gates (eq. 10 or eq. 9)
  BlendFactor alpha1, alpha2, alpha3;
  TwoMemoryEquations equations;

  /// Whether a step reads the relational memory.
  bool reads_relational() const {
    return !alpha2.absent() && equations.relational_write != RelationalWrite::kReplace;
  }
};

}  // namespace tessera
