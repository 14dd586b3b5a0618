// Any bytes on a connection, in pieces of any sizes: the same requests as if all came at once, none
// of them larger than it may be. The first byte chooses the sizes.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/serve/request_buffer.h"

using tessera::serve::RequestBuffer;

namespace {

constexpr size_t kBodyBytes = 300;

/// The requests in these bytes, which come `piece` at a time. Those whose end only a reader knows
/// end the connection.
std::vector<std::string> requests(std::string_view bytes, size_t piece) {
  std::vector<std::string> found;
  RequestBuffer buffer(kBodyBytes);
  for (size_t i = 0; i < bytes.size(); i += piece) {
    buffer.append(bytes.substr(i, piece));
    while (buffer.arrived() == RequestBuffer::Arrived::kRequest) {
      std::string request(bytes.size(), '\0');
      request.resize(buffer.read(request.data(), request.size()));
      if (request.empty() || request.size() > tessera::serve::kMostHeadBytes + kBodyBytes)
        std::abort();
      if (buffer.reads_on()) return found;
      buffer.end_request();
      found.push_back(std::move(request));
    }
  }
  return found;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2 || size > tessera::serve::kMostHeadBytes) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (requests(bytes, 1 + data[0]) != requests(bytes, bytes.size())) std::abort();
  return 0;
}
