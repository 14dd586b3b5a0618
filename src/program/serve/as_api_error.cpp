#include <c10/util/Exception.h>

#include <atomic>
#include <chrono>
#include <new>

#include "program/serve/api_error.h"
#include "program/serve/log.h"
#include "tessera/base/error.h"
#include "tessera/store/ledger.h"

namespace tessera::serve {
namespace {

/// A failure that a client cannot mend: what happened is for the log, under a number that the
/// client may tell.
ApiError failure_of_the_server(const std::string& what) {
  static const auto start = std::chrono::system_clock::now().time_since_epoch();
  static std::atomic<int64_t> next = 1;
  const std::string number = fmt::format(
      "{:x}-{}", std::chrono::duration_cast<std::chrono::seconds>(start).count(), next++);
  log_line(fmt::format("failure {}: {}", number, what));
  return ApiError(500, "the server failed; its log says why under {}", number);
}

}  // namespace

ApiError as_api_error(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const ApiError& known) {
    return known;
  } catch (const store::UnknownDocument& unknown) {
    return ApiError(404, "{}", unknown.what()).about("id").with_code("document_not_found");
  } catch (const UsageError& mistake) {
    return ApiError(400, "{}", mistake.what());
  } catch (const c10::Error& failure) {
    return failure_of_the_server(failure.what_without_backtrace());
  } catch (const std::bad_alloc&) {
    return ApiError(503, "out of memory").with_code("out_of_memory").retry_after(1);
  } catch (const std::exception& failure) {
    return failure_of_the_server(failure.what());
  } catch (...) {
    return failure_of_the_server("an exception of an unknown type");
  }
}

}  // namespace tessera::serve
