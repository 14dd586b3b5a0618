#include <c10/util/Exception.h>

#include <new>

#include "tessera/base/error.h"
#include "tessera/serve/api_error.h"

namespace tessera::serve {

ApiError as_api_error(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const ApiError& known) {
    return known;
  } catch (const UsageError& mistake) {
    return ApiError(400, "{}", mistake.what());
  } catch (const c10::Error& failure) {
    return ApiError(500, "{}", failure.what_without_backtrace());
  } catch (const std::bad_alloc&) {
    return ApiError(503, "out of memory").with_code("out_of_memory").retry_after(1);
  } catch (const std::exception& failure) {
    return ApiError(500, "{}", failure.what());
  }
}

}  // namespace tessera::serve
