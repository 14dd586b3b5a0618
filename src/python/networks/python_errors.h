#pragma once

#include <utility>

namespace tessera::python {

/// Throws the exception that is being handled again, an error of the library as the exception of
/// Python that it becomes. PyTorch hands that on; of other exceptions of C++ it keeps the words.
[[noreturn]] void throw_python_error();

/// `function` as an op of PyTorch, which raises the library's errors in Python.
template <typename Result, typename... Arguments>
auto raising_python_errors(Result (*function)(Arguments...)) {
  return [function](Arguments... arguments) -> Result {
    try {
      return function(std::forward<Arguments>(arguments)...);
    } catch (...) {
      throw_python_error();
    }
  };
}

}  // namespace tessera::python
