#include "lab/task/stories/world.h"

#include <fmt/format.h>

#include <stdexcept>

namespace tessera::task::stories {
namespace {

bool has_one_object(Relation relation) {
  return relation == Relation::kPlace || relation == Relation::kHolder ||
         relation == Relation::kOwner || relation == Relation::kFeeling;
}

}  // namespace

bool World::holds(Relation relation, Id subject, Id object) const {
  const auto found = objects_.find({relation, subject});
  return found != objects_.end() && found->second.contains(object);
}

Id World::object(Relation relation, Id subject) const {
  const auto found = objects_.find({relation, subject});
  return found == objects_.end() || found->second.empty() ? kNothing : *found->second.begin();
}

Id World::place_of(Id id) const {
  for (Id holder = object(Relation::kHolder, id); holder != kNothing;
       holder = object(Relation::kHolder, id))
    id = holder;
  const Id place = object(Relation::kPlace, id);
  return place == kNothing ? id : place;
}

void World::set(Relation relation, Id subject, Id object) {
  auto& objects = objects_[{relation, subject}];
  if (has_one_object(relation)) objects.clear();
  objects.insert(object);
}

void World::apply(const Event& event) {
  const auto need = [&](bool possible, std::string_view why) {
    if (!possible)
      throw std::logic_error(fmt::format("story: act {} of {} on {} to {} cannot happen: {}",
                                         static_cast<int>(event.act), event.who, event.thing,
                                         event.to, why));
  };
  const auto has = [&](Id who, Id thing) { return holds(Relation::kHolder, thing, who); };
  switch (event.act) {
    case Act::kGo:
      need(object(Relation::kPlace, event.who) != event.to, "is there already");
      return set(Relation::kPlace, event.who, event.to);
    case Act::kTake:
      need(object(Relation::kHolder, event.thing) != event.who, "has it already");
      need(place_of(event.thing) == place_of(event.who), "is not where the thing is");
      return set(Relation::kHolder, event.thing, event.who);
    case Act::kPut:
      need(has(event.who, event.thing), "does not have it");
      need(place_of(event.to) == place_of(event.who), "is not where it is to be put");
      return set(Relation::kHolder, event.thing, event.to);
    case Act::kGive:
      need(has(event.who, event.thing), "does not have it");
      need(place_of(event.to) == place_of(event.who), "the receiver is elsewhere");
      return set(Relation::kHolder, event.thing, event.to);
    case Act::kUse:
      need(has(event.who, event.thing), "does not have it");
      objects_.erase({Relation::kHolder, event.thing});
      return;
    case Act::kMake:
      need(object(Relation::kHolder, event.thing) == kNothing, "is there already");
      return set(Relation::kHolder, event.thing, event.who);
    case Act::kBegin:
      need(!holds(event.relation, event.who, event.to), "is true already");
      return set(event.relation, event.who, event.to);
    case Act::kFinish:
      need(holds(event.relation, event.who, event.to), "is not true");
      objects_[{event.relation, event.who}].erase(event.to);
  }
}

}  // namespace tessera::task::stories
