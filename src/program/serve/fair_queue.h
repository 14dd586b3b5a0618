#pragma once

#include <algorithm>
#include <deque>
#include <list>
#include <map>
#include <optional>
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
  }
  /// Takes the first item that may go, in the order of turns and of each client's items; none
  /// where none may.
  template <typename MayGo>
  std::optional<Item> pop(MayGo&& may_go) {
    for (auto turn = turns_.begin(); turn != turns_.end(); ++turn) {
      auto own = items_.find(*turn);
      const auto found = std::find_if(own->second.begin(), own->second.end(), may_go);
      if (found == own->second.end()) continue;
      Item item = std::move(*found);
      own->second.erase(found);
      if (own->second.empty())
        items_.erase(own);
      else
        turns_.push_back(*turn);
      turns_.erase(turn);
      return item;
    }
    return std::nullopt;
  }

 private:
  std::map<std::string, std::deque<Item>> items_;  // of the clients that have any
  std::list<std::string> turns_;
};

}  // namespace tessera::serve
