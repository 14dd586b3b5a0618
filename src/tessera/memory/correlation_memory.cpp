#include "tessera/memory/correlation_memory.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <utility>

#include "tessera/tensor/check.h"

namespace tessera {
namespace {

at::Tensor empty_matrix(int64_t rows, int64_t columns, const at::TensorOptions& options) {
  TESSERA_CHECK(rows > 0 && columns > 0, "CorrelationMemory: ", rows, " rows and ", columns,
                " columns; expected at least 1 of each");
  return at::zeros({rows, columns}, options);
}

void check_same_type(const at::Tensor& x, const at::Tensor& memory, const char* what) {
  TESSERA_CHECK(x.defined(), "CorrelationMemory: ", what, " are an undefined tensor");
  TESSERA_CHECK(x.scalar_type() == memory.scalar_type() && x.device() == memory.device(),
                "CorrelationMemory: ", what, " of ", x.scalar_type(), " on ", x.device(),
                ", the memory has ", memory.scalar_type(), " on ", memory.device());
}

}  // namespace

CorrelationMemory::CorrelationMemory(int64_t rows, int64_t columns,
                                     const at::TensorOptions& options)
    : CorrelationMemory(empty_matrix(rows, columns, options)) {}

CorrelationMemory::CorrelationMemory(at::Tensor matrix) : matrix_(std::move(matrix)) {
  check_shape(matrix_, {-1, -1}, "CorrelationMemory: matrix");
  TESSERA_CHECK(matrix_.is_floating_point(), "CorrelationMemory: a matrix of ",
                matrix_.scalar_type(), "; expected floating point numbers");
}

CorrelationMemory::CorrelationMemory(const CorrelationMemory& other)
    : matrix_(other.matrix_.clone()) {}

CorrelationMemory& CorrelationMemory::operator=(const CorrelationMemory& other) {
  return *this = CorrelationMemory(other);
}

void CorrelationMemory::add(const at::Tensor& keys, const at::Tensor& values, double sign) {
  const at::NoGradGuard no_grad;
  check_same_type(keys, matrix_, "keys");
  check_same_type(values, matrix_, "values");
  // LibTorch refuses to read parts of the matrix that it writes to.
  if (keys.is_alias_of(matrix_) || values.is_alias_of(matrix_))
    return add(keys.clone(), values.clone(), sign);
  if (keys.dim() == 1) {
    check_shape(keys, {rows()}, "CorrelationMemory: key");
    check_shape(values, {columns()}, "CorrelationMemory: value");
    matrix_.addr_(keys, values, /*beta=*/1, /*alpha=*/sign);
  } else {
    check_shape(keys, {-1, rows()}, "CorrelationMemory: keys");
    check_shape(values, {keys.size(0), columns()}, "CorrelationMemory: values");
    matrix_.addmm_(keys.t(), values, /*beta=*/1, /*alpha=*/sign);
  }
}

at::Tensor CorrelationMemory::retrieve(const at::Tensor& keys) const {
  check_same_type(keys, matrix_, "keys");
  if (keys.dim() == 1) {
    check_shape(keys, {rows()}, "CorrelationMemory: key");
  } else {
    check_shape(keys, {-1, rows()}, "CorrelationMemory: keys");
  }
  return at::matmul(keys, matrix_);
}

void CorrelationMemory::merge(const CorrelationMemory& other) {
  const at::NoGradGuard no_grad;
  check_same_type(other.matrix_, matrix_, "pairs");
  check_shape(other.matrix_, {rows(), columns()}, "CorrelationMemory: the memory to merge");
  matrix_.add_(other.matrix_);
}

}  // namespace tessera
