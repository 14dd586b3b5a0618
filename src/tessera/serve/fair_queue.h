#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <utility>

namespace tessera::serve {

/// First in, first out for each client; the clients take turns. A client that sends a thousand
/// requests at once delays another one's request by one of its own at most.
template <typename Item>
class FairQueue {
 public:
  void push(const std::string& client, Item item) {
    auto& own = items_[client];
    if (own.empty()) turns_.push_back(client);
    own.push_back(std::move(item));
    ++size_;
  }
  /// The one that pop() takes; only where there is one.
  Item& front() { return items_.at(turns_.front()).front(); }
  Item pop() {
    const std::string client = turns_.front();
    turns_.pop_front();
    auto own = items_.find(client);
    Item item = std::move(own->second.front());
    own->second.pop_front();
    if (own->second.empty())
      items_.erase(own);
    else
      turns_.push_back(client);
    --size_;
    return item;
  }
  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }

 private:
  std::map<std::string, std::deque<Item>> items_;  // of the clients that have any
  std::deque<std::string> turns_;
  size_t size_ = 0;
};

}  // namespace tessera::serve
