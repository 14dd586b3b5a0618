#pragma once

#include <torch/library.h>

#include <string>
#include <utility>

#include "python/networks/python_errors.h"

namespace tessera::python {

/// Registers what define_op() says of an op beside its function.
void define_traced(torch::Library& library, const std::string& schema);

/// An op of PyTorch that returns one tensor, contiguous. function: differentiable by itself, in
/// every argument that the schema calls Tensor or Tensor[] and that holds floating-point numbers.
///
/// Called with numbers, the op is that function and no more. Where PyTorch traces a program
/// (torch.compile, torch.export, FakeTensor), it is one step of the program, and so is its
/// gradient: the op NAME_gradient(Tensor gradient, bool[] wanted, …its arguments) -> Tensor[],
/// which computes the function again. How large their results are, tessera/ops.py says.
template <typename... Arguments>
void define_op(torch::Library& library, const std::string& schema,
               at::Tensor (*function)(Arguments...)) {
  define_traced(library, schema);
  library.impl(schema.substr(0, schema.find('(')).c_str(),
               torch::dispatch(c10::DispatchKey::CompositeExplicitAutograd,
                               [op = raising_python_errors(function)](Arguments... arguments) {
                                 return op(std::forward<Arguments>(arguments)...).contiguous();
                               }));
}

}  // namespace tessera::python
