// USE_C10D_GLOO opens the header of LibTorch's Gloo processes.
#define USE_C10D_GLOO
#include "tessera/train/processes.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/thread_pool.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <optional>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "tessera/base/error.h"

namespace tessera {
namespace {

constexpr std::chrono::seconds kPulseLimit{5};    // for an answer of the store
constexpr std::chrono::milliseconds kBeat{500};   // from one of a pulse to the next
constexpr int kFewestBeats = 4, kMostBeats = 20;  // that are listened for
constexpr const char* kLost = "lost";
constexpr int64_t kBucketElements = int64_t{1} << 20;

void write(c10d::Store& store, const std::string& key, const std::string& text) {
  store.set(key, std::vector<uint8_t>(text.begin(), text.end()));
}

std::string read(c10d::Store& store, const std::string& key) {
  const auto bytes = store.get(key);
  return {bytes.begin(), bytes.end()};
}

std::string key_of(const std::string& what, int64_t rank) {
  return fmt::format("{} of {}", what, rank);
}

std::string_view first_line(std::string_view text) {
  return text.substr(0, text.find('\n'));
}

/// A bucket's tensors one behind the other.
at::Tensor join(const std::vector<at::Tensor>& bucket) {
  std::vector<at::Tensor> parts;
  for (const at::Tensor& tensor : bucket) parts.push_back(tensor.detach().reshape({-1}));
  return at::cat(parts);
}

/// The reverse: copies `joined` into the tensors.
void split(const at::Tensor& joined, const std::vector<at::Tensor>& bucket) {
  int64_t offset = 0;
  for (const at::Tensor& tensor : bucket) {
    tensor.copy_(joined.narrow(0, offset, tensor.numel()).view(tensor.sizes()));
    offset += tensor.numel();
  }
}

/// From 2.4 on LibTorch asks for libuv unless told otherwise, and Debian's is built without it.
template <typename StoreOptions>
void use_sockets(StoreOptions& options) {
  if constexpr (requires { options.useLibUV; }) options.useLibUV = false;
}

/// While it lives, Gloo does not say on std::cerr whom it is connected to, as LibTorch's of 2.14
/// does.
class QuietGloo {
 public:
  QuietGloo() : shown_(std::cerr.rdbuf(nullptr)) {}
  ~QuietGloo() { std::cerr.rdbuf(shown_); }
  QuietGloo(const QuietGloo&) = delete;
  QuietGloo& operator=(const QuietGloo&) = delete;

 private:
  std::streambuf* shown_;
};

}  // namespace

/// Tells the other processes twice a second, through the store where they met, that this one runs,
/// so that the one that is lost can be named.
class Pulse {
 public:
  /// store: a connection of its own.
  Pulse(c10::intrusive_ptr<c10d::Store> store, const Rendezvous& rendezvous);
  ~Pulse();
  Pulse(const Pulse&) = delete;
  Pulse& operator=(const Pulse&) = delete;

  /// The ranks of the others whose pulse has stopped, after two seconds of listening, or up to ten
  /// while several seem to have: one that has stood still for a moment goes on. The leader's where
  /// the store has ended with it. All processes that ask hear of the same ones.
  std::vector<int64_t> stopped();

 private:
  void beat();
  std::vector<std::string> beats();
  std::string unchanged_since(const std::vector<std::string>& before);

  c10::intrusive_ptr<c10d::Store> store_;
  int64_t rank_, count_;
  bool leader_hosts_;  // the store
  std::mutex mutex_;
  std::condition_variable end_;
  bool ended_ = false;
  std::thread thread_;  // last: it uses the others
};

Pulse::Pulse(c10::intrusive_ptr<c10d::Store> store, const Rendezvous& rendezvous)
    : store_(std::move(store)),
      rank_(rendezvous.rank),
      count_(rendezvous.count),
      leader_hosts_(!rendezvous.hosted) {
  write(*store_, key_of("pulse", rank_), "0");
  thread_ = std::thread([this] { beat(); });
}

Pulse::~Pulse() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  end_.notify_one();
  thread_.join();
}

void Pulse::beat() {
  std::unique_lock lock(mutex_);
  for (int64_t number = 1; !end_.wait_for(lock, kBeat, [&] { return ended_; }); ++number) {
    try {
      write(*store_, key_of("pulse", rank_), std::to_string(number));
    } catch (const std::exception&) {  // the store is gone: an exchange will find out
      return;
    }
  }
}

std::vector<std::string> Pulse::beats() {
  std::vector<std::string> all;
  for (int64_t rank = 0; rank < count_; ++rank) all.push_back(read(*store_, key_of("pulse", rank)));
  return all;
}

