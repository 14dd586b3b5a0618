#include "lab/task/babi/household.h"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::task {

Household::Household(Narrator& narrator, Names people, Names rooms, Names objects,
                     const Habits& habits)
    : narrator_(narrator), rooms_(rooms), habits_(habits) {
  for (std::string_view name : people)
    people_.push_back(
        {.name = name, .room = narrator.pick(rooms), .told = {}, .carries = {}, .events = {}});
  for (std::string_view name : objects)
    objects_.push_back(
        {.name = name, .room = narrator.pick(rooms), .holder = {}, .told = {}, .way = {}});
}

void Household::act() {
  const auto gets = possible_gets(), drops = possible_drops(), gifts = possible_gifts();
  const double get = gets.empty() ? 0 : habits_.get, drop = drops.empty() ? 0 : habits_.drop,
               give = gifts.empty() ? 0 : habits_.give;
  double draw = narrator_.random().uniform() * (habits_.move + get + drop + give);
  if ((draw -= get) < 0)
    this->get(narrator_.pick(gets));
  else if ((draw -= drop) < 0)
    this->drop(narrator_.pick(drops));
  else if ((draw -= give) < 0)
    this->give(narrator_.pick(gifts));
  else
    move();
}

std::vector<Household::Deed> Household::possible_gets() const {
  std::vector<Deed> deeds;
  for (size_t p = 0; p < people_.size(); ++p)
    for (size_t o = 0; o < objects_.size(); ++o)
      if (!objects_[o].holder && objects_[o].room == people_[p].room) deeds.push_back({p, o, p});
  return deeds;
}

std::vector<Household::Deed> Household::possible_drops() const {
  std::vector<Deed> deeds;
  for (size_t o = 0; o < objects_.size(); ++o)
    if (const auto holder = objects_[o].holder) deeds.push_back({*holder, o, *holder});
  return deeds;
}

std::vector<Household::Deed> Household::possible_gifts() const {
  std::vector<Deed> deeds;
  for (const Deed& held : possible_drops())
    for (size_t p = 0; p < people_.size(); ++p)
      if (p != held.person && people_[p].room == people_[held.person].room)
        deeds.push_back({held.person, held.object, p});
  return deeds;
}

void Household::move() {
  const auto p = static_cast<size_t>(narrator_.random().below(people_.size()));
  Person& person = people_[p];
  std::string_view room = person.room;
  while (room == person.room) room = narrator_.pick(rooms_);
  person.room = room;
  person.told = Place{
      room, narrator_.tell(fmt::format("{} {} the {}.", person.name, narrator_.moved_to(), room))};
  for (Object& object : objects_)
    if (object.holder == p) follow(object, person.told);
}

std::string Household::there(double chance) {
  return narrator_.chance(chance) ? " there" : "";
}

void Household::get(const Deed& deed) {
  Person& person = people_[deed.person];
  Object& object = objects_[deed.object];
  object.last_event =
      narrator_.tell(fmt::format("{} {} the {}{}.", person.name, narrator_.picked_up(), object.name,
                                 there(habits_.get_there)));
  object.holder = deed.person;
  object.way.clear();
  follow(object, person.told);
  person.carries.push_back(object.name);
  person.events.push_back(object.last_event);
}

void Household::drop(const Deed& deed) {
  Person& person = people_[deed.person];
  Object& object = objects_[deed.object];
  object.last_event = narrator_.tell(fmt::format(
      "{} {} the {}{}.", person.name, narrator_.dropped(), object.name, there(habits_.drop_there)));
  object.holder.reset();
  std::erase(person.carries, object.name);
  person.events.push_back(object.last_event);
}

void Household::give(const Deed& deed) {
  Person &giver = people_[deed.person], &receiver = people_[deed.receiver];
  Object& object = objects_[deed.object];
  object.last_event = narrator_.tell(
      fmt::format("{} {} the {} to {}.", giver.name, narrator_.gave(), object.name, receiver.name));
  object.holder = deed.receiver;
  std::erase(giver.carries, object.name);
  receiver.carries.push_back(object.name);
  giver.events.push_back(object.last_event);
  receiver.events.push_back(object.last_event);
  gifts_.push_back({giver.name, object.name, receiver.name, object.last_event});
}

void Household::follow(Object& object, const std::optional<Place>& place) {
  object.room = place ? place->room : people_[*object.holder].room;
  object.told = place;
  if (place && (object.way.empty() || object.way.back().room != place->room))
    object.way.push_back(*place);
}

}  // namespace tessera::task
