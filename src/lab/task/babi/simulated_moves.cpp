// Tasks 1, 2, 3, 5, 6, 7 and 8: people who move between rooms and carry objects.

#include <fmt/ranges.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lab/task/babi/simulated_tasks.h"

namespace tessera::task {
namespace {

/// How often the people of a household do what, relative to each other; what nobody can do at a
/// moment is left out of the draw.
struct Habits {
  double move = 1, get = 0, drop = 0, give = 0;
  double get_there = 1;  ///< chance that "there" follows "picked up the milk"
  double drop_there = 0.2;
};

/// People who move between rooms and carry objects, and what a reader of the story can know of
/// them. At the beginning everybody and everything is somewhere, untold.
class Household {
 public:
  Household(Narrator& narrator, Names people, Names rooms, Names objects, const Habits& habits);

  /// Somebody does something, and it is told.
  void act();

  /// Where a statement put somebody or something.
  struct Place {
    std::string_view room;
    int64_t line;  ///< of that statement
    bool operator==(const Place&) const = default;
  };
  struct Person {
    std::string_view name;
    std::string_view room;
    std::optional<Place> told;              ///< where the reader knows them to be
    std::vector<std::string_view> carries;  ///< in the order of getting them
    std::vector<int64_t> events;            ///< lines in which they got, gave or lost an object
  };
  struct Object {
    std::string_view name;
    std::string_view room;  ///< where it lies; that of its holder while it is carried
    std::optional<size_t> holder;
    int64_t last_event = 0;     ///< the line of the last get, drop or give; 0 for none
    std::optional<Place> told;  ///< where the reader knows it to be
    std::vector<Place> way;     ///< told places since it was last got, different in a row
  };
  struct Gift {
    std::string_view giver, object, receiver;
    int64_t line;
  };

  const std::vector<Person>& people() const { return people_; }
  const std::vector<Object>& objects() const { return objects_; }
  const std::vector<Gift>& gifts() const { return gifts_; }

 private:
  struct Deed {
    size_t person, object, receiver;
  };
  std::vector<Deed> possible_gets() const;
  std::vector<Deed> possible_drops() const;
  std::vector<Deed> possible_gifts() const;
  void move();
  void get(const Deed& deed);
  void drop(const Deed& deed);
  void give(const Deed& deed);
  /// The reader learns where the object is from where its holder is.
  void follow(Object& object, const std::optional<Place>& place);
  std::string there(double chance);

  Narrator& narrator_;
  Names rooms_;
  Habits habits_;
  std::vector<Person> people_;
  std::vector<Object> objects_;
  std::vector<Gift> gifts_;
};

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
  const size_t p = narrator_.random().below(people_.size());
  Person& person = people_[p];
  const std::string_view room = person.room = narrator_.pick_but(rooms_, person.room);
  person.told = Place{room, narrator_.tell(fmt::format("{} {} the {}.", person.name,
                                                       narrator_.pick(kMovedTo), room))};
  for (Object& object : objects_)
    if (object.holder == p) follow(object, person.told);
}

std::string Household::there(double chance) {
  return narrator_.chance(chance) ? " there" : "";
}

void Household::get(const Deed& deed) {
  Person& person = people_[deed.person];
  Object& object = objects_[deed.object];
  const std::string there = this->there(habits_.get_there);
  object.last_event = narrator_.tell(
      fmt::format("{} {} the {}{}.", person.name, narrator_.pick(kPickedUp), object.name, there));
  object.holder = deed.person;
  object.way.clear();
  follow(object, person.told);
  person.carries.push_back(object.name);
  person.events.push_back(object.last_event);
}

void Household::drop(const Deed& deed) {
  Person& person = people_[deed.person];
  Object& object = objects_[deed.object];
  const std::string there = this->there(habits_.drop_there);
  object.last_event = narrator_.tell(
      fmt::format("{} {} the {}{}.", person.name, narrator_.pick(kDropped), object.name, there));
  object.holder.reset();
  std::erase(person.carries, object.name);
  person.events.push_back(object.last_event);
}

void Household::give(const Deed& deed) {
  Person &giver = people_[deed.person], &receiver = people_[deed.receiver];
  Object& object = objects_[deed.object];
  object.last_event = narrator_.tell(fmt::format(
      "{} {} the {} to {}.", giver.name, narrator_.pick(kGave), object.name, receiver.name));
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

/// The same, where the question is about one of the people of whom `known` holds.
template <typename Known, typename Ask>
void tell_and_ask_of_one(Narrator& narrator, Household& household, Known&& known, Ask&& ask) {
  tell_and_ask(narrator, household, [&] {
    std::vector<const Household::Person*> people;
    for (const auto& person : household.people())
      if (known(person)) people.push_back(&person);
    if (!people.empty()) ask(*narrator.pick(people));
  });
}

bool is_told_of(const Household::Person& person) {
  return person.told.has_value();
}

bool had_an_object(const Household::Person& person) {
  return !person.events.empty();
}

void simulate_single_fact(Narrator& narrator) {
  Household household(narrator, kPeople, kRooms, {}, {.move = 1});
  tell_and_ask_of_one(narrator, household, is_told_of, [&](const auto& person) {
    narrator.ask(fmt::format("Where is {}?", person.name), person.told->room, {person.told->line});
  });
}

void simulate_two_facts(Narrator& narrator) {
  Household household(narrator, kPeople, kRooms, kObjects, {.move = 6, .get = 2.5, .drop = 2});
  tell_and_ask(narrator, household, [&] {
    const auto& object = narrator.pick(household.objects());
    if (!object.told) return;
    narrator.ask(fmt::format("Where is the {}?", object.name), object.told->room,
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
                 before.room, {object.last_event, place.line, before.line});
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
      narrator.ask(std::move(question), answer, {gift.line});
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
  tell_and_ask_of_one(narrator, household, is_told_of, [&](const auto& person) {
    const auto& [there, line] = *person.told;
    const std::string_view room = narrator.chance(0.5) ? narrator.pick_but(kRooms, there) : there;
    narrator.ask(fmt::format("Is {} in the {}?", person.name, room), room == there ? "yes" : "no",
                 {line});
  });
}

void simulate_counting(Narrator& narrator) {
  static constexpr std::string_view kNumbers[] = {"none", "one", "two", "three"};
  Household household(narrator, kPeople, kRooms, kObjects,
                      {.move = 5, .get = 2.5, .drop = 1.5, .give = 4});
  tell_and_ask_of_one(narrator, household, had_an_object, [&](const auto& person) {
    narrator.ask(fmt::format("How many objects is {} carrying?", person.name),
                 kNumbers[person.carries.size()], person.events);
  });
}

void simulate_lists(Narrator& narrator) {
  Household household(narrator, kPeople, kRooms, kObjects, {.move = 5, .get = 2.5, .drop = 1.5});
  tell_and_ask_of_one(narrator, household, had_an_object, [&](const auto& person) {
    narrator.ask(
        fmt::format("What is {} carrying?", person.name),
        person.carries.empty() ? "nothing" : fmt::format("{}", fmt::join(person.carries, ",")),
        person.events);
  });
}

}  // namespace

Simulations simulated_moves() {
  static constexpr Simulation kSimulations[] = {
      {1, simulate_single_fact}, {2, simulate_two_facts},
      {3, simulate_three_facts}, {5, simulate_three_arguments},
      {6, simulate_yes_no},      {7, simulate_counting},
      {8, simulate_lists}};
  return kSimulations;
}

}  // namespace tessera::task