/// A character for each rank: 'x' where its pulse has not beaten since `before`.
std::string Pulse::unchanged_since(const std::vector<std::string>& before) {
  const auto now = beats();
  std::string lost;
  for (size_t rank = 0; rank < now.size(); ++rank) lost += before[rank] == now[rank] ? 'x' : '.';
  return lost;
}

std::vector<int64_t> Pulse::stopped() {
  std::vector<int64_t> ranks;
  try {
    store_->wait({key_of("pulse", rank_)});  // has a time limit, which check() has not
    const auto before = beats();
    for (int heard = 1; !store_->check({kLost}); ++heard) {
      std::this_thread::sleep_for(kBeat);
      const std::string lost = unchanged_since(before);
      const bool is_clear = std::ranges::count(lost, 'x') <= 1;
      if (heard == kMostBeats || (heard >= kFewestBeats && is_clear)) write(*store_, kLost, lost);
    }
    const std::string lost = read(*store_, kLost);
    for (int64_t rank = 0; rank < count_; ++rank)
      if (lost.at(rank) == 'x' && rank != rank_) ranks.push_back(rank);
    const bool others_read_here = leader_hosts_ && rank_ == 0 && count_ > 2;
    if (others_read_here) std::this_thread::sleep_for(2 * kBeat);
  } catch (const std::exception&) {  // the store is gone
    if (leader_hosts_ && rank_ != 0) ranks = {0};
  }
  return ranks;
}

std::vector<std::vector<at::Tensor>> in_buckets(const std::vector<at::Tensor>& tensors) {
  std::vector<std::vector<at::Tensor>> buckets;
  int64_t elements = 0;  // of the last bucket
  for (const at::Tensor& tensor : tensors) {
    if (buckets.empty() || tensor.scalar_type() != buckets.back()[0].scalar_type() ||
        elements + tensor.numel() > kBucketElements) {
      buckets.emplace_back();
      elements = 0;
    }
    buckets.back().push_back(tensor);
    elements += tensor.numel();
  }
  return buckets;
}

struct Processes::Group {
  c10::intrusive_ptr<c10d::Store> store;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> gloo;
  std::unique_ptr<Pulse> pulse;
  std::string lost;  ///< the message, once a process is lost: every later exchange has it
  c10::TaskThreadPool sums{1};  ///< in the background, one after another; ends before the above

  /// What LibTorch throws says where in its code; a reader wants to know what to do.
  template <typename Exchange>
  void run(const Rendezvous& who, const Exchange& exchange) {
    if (!lost.empty()) throw ProcessLost(lost);
    try {
      exchange();
    } catch (const std::exception& error) {
      const auto ranks = pulse->stopped();
      lost = fmt::format(
          "process {} of {} has lost {}: it has ended, or did not answer within {} s ({})",
          who.rank, who.count,
          ranks.empty() ? "another one"
                        : fmt::format("process {}", fmt::join(ranks, " and process ")),
          who.limit.count(), first_line(error.what()));
      throw ProcessLost(lost);
    }
  }
};

Processes::Processes(const Rendezvous& rendezvous)
    : rendezvous_(rendezvous), group_(std::make_unique<Group>()) {
  std::signal(SIGPIPE, SIG_IGN);  // c10d writes to a lost process without asking for errors alone
  const auto limit = std::chrono::milliseconds(rendezvous.limit);
  try {
    c10d::TCPStoreOptions options;
    options.port = rendezvous.port;
    options.isServer = leads() && !rendezvous.hosted;
    if (!rendezvous.hosted) options.numWorkers = count();
    options.timeout = limit;
    use_sockets(options);
    const auto connect = [&]() -> c10::intrusive_ptr<c10d::Store> {
      return c10::make_intrusive<c10d::PrefixStore>(
          fmt::format("tessera/{}", rendezvous.attempt),
          c10::make_intrusive<c10d::TCPStore>(rendezvous.host, options));
    };
    group_->store = connect();
    options.isServer = options.waitWorkers = false;
    options.timeout = std::min(limit, std::chrono::milliseconds(kPulseLimit));
    group_->pulse = std::make_unique<Pulse>(connect(), rendezvous);
    auto gloo = c10d::ProcessGroupGloo::Options::create(limit);
    // LibTorch's default is the address of the machine's name, which Debian gives a loopback one.
    const char* interface = std::getenv("GLOO_SOCKET_IFNAME");
    gloo->devices.push_back(
        interface != nullptr && *interface != '\0'
            ? c10d::ProcessGroupGloo::createDeviceForInterface(interface)
            : c10d::ProcessGroupGloo::createDeviceForHostname(rendezvous.own_address()));
    const QuietGloo quiet;
    group_->gloo = c10::make_intrusive<c10d::ProcessGroupGloo>(
        group_->store, static_cast<int>(rank()), static_cast<int>(count()), gloo);
  } catch (const std::exception& error) {
    throw std::runtime_error(fmt::format(
        "process {} of {} found no others at {}:{} within {} s ({})", rank(), count(),
        rendezvous.host, rendezvous.port, rendezvous.limit.count(), first_line(error.what())));
  }
}

