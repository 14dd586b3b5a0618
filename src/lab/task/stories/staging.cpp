// Beginnings, ways and endings: what every story shares.
#include <vector>

#include "lab/task/stories/scenes.h"

namespace tessera::task::stories {
namespace {

struct Kin {
  std::string_view name, noun;
  Pronoun pronoun;
};
constexpr Kin kKin[] = {{"Mom", "mom", Pronoun::kShe},
                        {"Dad", "dad", Pronoun::kHe},
                        {"Grandma", "grandma", Pronoun::kShe},
                        {"Grandpa", "grandpa", Pronoun::kHe}};

/// A pronoun after it could mean it as well as the hero.
void add_sight(Teller& t, const Sight& sight) {
  const Pronoun like_the_hero = t.entity(t['A']).pronoun;
  t.add('n', {.kind = Kind::kPerson, .noun = std::string(sight.noun), .pronoun = like_the_hero});
  t.add_word('d', sight.doing);
}

/// On the way somewhere: half of the time nothing.
void see_something(Teller& t) {
  if (t.chance(0.45)) return;
  const Sight& sight = t.pick(kSights);
  add_sight(t, sight);
  if (t.story().noun.empty()) t.story().noun = sight.noun;
  t.tell({"On the way {A.he} saw {a n} {d}.", "{A} stopped to look at {a n} {d}.",
          "By the path there was {a n} {d}.", "What was that? It was {a n} {d}!",
          "\"Look, {a n} {d}!\" said {A}."});
}

using Detail = void (*)(Teller&);
constexpr Detail kDetails[] = {
    [](Teller& t) {
      t.add_thing('f', t.chance(0.5) ? Nouns(kFruits) : kSweets);
      t.tell({"For breakfast {A} always ate {a f}.", "{A} could never say no to {a f}."});
    },
    [](Teller& t) {
      t.add_word('w', t.pick(kColors));
      t.tell({"{A's} favorite color was {w}.", "{A} thought that everything should be {w}."});
    },
    [](Teller& t) {
      t.entity(t.add_thing('f', kGifts)).adjective = t.pick(kColors);
      t.tell({"In {A's} room there was {a f}.", "{A} had {a f} and was proud of {f.him}."});
    },
    [](Teller& t) {
      t.add_word('w', t.pick(kVirtues));
      t.tell({"\"Always {w},\" {A's} {M.noun} used to say.",
              "{A.his} {M.noun} had taught {A.him} to {w}."});
    },
    [](Teller& t) {
      t.add_word('w', t.pick(kHobbies));
      t.tell({"Some children like to {w}, but not {A}.", "On rainy days {A} liked to {w} instead.",
              "{A} did not know how to {w} yet."});
    },
    [](Teller& t) {
      t.add_word('w', t.pick(kJobs).who);
      t.tell({"Some day {A} wanted to become {a w}.", "{A} dreamed of being {a w}."});
    }};

}  // namespace

bool is_first_meeting(Teller& t) {
  if (t['B'] != kNothing) return false;
  t.add_friend('B');
  return true;
}

Id meet_third(Teller& t) {
  const Id third = t.add_friend('C');
  t.suppose({go(third, t['l'])});
  return third;
}

void open_story(Teller& t) {
  const Id hero = t.add_friend('A');
  const Kin& kin = t.pick(kKin);
  const Id grown_up = t.add('M', {.kind = Kind::kPerson,
                                  .name = std::string(kin.name),
                                  .noun = std::string(kin.noun),
                                  .pronoun = kin.pronoun});
  t.suppose({begin(Relation::kPlace, grown_up, t.home())});
  const std::string_view trait = t.pick(kTraits), hobby = t.pick(kHobbies);
  t.story().adjective = trait;
  t.story().verb = hobby.substr(0, hobby.find(' '));
  t.entity(hero).adjective = trait;
  t.add_word('v', hobby);
  if (t.hero_is_animal()) {
    t.tell({"Once upon a time, there was {a A} named {A.name}.",
            "In a green forest lived {a A} whose name was {A.name}.",
            "Long ago, {a A} called {A.name} lived near a village.",
            "There once was {a A}. Everybody called {A.him} {A.name}."});
    t.tell({"{A} lived in a cozy den with {A.his} {M.noun}.",
            "{A.he} had a warm home under an oak, where {A.he} lived with {A.his} {M.noun}.",
            "{A.his} {M.noun} took good care of {A.him}."});
  } else {
    t.tell({"Once upon a time, there was {a A} named {A.name}.",
            "There was once {a A} whose name was {A.name}.", "{A.name} was {a A}.",
            "In a small town lived {a A} named {A.name}.",
            "Once there was {a A}. {A.his} name was {A.name}.",
            "This is the story of {a A} named {A.name}."});
    t.tell({"{A} lived in a small house with {A.his} {M.noun}.",
            "{A} and {A.his} {M.noun} lived in a house with a red roof.",
            "{A} lived on a quiet street with {A.his} {M.noun}.",
            "{A} and {A.his} {M.noun} had a little cottage near the sea.",
            "{A.he} lived in a tall building with {A.his} {M.noun}.",
            "Together with {A.his} {M.noun} {A.he} lived next to the school.",
            "{A.he} lived with {A.his} {M.noun} at the end of the street.",
            "{A.his} {M.noun} loved {A.him} very much."});
  }
  t.tell({"{A} loved to {v}.", "More than anything, {A} liked to {v}.",
          "{A} liked to {v} every day.", "When it was sunny, {A} liked to {v}.",
          "{A's} favorite thing was to {v}.", "{A} was always ready to {v}."});
}

void add_details(Teller& t, size_t details) {
  std::vector<Detail> left(std::begin(kDetails), std::end(kDetails));
  for (; details > 0 && !left.empty(); --details) {
    const auto drawn = left.begin() + static_cast<std::ptrdiff_t>(t.random().below(left.size()));
    (*drawn)(t);
    left.erase(drawn);
  }
}

void begin_first_scene(Teller& t) {
  static constexpr std::string_view kWhen[] = {
      "One day",      "One morning", "One afternoon", "One quiet day", "One day after breakfast",
      "One fine day", "Once"};
  t.set_when(t.pick(kWhen));
  t.paragraph();
}

void go_out(Teller& t, Teller::Where where) {
  const Id place = t.add_place('l', where);
  t.tell({go(t['A'], place)}, {"{when}, {A} went {to l}.", "{when}, {A} walked {to l}.",
                               "{when}, {A} decided to go {to l}.", "{when}, {A} ran {to l}.",
                               "{when}, {A} wanted to have some fun, so {A.he} went {to l}."});
  see_something(t);
}

void go_out_with_friend(Teller& t, Teller::Where where) {
  const bool first = is_first_meeting(t);
  const Id place = t.add_place('l', where), hero = t['A'], companion = t['B'];
  const bool together = t.world().place_of(hero) == t.world().place_of(companion);
  if (first)
    t.tell({go(hero, place), go(companion, place)},
           {"{when}, {A} went {to l} with {A.his} friend {B.name}.",
            "{when}, {A} went {to l}. There {A.he} met {A.his} friend {B.name}.",
            "{when}, {A} and {A.his} best friend {B.name} walked {to l}.",
            "{when}, {A's} friend {B.name} came along, and together they went {to l}."});
  else if (together)
    t.tell({go(hero, place), go(companion, place)},
           {"{when}, {A} and {B} went {to l}.", "{when}, {A} went {to l} with {B}.",
            "{when}, the two friends wanted to see something else and went {to l}."});
  else
    t.tell({go(hero, place), go(companion, place)},
           {"{when}, {A} met {B}, and they walked {to l} together.",
            "{when}, {A} asked {B} to come along, and together they went {to l}."});
  see_something(t);
}

void be_home(Teller& t) {
  if (t.world().place_of(t['A']) == t.home())
    t.tell({"{when}, {A} sat in the kitchen with {A.his} {M.noun}.",
            "{when}, {A} stayed at home with {A.his} {M.noun}.",
            "{when}, {A} and {A.his} {M.noun} were in the living room.",
            "{when}, {A} was in {A.his} room when {A.his} {M.noun} came in.",
            "{when}, {A} helped {A.his} {M.noun} to clean the house."});
  else
    t.tell({go(t['A'], t.home())}, {"{when}, {A} went home.", "{when}, {A} walked back home.",
                                    "{when}, it was time to go home, and {A} hurried back."});
}

void pass_time(Teller& t) {
  t.paragraph();
  static constexpr std::string_view kLater[] = {
      "Later that day", "After that",         "A little later",    "A while later",
      "Soon after",     "After a short rest", "When that was over"};
  if (t.chance(0.5)) return t.set_when(t.pick(kLater));
  const Id hero = t['A'], companion = t['B'];
  const auto place_of = [&](Id who) {
    return who == kNothing ? kNothing : t.world().place_of(who);
  };
  const bool together = place_of(hero) == place_of(companion);
  const bool hero_away = place_of(hero) != t.home(), companion_away = place_of(companion) != t['b'];
  if (together && hero_away && companion_away)
    t.tell({go(hero, t.home()), go(companion, t['b'])},
           {"In the evening, {A} and {B} said goodbye and went home.",
            "When it got dark, {B} went home, and so did {A}."});
  else if (together && companion_away)
    t.tell({go(companion, t['b'])}, {"In the evening, {B} went home.", "Then {B} had to go home."});
  else if (hero_away)
    t.tell({go(hero, t.home())}, {"In the evening, {A} went home.", "Before dinner, {A} went home.",
                                  "When the sun went down, {A} walked home."});
  static constexpr std::string_view kNextDay[] = {"The next day",     "The next morning",
                                                  "Two days later",   "The day after",
                                                  "A few days later", "The next week"};
  t.set_when(t.pick(kNextDay));
}

void close_story(Teller& t) {
  t.paragraph();
  const Id hero = t['A'];
  t.add_word('w', t.pick(kGladFeelings));
  t.add_word('v', t.pick(kVirtues));
  t.suppose({begin(Relation::kFeeling, hero, t['w'])});
  if (t.world().place_of(hero) != t.home() && t.chance(0.6))
    t.tell({go(hero, t.home())}, {"At the end of the day, {A} went home, tired but {w}.",
                                  "{A} skipped all the way home and felt {w}.",
                                  "Then it was time to go home, and {A} was {w}."});
  else
    t.tell({"{A} felt {w}.", "It had been a good day, and {A} was {w}.", "{A} smiled and was {w}.",
            "{A} was so {w} that {A.he} laughed out loud.", "{A} felt {w} from head to toe."});
  if (t.chance(0.4))
    t.tell({"{A} had learned something: it is good to {v}.",
            "From that day on, {A} always tried to {v}.",
            "{A} never forgot how important it is to {v}.",
            "And {A} knew that you should always {v}."});
  if (t.story().noun.empty()) {
    const Sight& sight = t.pick(kSights);
    add_sight(t, sight);
    t.tell({"That night {A} dreamed of {a n} {d}.",
            "In the evening {A} drew a picture of {a n} {d}.",
            "At bedtime {A.his} {M.noun} told {A.him} a story about {a n} {d}."});
    t.story().noun = sight.noun;
  }
  if (t.chance(0.35))
    t.tell({"The end.", "And they all lived happily ever after.", "What a wonderful day!",
            "Everything was good again.", "That night {A} slept very well.",
            "{A} hugged {A.his} pillow and slept until morning."});
}

}  // namespace tessera::task::stories
