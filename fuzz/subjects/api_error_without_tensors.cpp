// as_api_error() without LibTorch's exceptions, which nothing here throws.
#include "program/serve/api_error.h"

namespace tessera::serve {

ApiError as_api_error(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const ApiError& known) {
    return known;
  }
}

}  // namespace tessera::serve
