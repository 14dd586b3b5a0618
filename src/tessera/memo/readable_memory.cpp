#include "tessera/memo/readable_memory.h"

#include <utility>

namespace tessera::memo {

MemoryShard::MemoryShard(int64_t dimension)
    : matrix_(ExactCorrelationMemory(dimension, dimension)) {}

MemoryShard::MemoryShard(int64_t pairs, std::optional<double> energy, Load load)
    : pairs_(pairs), load_(std::move(load)), energy_(energy) {}

MemoryShard::MemoryShard(const MemoryShard& other)
    : pairs_(other.pairs_), edits_(other.edits_), matrix_(other.matrix()), energy_(other.energy_) {}

MemoryShard& MemoryShard::operator=(const MemoryShard& other) {
  return *this = MemoryShard(other);
}

ExactCorrelationMemory& MemoryShard::loaded() const {
  if (!matrix_) matrix_ = load_();
  return *matrix_;
}

const ExactCorrelationMemory& MemoryShard::matrix() const {
  return loaded();
}

double MemoryShard::energy() const {
  if (!energy_) energy_ = matrix().energy();
  return *energy_;
}

void MemoryShard::edit(const WindowCode& code, Edit edit, std::span<const int32_t> text,
                       std::span<const WindowPair> pairs) {
  code.edit(edit, text, pairs, loaded());
  ++edits_;
  energy_.reset();
  pairs_ += edit == Edit::kStore ? std::ssize(pairs) : -std::ssize(pairs);
}

void MemoryShard::merge(const MemoryShard& other) {
  loaded().merge(other.matrix());
  ++edits_;
  energy_.reset();
  pairs_ += other.pairs_;
}

}  // namespace tessera::memo
