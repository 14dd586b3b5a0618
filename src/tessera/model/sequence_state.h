#pragma once

#include <c10/util/Exception.h>

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tessera/tensor/check.h"
#include "tessera/tensor/tensor_file.h"

namespace tessera {

/// What a model may keep as its state: a value whose rows are sequences, which can be chosen, put
/// below one another and written to a file under names that start with a prefix.
template <typename T>
concept RowsOfSequences = std::copyable<T> &&
    requires(const T& content, const std::vector<int64_t>& rows, const std::vector<const T*>& parts,
             const std::string& prefix) {
  { content.rows() } -> std::same_as<int64_t>;
  { content.select(rows) } -> std::same_as<T>;
  { T::stack(parts) } -> std::same_as<T>;
  { content.tensors(prefix) } -> std::same_as<NamedTensors>;
};

/// What a model knows of the B sequences that it has read side by side. A value: a copy is a fork,
/// and reading on from one leaves the other as it was. A state that is moved into
/// SequenceModel::read() costs no copy. It holds the content of one kind of model, and only a model
/// of that kind can use it.
class SequenceState {
 public:
  template <RowsOfSequences Content>
  explicit SequenceState(Content content)
      : held_(std::make_unique<HeldAs<Content>>(std::move(content))) {}
  SequenceState(const SequenceState& other);
  SequenceState& operator=(const SequenceState& other);
  SequenceState(SequenceState&&) = default;
  SequenceState& operator=(SequenceState&&) = default;

  /// Sequences; 0 before the first step.
  int64_t rows() const;
  /// The chosen sequences, in this order; one may be chosen twice. Throws UsageError before
  /// the first step and on a row that does not exist.
  SequenceState select(const std::vector<int64_t>& rows) const;
  /// The sequences of all parts, one part after another. Throws UsageError where there is no
  /// part, or one of another kind of model or before its first step.
  static SequenceState stack(const std::vector<const SequenceState*>& parts);
  /// Everything it is made of, for a file; SequenceModel::state_from restores it. Throws
  /// UsageError before the first step.
  NamedTensors tensors() const;

  /// The content. Throws UsageError where it is that of another kind of model, or was moved
  /// into a read().
  template <RowsOfSequences Content>
  const Content& as() const {
    const auto* held = dynamic_cast<const HeldAs<Content>*>(held_.get());
    TESSERA_CHECK(held,
                  "SequenceState: this state belongs to another kind of model, or was "
                  "moved into a read()");
    return held->content;
  }
  template <RowsOfSequences Content>
  Content& as() {
    return const_cast<Content&>(std::as_const(*this).as<Content>());
  }

 private:
  struct Held {
    virtual ~Held() = default;
    virtual std::unique_ptr<Held> copy() const = 0;
    virtual int64_t rows() const = 0;
    virtual SequenceState select(const std::vector<int64_t>& rows) const = 0;
    virtual SequenceState stack(const std::vector<const SequenceState*>& parts) const = 0;
    virtual NamedTensors tensors() const = 0;
  };

  template <typename Content>
  struct HeldAs : Held {
    explicit HeldAs(Content value) : content(std::move(value)) {}
    std::unique_ptr<Held> copy() const override { return std::make_unique<HeldAs>(content); }
    int64_t rows() const override { return content.rows(); }
    SequenceState select(const std::vector<int64_t>& rows) const override {
      return SequenceState(content.select(rows));
    }
    SequenceState stack(const std::vector<const SequenceState*>& parts) const override {
      std::vector<const Content*> contents;
      for (const auto* part : parts) contents.push_back(&part->as<Content>());
      return SequenceState(Content::stack(contents));
    }
    NamedTensors tensors() const override { return content.tensors(""); }
    Content content;
  };

  /// The content after at least one step.
  const Held& begun(const char* function) const;

  std::unique_ptr<Held> held_;  // none once it was moved from
};

}  // namespace tessera
