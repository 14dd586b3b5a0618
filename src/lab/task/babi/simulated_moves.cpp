// Tasks 1, 2, 3, 5, 6, 7 and 8: people who move between rooms and carry objects.
#include <fmt/format.h>

#include "lab/task/babi/household.h"
#include "lab/task/babi/simulated_tasks.h"

namespace tessera::task {
namespace {

constexpr int64_t kQuestions = 5;

/// Two statements, then a question if `ask` can put one, until there are five.
template <typename Ask>
void tell_and_ask(Narrator& narrator, Household& household, Ask&& ask) {
  while (narrator.questions() < kQuestions) {
    household.act();
    household.act();
    ask();
  }
}

/// Those of whom the condition holds.
template <typename Items, typename Condition>
auto filtered(const Items& items, Condition&& condition) {
  std::vector<const typename Items::value_type*> result;
  for (const auto& item : items)
    if (condition(item)) result.push_back(&item);
  return result;
}

std::vector<const Household::Person*> people_told_of(const Household& household) {
  return filtered(household.people(), [](const auto& person) { return person.told.has_value(); });
}

std::vector<const Household::Person*> people_with_events(const Household& household) {
  return filtered(household.people(), [](const auto& person) { return !person.events.empty(); });
}

}  // namespace

void simulate_single_fact(Narrator& narrator) {
  Household household(narrator, kPeople, kRooms, {}, {.move = 1});
  tell_and_ask(narrator, household, [&] {
    const auto& person = *narrator.pick(people_told_of(household));
    narrator.ask(fmt::format("Where is {}?", person.name), std::string(person.told->room),
                 {person.told->line});
  });
}

void simulate_two_facts(Narrator& narrator) {
  Household household(narrator, kPeople, kRooms, kObjects, {.move = 6, .get = 2.5, .drop = 2});
  tell_and_ask(narrator, household, [&] {
    const auto& object = narrator.pick(household.objects());
    if (!object.told) return;
    narrator.ask(fmt::format("Where is the {}?", object.name), std::string(object.told->room),
                 {object.last_event, object.told->line});
  });
}

void simulate_three_facts(Narrator& narrator) {
  Household household(narrator, kPeople, kRooms, kObjects,
                      {.move = 6, .get = 2.5, .drop = 2, .get_there = 0.2});
  tell_and_ask(narrator, household, [&] {
    const auto& object = narrator.pick(household.objects());
    if (object.holder || object.way.size() < 2) return;
    // "Before the office" means before it was there last, on the last way it was carried.
    const size_t last = object.way.size() - 1;
    const size_t asked = narrator.chance(0.6) ? last : 1 + narrator.random().below(last);
    for (size_t later = asked + 1; later <= last; ++later)
      if (object.way[later].room == object.way[asked].room) return;
    const auto &place = object.way[asked], &before = object.way[asked - 1];
    narrator.ask(fmt::format("Where was the {} before the {}?", object.name, place.room),
                 std::string(before.room), {object.last_event, place.line, before.line});
  });
}

void simulate_three_arguments(Narrator& narrator) {
  static constexpr std::string_view kGivers[] = {"Fred", "Bill", "Mary", "Jeff"};
  Household household(narrator, kGivers, kRooms, kObjects,
                      {.move = 5, .get = 2.5, .drop = 1, .give = 4});
  tell_and_ask(narrator, household, [&] {
    if (household.gifts().empty()) return;
    const auto& gift = household.gifts().back();
    const auto ask = [&](std::string question, std::string_view answer) {
      narrator.ask(std::move(question), std::string(answer), {gift.line});
    };
    switch (narrator.random().below(6)) {
      case 0:
        return ask(fmt::format("Who gave the {}?", gift.object), gift.giver);
      case 1:
        return ask(fmt::format("Who gave the {} to {}?", gift.object, gift.receiver), gift.giver);
      case 2:
        return ask(fmt::format("Who received the {}?", gift.object), gift.receiver);
      case 3:
        return ask(fmt::format("Who did {} give the {} to?", gift.giver, gift.object),
                   gift.receiver);
      default:  // twice as often, as in the data set
        return ask(fmt::format("What did {} give to {}?", gift.giver, gift.receiver), gift.object);
    }
  });
}

void simulate_yes_no(Narrator& narrator) {
  Household household(narrator, kPeople, kRooms, kObjects, {.move = 6, .get = 2.5, .drop = 2});
  tell_and_ask(narrator, household, [&] {
    const auto known = people_told_of(household);
    if (known.empty()) return;
    const auto& person = *narrator.pick(known);
    std::string_view room = person.told->room;
    if (narrator.chance(0.5))
      while (room == person.told->room) room = narrator.pick(kRooms);
    narrator.ask(fmt::format("Is {} in the {}?", person.name, room),
                 room == person.told->room ? "yes" : "no", {person.told->line});
  });
}

void simulate_counting(Narrator& narrator) {
  static constexpr std::string_view kNumbers[] = {"none", "one", "two", "three"};
  Household household(narrator, kPeople, kRooms, kObjects,
                      {.move = 5, .get = 2.5, .drop = 1.5, .give = 4});
  tell_and_ask(narrator, household, [&] {
    const auto known = people_with_events(household);
    if (known.empty()) return;
    const auto& person = *narrator.pick(known);
    narrator.ask(fmt::format("How many objects is {} carrying?", person.name),
                 std::string(kNumbers[person.carries.size()]), person.events);
  });
}

void simulate_lists(Narrator& narrator) {
  Household household(narrator, kPeople, kRooms, kObjects, {.move = 5, .get = 2.5, .drop = 1.5});
  tell_and_ask(narrator, household, [&] {
    const auto known = people_with_events(household);
    if (known.empty()) return;
    const auto& person = *narrator.pick(known);
    narrator.ask(
        fmt::format("What is {} carrying?", person.name),
        person.carries.empty() ? "nothing" : fmt::format("{}", fmt::join(person.carries, ",")),
        person.events);
  });
}

}  // namespace tessera::task
