// Tasks 9 to 14: people of whom it is said where they are, or when they were there.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lab/task/babi/simulated_tasks.h"

namespace tessera::task {
namespace {

constexpr std::string_view kTownPeople[] = {"Mary", "Fred", "Bill", "Julie"};
constexpr std::string_view kTownPlaces[] = {"school", "kitchen", "bedroom",
                                            "park",   "cinema",  "office"};
constexpr std::string_view kAfterwards[] = {"Afterwards", "Then", "After that", "Following that"};
constexpr int kRounds = 5;

struct Whereabouts {
  std::string_view place;
  std::vector<int64_t> lines;
};

/// Where is one of those that were told of?
void ask_where(Narrator& narrator, const std::map<std::string_view, Whereabouts>& known) {
  const auto& [name, where] = narrator.pick(known);
  narrator.ask(fmt::format("Where is {}?", name), where.place, where.lines);
}

void simulate_negation(Narrator& narrator) {
  struct Claim {
    std::string_view place;
    bool is_there;
    int64_t line;
  };
  std::map<std::string_view, std::string_view> places;
  for (std::string_view name : kPeople) places[name] = narrator.pick(kRooms);
  std::map<std::string_view, Claim> claims;  // the last one about each
  const auto tell = [&] {
    const std::string_view name = narrator.pick(kPeople);
    std::string_view& place = places[name];
    const std::string_view other = narrator.pick_but(kRooms, place);
    const auto say = [&](std::string_view said, std::string_view of, bool is_there) {
      claims[name] = {of, is_there, narrator.tell(fmt::format("{} {} the {}.", name, said, of))};
    };
    if (narrator.chance(0.5))
      say(narrator.pick(kMovedTo), place = other, true);
    else if (narrator.chance(0.5))
      say("is in", place, true);
    else
      say(narrator.chance(0.5) ? "is not in" : "is no longer in", other, false);
  };
  for (int round = 0; round < kRounds; ++round) {
    tell();
    tell();
    const auto& [name, claim] = narrator.pick(claims);
    const bool ask_claim = !claim.is_there || narrator.chance(0.5);
    const std::string_view asked = ask_claim ? claim.place : narrator.pick_but(kRooms, claim.place);
    narrator.ask(fmt::format("Is {} in the {}?", name, asked),
                 ask_claim && claim.is_there ? "yes" : "no", {claim.line});
  }
}

void simulate_indefinite(Narrator& narrator) {
  struct Claim {
    std::vector<std::string_view> places;  // one, or "either … or …"
    int64_t line;
  };
  std::map<std::string_view, Claim> claims;  // the last one about each
  const auto tell = [&] {
    const std::string_view name = narrator.pick(kTownPeople);
    Claim& claim = claims[name];
    // Places that were told last are left out, so that two claims never have to be combined.
    std::vector<std::string_view> taken = claim.places;
    std::vector<std::string_view> places = {narrator.pick_but(kTownPlaces, taken)};
    std::string text;
    if (narrator.chance(1.0 / 3)) {
      taken.push_back(places[0]);
      places.push_back(narrator.pick_but(kTownPlaces, taken));
      text = fmt::format("{} is either in the {} or the {}.", name, places[0], places[1]);
    } else {
      text = fmt::format("{} {} the {}.", name,
                         narrator.chance(0.5) ? "is in" : narrator.pick(kMovedTo), places[0]);
    }
    claim = {std::move(places), narrator.tell(text)};
  };
  for (int round = 0; round < kRounds; ++round) {
    tell();
    tell();
    const auto& [name, claim] = narrator.pick(claims);
    const bool ask_claim = narrator.chance(0.5);
    const std::string_view asked =
        ask_claim ? narrator.pick(claim.places) : narrator.pick_but(kTownPlaces, claim.places);
    narrator.ask(fmt::format("Is {} in the {}?", name, asked),
                 !ask_claim ? "no" : (claim.places.size() == 1 ? "yes" : "maybe"), {claim.line});
  }
}

void simulate_coreference(Narrator& narrator) {
  std::map<std::string_view, Whereabouts> known;
  for (int round = 0; round < kRounds; ++round) {
    const std::string_view name = narrator.pick(kPeople);
    const std::string_view first = narrator.pick(kRooms), second = narrator.pick_but(kRooms, first);
    const bool female = name == "Mary" || name == "Sandra";
    const int64_t line =
        narrator.tell(fmt::format("{} {} the {}.", name, narrator.pick(kMovedTo), first));
    const std::string_view moved = narrator.pick(kMovedTo), then = narrator.pick(kAfterwards);
    narrator.tell(fmt::format("{} {} {} the {}.", then, female ? "she" : "he", moved, second));
    known[name] = {second, {line, line + 1}};
    ask_where(narrator, known);
  }
}

void simulate_conjunction(Narrator& narrator) {
  std::map<std::string_view, Whereabouts> known;
  const auto tell = [&] {
    const std::string_view one = narrator.pick(kPeople), other = narrator.pick_but(kPeople, one),
                           place = narrator.pick(kRooms);
    const int64_t line = narrator.tell(
        fmt::format("{} and {} {} the {}.", one, other, narrator.pick(kMovedTo), place));
    known[one] = known[other] = {place, {line}};
  };
  for (int round = 0; round < kRounds; ++round) {
    tell();
    tell();
    ask_where(narrator, known);
  }
}

void simulate_compound_coreference(Narrator& narrator) {
  std::map<std::string_view, Whereabouts> known;
  for (int round = 0; round < kRounds; ++round) {
    const std::string_view one = narrator.pick(kPeople), other = narrator.pick_but(kPeople, one);
    const std::string_view first = narrator.pick(kRooms), second = narrator.pick_but(kRooms, first);
    const int64_t line = narrator.tell(
        fmt::format("{} and {} {} the {}.", one, other, narrator.pick(kMovedTo), first));
    const std::string_view moved = narrator.pick(kMovedTo), then = narrator.pick(kAfterwards);
    narrator.tell(fmt::format("{} they {} the {}.", then, moved, second));
    known[one] = known[other] = {second, {line, line + 1}};
    ask_where(narrator, known);
  }
}

struct Visit {
  std::string_view place;
  int64_t line;
};
/// Where somebody was yesterday (0), this morning, this afternoon and this evening (3), as far as
/// it was told.
using Day = std::map<size_t, Visit>;

void tell_visit(Narrator& narrator, std::map<std::string_view, Day>& days) {
  static constexpr std::string_view kTimes[] = {"yesterday", "this morning", "this afternoon",
                                                "this evening"};
  for (;;) {
    const std::string_view name = narrator.pick(kTownPeople), place = narrator.pick(kTownPlaces);
    const size_t time = narrator.random().below(4);
    Day& day = days[name];
    if (day.contains(time)) continue;
    Day longer = day;
    longer[time] = {place, 0};
    const auto stays = [](const auto& one, const auto& next) {
      return one.second.place == next.second.place;
    };
    if (std::ranges::adjacent_find(longer, stays) != longer.end()) continue;
    std::string when(kTimes[time]);
    std::string text;
    if (narrator.chance(0.5)) {
      text = fmt::format("{} {} the {} {}.", name, narrator.pick(kMovedTo), place, when);
    } else {
      when[0] = static_cast<char>(when[0] - 'a' + 'A');
      text = fmt::format("{} {} {} the {}.", when, name, narrator.pick(kMovedTo), place);
    }
    day[time] = {place, narrator.tell(text)};
    return;
  }
}

void simulate_time(Narrator& narrator) {
  std::map<std::string_view, Day> days;
  while (narrator.questions() < kRounds) {
    tell_visit(narrator, days);
    tell_visit(narrator, days);
    std::vector<std::string_view> candidates;
    for (const auto& [name, day] : days)
      if (day.size() >= 2) candidates.push_back(name);
    if (candidates.empty()) continue;
    const std::string_view name = narrator.pick(candidates);
    std::vector<Visit> visits;
    for (const auto& [time, visit] : days[name]) visits.push_back(visit);
    // "Before the park" means before the last visit there.
    size_t later = 1 + narrator.random().below(visits.size() - 1);
    for (size_t i = later + 1; i < visits.size(); ++i)
      if (visits[i].place == visits[later].place) later = i;
    narrator.ask(fmt::format("Where was {} before the {}?", name, visits[later].place),
                 visits[later - 1].place, {visits[later].line, visits[later - 1].line});
  }
}

}  // namespace

Simulations simulated_claims() {
  static constexpr Simulation kSimulations[] = {
      {9, simulate_negation},     {10, simulate_indefinite},           {11, simulate_coreference},
      {12, simulate_conjunction}, {13, simulate_compound_coreference}, {14, simulate_time}};
  return kSimulations;
}

}  // namespace tessera::task
