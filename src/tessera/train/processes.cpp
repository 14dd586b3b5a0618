// USE_C10D_GLOO opens the header of LibTorch's Gloo processes.
#define USE_C10D_GLOO
#include "tessera/train/processes.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "tessera/base/error.h"

namespace tessera {
namespace {

constexpr int64_t kBucketElements = int64_t{1} << 22;

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

std::vector<uint8_t> bytes_of(const std::string& text) {
  return {text.begin(), text.end()};
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

struct Processes::Group {
  c10::intrusive_ptr<c10d::Store> store;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> gloo;

  /// What LibTorch throws says where in its code; a reader wants to know what to do.
  template <typename Exchange>
  void run(const Rendezvous& who, const Exchange& exchange) {
    try {
      exchange();
    } catch (const std::exception& error) {
      throw ProcessLost(fmt::format(
          "process {} of {} has lost another one: it has ended, or did not answer within {} s ({})",
          who.rank, who.count, who.limit.count(),
          std::string_view(error.what()).substr(0, std::string_view(error.what()).find('\n'))));
    }
  }
};

Processes::Processes(const Rendezvous& rendezvous)
    : rendezvous_(rendezvous), group_(std::make_unique<Group>()) {
  const auto limit = std::chrono::milliseconds(rendezvous.limit);
  try {
    c10d::TCPStoreOptions options;
    options.port = rendezvous.port;
    options.isServer = leads() && !rendezvous.hosted;
    if (!rendezvous.hosted) options.numWorkers = static_cast<size_t>(count());
    options.timeout = limit;
    group_->store = c10::make_intrusive<c10d::PrefixStore>(
        fmt::format("tessera/{}", rendezvous.attempt),
        c10::make_intrusive<c10d::TCPStore>(rendezvous.host, options));
    auto gloo = c10d::ProcessGroupGloo::Options::create(limit);
    gloo->devices.push_back(rendezvous.host == "127.0.0.1" || rendezvous.host == "localhost"
                                ? c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1")
                                : c10d::ProcessGroupGloo::createDefaultDevice());
    group_->gloo = c10::make_intrusive<c10d::ProcessGroupGloo>(
        group_->store, static_cast<int>(rank()), static_cast<int>(count()), gloo);
  } catch (const std::exception& error) {
    const std::string_view what = error.what();
    throw std::runtime_error(
        fmt::format("process {} of {} found no others at {}:{} within {} s ({})", rank(), count(),
                    rendezvous.host, rendezvous.port, rendezvous.limit.count(),
                    what.substr(0, what.find('\n'))));
  }
}

Processes::~Processes() = default;

void Processes::sum(const std::vector<at::Tensor>& tensors) {
  const at::NoGradGuard no_grad;
  for (size_t first = 0; first < tensors.size();) {
    // A bucket: tensors one behind the other, until they are large enough together.
    std::vector<at::Tensor> parts;
    int64_t elements = 0;
    size_t end = first;
    while (end < tensors.size() && tensors[end].scalar_type() == tensors[first].scalar_type() &&
           (end == first || elements + tensors[end].numel() <= kBucketElements)) {
      parts.push_back(tensors[end].reshape({-1}));
      elements += tensors[end++].numel();
    }
    std::vector<at::Tensor> bucket = {at::cat(parts)};
    group_->run(rendezvous_, [&] { group_->gloo->allreduce(bucket)->wait(); });
    for (int64_t offset = 0; first < end; ++first) {
      const at::Tensor& tensor = tensors[first];
      tensor.copy_(bucket[0].narrow(0, offset, tensor.numel()).view(tensor.sizes()));
      offset += tensor.numel();
    }
  }
}

void Processes::copy_from_leader(const std::vector<at::Tensor>& tensors) {
  const at::NoGradGuard no_grad;
  for (const at::Tensor& tensor : tensors) {
    std::vector<at::Tensor> sent = {tensor.detach().contiguous().clone()};
    group_->run(rendezvous_, [&] { group_->gloo->broadcast(sent)->wait(); });
    if (!leads()) tensor.copy_(sent[0]);
  }
}

std::vector<double> Processes::from_leader(std::vector<double> numbers) {
  const at::Tensor sent = at::tensor(numbers, at::kDouble);
  copy_from_leader({sent});
  std::copy_n(sent.data_ptr<double>(), numbers.size(), numbers.begin());
  return numbers;
}

void Processes::require_equal(const std::string& what, const std::string& text) {
  group_->run(rendezvous_,
              [&] { group_->store->set(fmt::format("{} of {}", what, rank()), bytes_of(text)); });
  std::optional<int64_t> different;
  for (int64_t other = 0; other < count() && !different; ++other)
    group_->run(rendezvous_, [&] {
      if (group_->store->get(fmt::format("{} of {}", what, other)) != bytes_of(text))
        different = other;
    });
  sum({at::zeros({1})});  // all have read: the store may go with the leader
  if (different)
    throw UsageError("process {} of {} has another {} than process {}", rank(), count(), what,
                     *different);
}

}  // namespace tessera
