// Tasks 4 and 15 to 20: places, animals, shapes, boxes and moods.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "lab/task/babi/simulated_tasks.h"
#include "lab/task/sequence/draws.h"

namespace tessera::task {
namespace {

/// `count` different names in random order.
std::vector<std::string_view> draw_names(Narrator& narrator, Names names, int64_t count) {
  std::vector<std::string_view> drawn;
  for (int64_t i : draw_distinct(narrator.random(), std::ssize(names), count))
    drawn.push_back(names[i]);
  return drawn;
}

/// Tells the statements in random order; returns the line of each.
std::vector<int64_t> tell_in_any_order(Narrator& narrator,
                                       const std::vector<std::string>& statements) {
  std::vector<int64_t> lines(statements.size());
  for (int64_t i : draw_permutation(narrator.random(), std::ssize(statements)))
    lines[i] = narrator.tell(statements[i]);
  return lines;
}

std::string lower_case(std::string_view name) {
  std::string text(name);
  text[0] = static_cast<char>(text[0] | 0x20);
  return text;
}

/// A step on a grid; y grows to the north.
struct Step {
  int x, y;
  std::string_view letter, direction, opposite;
};
constexpr Step kSteps[] = {{0, 1, "n", "north", "south"},
                           {0, -1, "s", "south", "north"},
                           {1, 0, "e", "east", "west"},
                           {-1, 0, "w", "west", "east"}};

/// Tells that `one` lies a step from `other`, or the same the other way round.
int64_t tell_neighbours(Narrator& narrator, std::string_view one, const Step& step,
                        std::string_view other) {
  const bool turned = narrator.chance(0.5);
  return narrator.tell(fmt::format("The {} is {} of the {}.", turned ? other : one,
                                   turned ? step.opposite : step.direction, turned ? one : other));
}

void simulate_two_arguments(Narrator& narrator) {
  // Three rooms in a row, each told to lie on one side of the next or the other way round.
  const auto rooms = draw_names(narrator, kRooms, 3);
  const Step& step = narrator.pick(kSteps);
  std::array<int64_t, 2> lines{};
  const size_t told_first = narrator.random().below(2);
  for (size_t pair : {told_first, 1 - told_first})
    lines[pair] = tell_neighbours(narrator, rooms[pair], step, rooms[pair + 1]);
  const size_t pair = narrator.random().below(2);
  const bool turned = narrator.chance(0.5);  // rooms[pair] is to the `direction` of rooms[pair + 1]
  const std::string_view asked = turned ? rooms[pair + 1] : rooms[pair],
                         given = turned ? rooms[pair] : rooms[pair + 1];
  narrator.ask(
      narrator.chance(0.5)
          ? fmt::format("What is {} of the {}?", turned ? step.opposite : step.direction, given)
          : fmt::format("What is the {} {} of?", given, turned ? step.direction : step.opposite),
      asked, {lines[pair]});
}

void simulate_deduction(Narrator& narrator) {
  static constexpr std::string_view kOne[] = {"mouse", "sheep", "wolf", "cat"};
  static constexpr std::string_view kMany[] = {"mice", "sheep", "wolves", "cats"};
  static constexpr std::string_view kNames[] = {"Gertrude", "Winona", "Jessica", "Emily"};
  constexpr size_t kAnimals = 4;
  std::array<size_t, kAnimals> fears{}, kind{};
  std::vector<std::string> statements;  // in turn whom an animal fears and what a person is
  for (size_t i = 0; i < kAnimals; ++i) {
    fears[i] = (i + 1 + narrator.random().below(kAnimals - 1)) % kAnimals;
    kind[i] = narrator.random().below(kAnimals);
    std::string animals(kMany[i]);
    animals[0] = static_cast<char>(animals[0] - 'a' + 'A');
    statements.push_back(fmt::format("{} are afraid of {}.", animals, kMany[fears[i]]));
    statements.push_back(fmt::format("{} is a {}.", kNames[i], kOne[kind[i]]));
  }
  const std::vector<int64_t> lines = tell_in_any_order(narrator, statements);
  for (size_t i = 0; i < kAnimals; ++i) {
    const size_t person = narrator.random().below(kAnimals), animal = kind[person];
    narrator.ask(fmt::format("What is {} afraid of?", lower_case(kNames[person])),
                 kOne[fears[animal]], {lines[2 * person + 1], lines[2 * animal]});
  }
}

void simulate_induction(Narrator& narrator) {
  static constexpr std::string_view kAnimals[] = {"swan", "lion", "frog", "rhino"};
  static constexpr std::string_view kColours[] = {"gray", "white", "yellow", "green"};
  static constexpr std::string_view kNames[] = {"Lily", "Bernhard", "Greg", "Julius", "Brian"};
  std::map<std::string_view, std::string_view> colour_of;
  for (std::string_view kind : kAnimals) colour_of[kind] = narrator.pick(kColours);
  // The first is asked about; the second is of its kind, so that there is something to infer from.
  const auto names = draw_names(narrator, kNames, std::ssize(kNames));
  std::vector<std::string_view> kinds;
  for (size_t i = 0; i < names.size(); ++i) kinds.push_back(narrator.pick(kAnimals));
  kinds[1] = kinds[0];
  std::vector<std::string> statements;
  for (size_t i = 0; i < names.size(); ++i) {
    statements.push_back(fmt::format("{} is a {}.", names[i], kinds[i]));
    if (i > 0) statements.push_back(fmt::format("{} is {}.", names[i], colour_of[kinds[i]]));
  }
  const std::vector<int64_t> lines = tell_in_any_order(narrator, statements);
  narrator.ask(fmt::format("What color is {}?", names[0]), colour_of[kinds[0]],
               {lines[0], lines[1], lines[2]});  // what both are, and the second's colour
}

void simulate_positions(Narrator& narrator) {
  static constexpr std::string_view kShapes[] = {"red sphere", "blue square",    "yellow square",
                                                 "red square", "pink rectangle", "triangle"};
  const auto relation = [](int dx, int dy) -> std::string_view {
    return dx > 0 ? "to the right of" : dx < 0 ? "to the left of" : dy > 0 ? "above" : "below";
  };
  // The first is told to be beside the second, that beside the third.
  const auto shapes = draw_names(narrator, kShapes, 3);
  int dx = 0, dy = 0;  // from the third to the first
  while (dx == 0 && dy == 0) {
    const Step &one = narrator.pick(kSteps), &other = narrator.pick(kSteps);
    dx = one.x + other.x;
    dy = one.y + other.y;
    if (dx == 0 && dy == 0) continue;
    const auto tell = [&](size_t i, const Step& step) {
      const bool turned = narrator.chance(0.5);
      narrator.tell(fmt::format("The {} is {} the {}.", shapes[turned ? i + 1 : i],
                                turned ? relation(-step.x, -step.y) : relation(step.x, step.y),
                                shapes[turned ? i : i + 1]));
    };
    tell(0, one);
    tell(1, other);
  }
  constexpr int kQuestions = 8;
  for (int i = 0; i < kQuestions; ++i) {
    const bool turned = narrator.chance(0.5), truth = narrator.chance(0.5);
    const bool ask_x = dy == 0 || (dx != 0 && narrator.chance(0.5));
    const int sign = turned == truth ? -1 : 1;
    narrator.ask(fmt::format("Is the {} {} the {}?", shapes[turned ? 2 : 0],
                             ask_x ? relation(sign * dx, 0) : relation(0, sign * dy),
                             shapes[turned ? 0 : 2]),
                 truth ? "yes" : "no",
                 turned ? std::vector<int64_t>{2, 1} : std::vector<int64_t>{1, 2});
  }
}

void simulate_sizes(Narrator& narrator) {
  // Chocolate is smaller than its box, which is smaller than all the others.
  static constexpr std::string_view kBoxes[] = {"box", "chest", "suitcase", "container"};
  std::vector<std::string_view> things = {"chocolate", "box of chocolates"};  // by size
  for (std::string_view box : draw_names(narrator, kBoxes, 4)) things.push_back(box);
  const auto n = std::ssize(things);
  using Pair = std::pair<int64_t, int64_t>;  // a smaller thing and a larger one
  const auto draw_sorted = [&](int64_t count) {
    auto drawn = draw_distinct(narrator.random(), n, count);
    std::sort(drawn.begin(), drawn.end());
    return drawn;
  };
  // One chain a < b < c is told link by link and never as a < c, so that there is a question.
  const auto chain = draw_sorted(3);
  std::vector<Pair> pairs = {{chain[0], chain[1]}, {chain[1], chain[2]}};
  constexpr size_t kStatements = 5;
  while (pairs.size() < kStatements) {
    const auto drawn = draw_sorted(2);
    const Pair pair = {drawn[0], drawn[1]};
    if (pair != Pair{chain[0], chain[2]} &&
        std::find(pairs.begin(), pairs.end(), pair) == pairs.end())
      pairs.push_back(pair);
  }
  std::map<Pair, int64_t> lines;
  for (int64_t i : draw_permutation(narrator.random(), std::ssize(pairs))) {
    const auto& [small, large] = pairs[i];
    lines[pairs[i]] = narrator.tell(
        narrator.chance(0.5)
            ? fmt::format("The {} fits inside the {}.", things[small], things[large])
            : fmt::format("The {} is bigger than the {}.", things[large], things[small]));
  }

  std::vector<std::array<int64_t, 3>> chains;
  for (const auto& [first, line] : lines)
    for (const auto& [second, other_line] : lines)
      if (first.second == second.first && !lines.contains({first.first, second.second}))
        chains.push_back({first.first, first.second, second.second});
  constexpr int kQuestions = 5;
  for (int i = 0; i < kQuestions; ++i) {
    const auto [small, middle, large] = narrator.pick(chains);
    const bool truth = narrator.chance(0.5);
    const std::string_view inner = things[truth ? small : large],
                           outer = things[truth ? large : small];
    narrator.ask(narrator.chance(0.5) ? fmt::format("Does the {} fit in the {}?", inner, outer)
                                      : fmt::format("Is the {} bigger than the {}?", outer, inner),
                 truth ? "yes" : "no", {lines[{small, middle}], lines[{middle, large}]});
  }
}

struct Place {
  int x, y;
  bool operator==(const Place&) const = default;
};

/// Door i leads from this room, by this step, to room i + 1.
struct Door {
  size_t from;
  Step step;
};

/// Doors that join six rooms on a grid; the first two are the way that is asked for.
std::vector<Door> draw_doors(Narrator& narrator) {
  constexpr size_t kGridRooms = 6;
  std::vector<Place> rooms = {{0, 0}};
  std::vector<Door> doors;
  while (rooms.size() < kGridRooms) {
    const size_t next = rooms.size();
    const size_t from = next < 3 ? next - 1 : narrator.random().below(next);
    const Step& step = narrator.pick(kSteps);
    const Place place = {rooms[from].x + step.x, rooms[from].y + step.y};
    if (std::find(rooms.begin(), rooms.end(), place) != rooms.end()) continue;
    // The way round the other corner would be as short as the one that is asked for.
    if (next >= 3 &&
        place == Place{rooms[0].x + rooms[2].x - rooms[1].x, rooms[0].y + rooms[2].y - rooms[1].y})
      continue;
    rooms.push_back(place);
    doors.push_back({from, step});
  }
  return doors;
}

void simulate_path_finding(Narrator& narrator) {
  const auto names = draw_names(narrator, kRooms, std::ssize(kRooms));
  const std::vector<Door> doors = draw_doors(narrator);
  std::vector<int64_t> lines(doors.size());
  for (int64_t i : draw_permutation(narrator.random(), std::ssize(doors)))
    lines[i] = tell_neighbours(narrator, names[i + 1], doors[i].step, names[doors[i].from]);
  narrator.ask(fmt::format("How do you go from the {} to the {}?", names[0], names[2]),
               fmt::format("{},{}", doors[0].step.letter, doors[1].step.letter),
               {lines[0], lines[1]});
}

void simulate_motivations(Narrator& narrator) {
  struct Mood {
    std::string_view mood, place, object;
  };
  static constexpr Mood kMoods[] = {{"hungry", "kitchen", "apple"},
                                    {"thirsty", "kitchen", "milk"},
                                    {"bored", "garden", "football"},
                                    {"tired", "bedroom", "pajamas"}};
  static constexpr std::string_view kNames[] = {"Jason", "Antoine", "Sumit", "Yann"};
  struct Person {
    std::string_view name;
    Mood mood;
    int told = 0;  // of: the mood, going, getting
    int64_t line = 0;
  };
  std::vector<Person> people;
  const auto moods = draw_permutation(narrator.random(), std::ssize(kMoods));
  for (size_t i = 0; i < std::size(kNames); ++i) people.push_back({kNames[i], kMoods[moods[i]]});
  constexpr int64_t kQuestions = 11;  // of twelve there could be
  while (narrator.questions() < kQuestions) {
    Person& person = people[narrator.random().below(people.size())];
    const auto& [mood, place, object] = person.mood;
    const std::string who = lower_case(person.name);
    switch (person.told++) {
      case 0:
        person.line = narrator.tell(fmt::format("{} is {}.", person.name, mood));
        narrator.ask(fmt::format("Where will {} go?", who), place, {person.line});
        break;
      case 1:
        narrator.tell(fmt::format("{} {} the {}.", person.name, narrator.pick(kMovedTo), place));
        narrator.ask(fmt::format("Why did {} go to the {}?", who, place), mood, {person.line});
        break;
      case 2:
        narrator.tell(
            fmt::format("{} {} the {} there.", person.name, narrator.pick(kPickedUp), object));
        narrator.ask(fmt::format("Why did {} get the {}?", who, object), mood, {person.line});
        break;
      default:  // all is told of this one
        break;
    }
  }
}

}  // namespace

Simulations simulated_facts() {
  static constexpr Simulation kSimulations[] = {
      {4, simulate_two_arguments}, {15, simulate_deduction}, {16, simulate_induction},
      {17, simulate_positions},    {18, simulate_sizes},     {19, simulate_path_finding},
      {20, simulate_motivations}};
  return kSimulations;
}

}  // namespace tessera::task
