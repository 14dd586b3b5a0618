#pragma once

#include <map>
#include <set>
#include <string>

#include "lab/task/stories/story.h"

namespace tessera::task::stories {

/// Follows the events of a story by rules of its own, written apart from World.
class ReplayedWorld {
 public:
  /// What is wrong with the event; empty where it can happen. It then has happened.
  std::string happen(const Event& event) {
    const bool together =
        where(event.who) ==
        where(event.act == Act::kGive || event.act == Act::kPut ? event.to : event.thing);
    switch (event.act) {
      case Act::kGo:
        if (place_[event.who] == event.to) return "goes where they are";
        place_[event.who] = event.to;
        return "";
      case Act::kTake:
        if (!together) return "takes what is elsewhere";
        if (holder_[event.thing] == event.who) return "takes what they have";
        holder_[event.thing] = event.who;
        return "";
      case Act::kPut:
      case Act::kGive:
        if (!holder_.contains(event.thing) || holder_[event.thing] != event.who)
          return "gives or puts what they do not have";
        if (!together) return "gives or puts it to where they are not";
        holder_[event.thing] = event.to;
        return "";
      case Act::kUse:
        if (!holder_.contains(event.thing) || holder_[event.thing] != event.who)
          return "uses what they do not have";
        holder_.erase(event.thing);
        return "";
      case Act::kMake:
        if (holder_.contains(event.thing)) return "makes what is there";
        holder_[event.thing] = event.who;
        return "";
      case Act::kBegin:
        if (event.relation == Relation::kPlace)
          place_[event.who] = event.to;
        else if (event.relation == Relation::kHolder)
          holder_[event.who] = event.to;
        else
          others_.insert({event.relation, event.who, event.to});
        return "";
      case Act::kFinish:
        if (event.relation == Relation::kHolder)
          return holder_.erase(event.who) ? "" : "was not so";
        return others_.erase({event.relation, event.who, event.to}) ? "" : "was not so";
    }
    return "unknown act";
  }

  bool is_true(Relation relation, Id subject, Id object) const {
    if (relation == Relation::kPlace)
      return place_.contains(subject) && place_.at(subject) == object;
    if (relation == Relation::kHolder)
      return holder_.contains(subject) && holder_.at(subject) == object;
    return others_.contains({relation, subject, object});
  }

 private:
  /// The place where somebody, something or a spot is.
  Id where(Id id) const {
    while (holder_.contains(id)) id = holder_.at(id);
    return place_.contains(id) ? place_.at(id) : id;
  }

  std::map<Id, Id> place_, holder_;
  std::set<std::tuple<Relation, Id, Id>> others_;
};

}  // namespace tessera::task::stories
