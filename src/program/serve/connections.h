#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <utility>

namespace tessera::serve {

/// What a connection waits for. Where there are too many, those that leave are closed first, then
/// idle ones, then those whose requests are still arriving; of each the one that has waited
/// longest.
enum class Waiting { kToLeave, kForRequest, kForItsRest };

/// The open connections of a server, and how much their arriving requests hold. For one thread, but
/// for count().
class Connections {
 public:
  /// An open connection, while it lives.
  class Place {
   public:
    /// close: closes the connection, so that what it waits for fails.
    Place(Connections& all, std::function<void()> close) : all_(all), close_(std::move(close)) {
      ++all_.count_;
    }
    ~Place() {
      works();
      --all_.count_;
    }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    /// It waits from now on, and may be closed.
    void waits(Waiting waiting) {
      works();
      list_ = &all_.list(waiting);
      own_ = list_->insert(list_->end(), this);
    }
    /// It does not wait any more: its request is answered.
    void works() {
      if (list_) list_->erase(own_);
      list_ = nullptr;
      all_.held_bytes_ -= std::exchange(held_bytes_, 0);
    }
    /// Its arriving request holds this many bytes by now. Where all hold too many together, those
    /// that have been arriving longest are closed, maybe this one.
    void holds(size_t bytes) {
      all_.held_bytes_ += bytes - held_bytes_;
      held_bytes_ = bytes;
      while (all_.held_bytes_ > all_.arriving_bytes_ && all_.close_first(Waiting::kForItsRest)) {
      }
    }

   private:
    friend class Connections;

    Connections& all_;
    std::function<void()> close_;
    std::list<Place*>* list_ = nullptr;  // that holds it; none while it works, or once it is closed
    std::list<Place*>::iterator own_;
    size_t held_bytes_ = 0;
  };

  /// arriving_bytes: limit of what all arriving requests hold together.
  explicit Connections(size_t arriving_bytes) : arriving_bytes_(arriving_bytes) {}

  /// Connections that are open. From any thread.
  int64_t count() const { return count_; }
  /// Closes one that waits; returns false where none does.
  bool close_one() {
    return close_first(Waiting::kToLeave) || close_first(Waiting::kForRequest) ||
           close_first(Waiting::kForItsRest);
  }
  /// Closes all that wait.
  void close_all() {
    while (close_one()) {
    }
  }

 private:
  bool close_first(Waiting waiting) {
    if (list(waiting).empty()) return false;
    Place& first = *list(waiting).front();
    first.works();  // closed once only
    first.close_();
    return true;
  }
  std::list<Place*>& list(Waiting waiting) { return lists_[static_cast<size_t>(waiting)]; }

  size_t arriving_bytes_, held_bytes_ = 0;
  std::atomic<int64_t> count_ = 0;
  std::array<std::list<Place*>, 3> lists_;  // each: the one that has waited longest first
};

}  // namespace tessera::serve
