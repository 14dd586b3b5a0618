#include "tessera/train/rendezvous.h"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "tessera/base/error.h"

namespace tessera {
namespace {

/// The first of these environment variables that is set, as a number of [least, most].
std::optional<int64_t> number_from(const std::vector<const char*>& names, int64_t least,
                                   int64_t most) {
  for (const char* name : names) {
    const char* text = std::getenv(name);
    if (text == nullptr || *text == '\0') continue;
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text, text + std::strlen(text), value);
    if (error != std::errc() || *end != '\0' || value < least || value > most)
      throw UsageError("{} is '{}', expected a number from {} to {}", name, text, least, most);
    return value;
  }
  return {};
}

}  // namespace

Rendezvous Rendezvous::from_environment() {
  constexpr int64_t kMost = 1 << 20;
  Rendezvous found;
  const auto count = number_from({"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS"}, 1, kMost);
  if (!count || *count == 1) return found;
  found.count = *count;
  const auto rank = number_from({"RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"}, 0, *count - 1);
  if (!rank)
    throw UsageError("there are {} processes, and RANK does not say which this is", *count);
  found.rank = *rank;
  found.count_here =
      number_from({"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "SLURM_NTASKS_PER_NODE"}, 1,
                  *count)
          .value_or(1);
  const char* host = std::getenv("MASTER_ADDR");
  if (host == nullptr || *host == '\0')
    throw UsageError("there are {} processes, and MASTER_ADDR does not say where they meet",
                     *count);
  found.host = host;
  found.port = static_cast<uint16_t>(number_from({"MASTER_PORT"}, 1, 65535).value_or(found.port));
  constexpr int64_t kDay = 24 * 60 * 60;
  if (const auto seconds = number_from({"TESSERA_PROCESS_SECONDS"}, 1, kDay))
    found.limit = std::chrono::seconds(*seconds);
  const char* hosted = std::getenv("TORCHELASTIC_USE_AGENT_STORE");
  found.hosted = hosted != nullptr && std::string_view(hosted) == "True";
  found.attempt = number_from({"TORCHELASTIC_RESTART_COUNT"}, 0, kMost).value_or(0);
  return found;
}

std::string Rendezvous::own_address() const {
  const auto failure = [&](const char* why) {
    return std::runtime_error(fmt::format("{} is out of reach: {}", host, why));
  };
  addrinfo hints = {}, *found = nullptr;
  hints.ai_socktype = SOCK_DGRAM;  // nothing is sent: the system chooses the way there
  if (const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found))
    throw failure(::gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> first(found, &::freeaddrinfo);
  const int probe = ::socket(first->ai_family, SOCK_DGRAM, 0);
  sockaddr_storage own = {};
  socklen_t size = sizeof own;
  const bool reached = probe >= 0 && ::connect(probe, first->ai_addr, first->ai_addrlen) == 0 &&
                       ::getsockname(probe, reinterpret_cast<sockaddr*>(&own), &size) == 0;
  const int error = errno;
  if (probe >= 0) ::close(probe);
  if (!reached) throw failure(std::strerror(error));
  std::array<char, NI_MAXHOST> text = {};
  if (const int unnamed = ::getnameinfo(reinterpret_cast<sockaddr*>(&own), size, text.data(),
                                        text.size(), nullptr, 0, NI_NUMERICHOST))
    throw failure(::gai_strerror(unnamed));
  return text.data();
}

}  // namespace tessera
