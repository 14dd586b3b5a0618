#include "tessera/train/rendezvous.h"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string_view>

#include "tessera/base/error.h"
#include "tessera/base/machine.h"

namespace tessera {

Rendezvous Rendezvous::from_environment() {
  Rendezvous found;
  const auto launched = LaunchedProcess::from_environment();
  if (!launched || launched->count == 1) return found;
  found.rank = launched->rank;
  found.count = launched->count;
  found.count_here = number_from_environment({"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE",
                                              "SLURM_NTASKS_PER_NODE"},
                                             1, found.count)
                         .value_or(1);
  const char* host = std::getenv("MASTER_ADDR");
  if (host == nullptr || *host == '\0')
    throw UsageError("there are {} processes, and MASTER_ADDR does not say where they meet",
                     found.count);
  found.host = host;
  found.port = static_cast<uint16_t>(
      number_from_environment({"MASTER_PORT"}, 1, 65535).value_or(found.port));
  constexpr int64_t kDay = 24 * 60 * 60;
  if (const auto seconds = number_from_environment({"TESSERA_PROCESS_SECONDS"}, 1, kDay))
    found.limit = std::chrono::seconds(*seconds);
  const char* hosted = std::getenv("TORCHELASTIC_USE_AGENT_STORE");
  found.hosted = hosted != nullptr && std::string_view(hosted) == "True";
  found.attempt = number_from_environment({"TORCHELASTIC_RESTART_COUNT"}, 0, INT64_MAX).value_or(0);
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
