#include "tessera/train/detail/pulse.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace tessera {
namespace {

constexpr std::chrono::milliseconds kBeat{500};
constexpr const char* kLost = "lost";

void write(c10d::Store& store, const std::string& key, const std::string& text) {
  store.set(key, std::vector<uint8_t>(text.begin(), text.end()));
}

std::string read(c10d::Store& store, const std::string& key) {
  const auto bytes = store.get(key);
  return {bytes.begin(), bytes.end()};
}

std::string key_of(int64_t rank) {
  return fmt::format("pulse of {}", rank);
}

}  // namespace

Pulse::Pulse(c10::intrusive_ptr<c10d::Store> store, const Rendezvous& rendezvous)
    : store_(std::move(store)),
      rank_(rendezvous.rank),
      count_(rendezvous.count),
      leader_hosts_(!rendezvous.hosted) {
  write(*store_, key_of(rank_), "0");
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
      write(*store_, key_of(rank_), std::to_string(number));
    } catch (const std::exception&) {  // the store is gone: an exchange will find out
      return;
    }
  }
}

std::vector<std::string> Pulse::beats() {
  std::vector<std::string> all;
  for (int64_t rank = 0; rank < count_; ++rank) all.push_back(read(*store_, key_of(rank)));
  return all;
}

std::vector<int64_t> Pulse::stopped() {
  std::vector<int64_t> ranks;
  try {
    store_->wait({key_of(rank_)});  // has a time limit, which check() has not
    if (!store_->check({kLost})) {
      const auto before = beats();
      std::this_thread::sleep_for(4 * kBeat);
      const auto after = beats();
      std::string lost(static_cast<size_t>(count_), '.');  // 'x' for each that has stopped
      for (size_t rank = 0; rank < lost.size(); ++rank)
        if (before[rank] == after[rank]) lost[rank] = 'x';
      write(*store_, kLost, lost);
    }
    const std::string lost = read(*store_, kLost);
    for (int64_t rank = 0; rank < count_; ++rank)
      if (lost.at(static_cast<size_t>(rank)) == 'x' && rank != rank_) ranks.push_back(rank);
    const bool others_read_here = leader_hosts_ && rank_ == 0 && count_ > 2;
    if (others_read_here) std::this_thread::sleep_for(2 * kBeat);
  } catch (const std::exception&) {  // the store is gone
    if (leader_hosts_ && rank_ != 0) ranks = {0};
  }
  return ranks;
}

}  // namespace tessera