Processes::~Processes() = default;

void Processes::sum(const std::vector<at::Tensor>& tensors) {
  const at::NoGradGuard no_grad;
  for (const auto& bucket : in_buckets(tensors)) {
    const at::Tensor joined = join(bucket);
    start_sum(joined).get();
    split(joined, bucket);
  }
}

std::future<void> Processes::start_sum(const at::Tensor& tensor, WirePrecision wire) {
  const auto task = std::make_shared<std::packaged_task<void()>>([this, tensor, wire] {
    std::vector<at::Tensor> summed = {tensor};
    group_->run(rendezvous_, [&] {
      if (wire == WirePrecision::kBFloat16)
        sum_in_bfloat16(tensor);
      else
        group_->gloo->allreduce(summed)->wait();
    });
  });
  group_->sums.run([task] { (*task)(); });
  return task->get_future();
}

/// Every process adds up one share of the numbers and sends it to all: as many bytes as a ring.
void Processes::sum_in_bfloat16(const at::Tensor& tensor) {
  if (tensor.numel() == 0) return;
  const at::NoGradGuard no_grad;
  const int64_t N = count(), share = (tensor.numel() + N - 1) / N;
  at::Tensor parts = at::zeros({N, share}, at::kBFloat16);
  const at::Tensor numbers = parts.view(-1).narrow(0, 0, tensor.numel());
  numbers.copy_(tensor.view(-1));
  at::Tensor received = at::empty_like(parts), sent_bytes = parts.view(at::kByte);
  at::Tensor received_bytes = received.view(at::kByte);  // Gloo does not know bfloat16
  std::vector<int64_t> equal_parts;
  group_->gloo->alltoall_base(received_bytes, sent_bytes, equal_parts, equal_parts)->wait();
  const at::Tensor sum = received.to(at::kFloat).sum(0).to(at::kBFloat16);  // [share]
  std::vector<std::vector<at::Tensor>> all(1);
  for (int64_t rank = 0; rank < N; ++rank) all[0].push_back(parts[rank].view(at::kByte));
  std::vector<at::Tensor> own = {sum.view(at::kByte)};
  group_->gloo->allgather(all, own)->wait();
  tensor.view(-1).copy_(numbers);
}

void Processes::copy_from(int64_t rank, const std::vector<at::Tensor>& tensors) {
  const at::NoGradGuard no_grad;
  c10d::BroadcastOptions from;
  from.rootRank = rank;
  for (const auto& bucket : in_buckets(tensors)) {
    std::vector<at::Tensor> sent = {join(bucket)};
    group_->run(rendezvous_, [&] { group_->gloo->broadcast(sent, from)->wait(); });
    if (rank != this->rank()) split(sent[0], bucket);
  }
}

void Processes::copy_to_leader(int64_t rank, const std::vector<at::Tensor>& tensors) {
  if (rank == 0 || (!leads() && rank != this->rank())) return;
  const at::NoGradGuard no_grad;
  for (const auto& bucket : in_buckets(tensors)) {
    std::vector<at::Tensor> sent = {join(bucket)};
    if (sent[0].numel() == 0) continue;
    const auto from = static_cast<int>(rank);
    group_->run(rendezvous_, [&] {
      leads() ? group_->gloo->recv(sent, from, 0)->wait() : group_->gloo->send(sent, 0, 0)->wait();
    });
    if (leads()) split(sent[0], bucket);
  }
}

std::vector<double> Processes::from_leader(std::vector<double> numbers) {
  const at::Tensor sent = at::tensor(numbers, at::kDouble);
  copy_from_leader({sent});
  std::copy_n(sent.data_ptr<double>(), numbers.size(), numbers.begin());
  return numbers;
}

void Processes::require_equal(const std::string& what, const std::string& text) {
  group_->run(rendezvous_, [&] { write(*group_->store, key_of(what, rank()), text); });
  std::optional<int64_t> different;
  for (int64_t other = 0; other < count() && !different; ++other)
    group_->run(rendezvous_, [&] {
      if (read(*group_->store, key_of(what, other)) != text) different = other;
    });
  sum({at::zeros({1})});  // all have read: the store may go with the leader
  if (different)
    throw UsageError("process {} of {} has another {} than process {}", rank(), count(), what,
                     *different);
}

}  // namespace tessera
