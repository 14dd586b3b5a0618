// Plots at home: wishes, habits, sharing, baking, learning.
#include "lab/task/stories/scenes.h"

namespace tessera::task::stories {
namespace {

void second_choice(Teller& t) {
  be_home(t);
  const Id hero = t['A'], grown_up = t['M'];
  const Nouns table = t.chance(0.5) ? Nouns(kPets) : kToys;
  const Id first = t.add_thing('o', table), second = t.add_thing('p', table);
  t.tell({begin(Relation::kWish, hero, first), begin(Relation::kWish, hero, second)},
         {"{A} wanted two things very much: {a o} or {a p}.",
          "{A} could not decide whether {A.he} wanted {a o} or {a p}.",
          "There were two things that {A} dreamed of: {a o} and {a p}."});
  t.tell({finish(Relation::kWish, hero, first)},
         {"{A} asked {A.his} {M.noun} for {a o}, but {M} said no.",
          "\"May I have {a o}?\" {A.he} asked. \"No, not {a o},\" said {M}."});
  t.tell({"{A} was not angry.", "{A} thought for a moment.", "{A} was sad, but only a little."});
  t.ask(kLogic, "second choice",
        object_is(Relation::kWish, hero, second, t.another_and(table, first)), {},
        {"So instead {A.he} asked for| {a x}.", "\"Then may I have| {a x}?\" {A.he} asked."});
  t.tell(
      {make(grown_up, second), give(grown_up, second, hero), finish(Relation::kWish, hero, second)},
      {"{M} smiled. A week later {M.he} came home with {a p} for {A.him}.",
       "\"Yes, you may,\" said {M}, and soon {A} had {a p}."});
  t.tell({"{A} danced around the room.", "\"Thank you, thank you!\" cried {A}.",
          "{A} took good care of {p.him}."});
}

void weekdays(Teller& t) {
  be_home(t);
  const Id hero = t['A'];
  const Id week = t.add_word('v', "weekdays"), weekend = t.add_word('w', "weekends");
  const Id school = t.add(
      'k',
      {.kind = Kind::kPlace, .noun = "school", .at = "at", .to = "to", .takes_article = false});
  const Id place = t.add_place('q'), elsewhere = t.add_place('_');
  t.tell({begin(Relation::kHabit, weekend, place), begin(Relation::kHabit, week, school)},
         {"On weekends {A} always went {to q}, but on weekdays {A.he} went {to k}.",
          "From Monday to Friday {A} went {to k}, and on weekends {A.he} went {to q}."});
  static constexpr std::string_view kWeek[] = {"Monday", "Tuesday", "Wednesday", "Thursday",
                                               "Friday"};
  static constexpr std::string_view kWeekend[] = {"Saturday", "Sunday"};
  const bool works = t.chance(0.5);
  t.add_word('y', works ? t.pick(kWeek) : t.pick(kWeekend));
  t.tell({"Soon it was {y}. {A} got up early and ate breakfast.",
          "Two days later, when {A} woke up, it was {y}.",
          "Then came {y}. \"Wake up, {A.name}! It is {y},\" said {M}."});
  t.ask(kLogic, "day of the week",
        object_is(Relation::kHabit, works ? week : weekend, works ? school : place,
                  {works ? place : school, elsewhere}),
        {go(hero, works ? school : place)},
        {"{A} put on {A.his} shoes and went| {to x}.", "So {A.he} took the bus| {to x}."});
  if (works)
    t.tell({"There {A.he} learned to write {A.his} name.", "The teacher read a poem to the class.",
            "In the first lesson they counted to one hundred."});
  else
    t.tell({"It was just as nice as last time.", "{A} stayed there for hours.",
            "What a fine day it was!"});
}

void who_is_home(Teller& t) {
  go_out(t);
  const Id hero = t['A'], grown_up = t['M'];
  struct Other {
    std::string_view noun;
    Pronoun pronoun;
  };
  static constexpr Other kOthers[] = {{"aunt", Pronoun::kShe},
                                      {"uncle", Pronoun::kHe},
                                      {"sister", Pronoun::kShe},
                                      {"brother", Pronoun::kHe},
                                      {"cousin", Pronoun::kHe}};
  const auto relative = [&](char letter, size_t which) {
    const Other& other = kOthers[which];
    return t.add(
        letter, {.kind = Kind::kPerson, .noun = std::string(other.noun), .pronoun = other.pronoun});
  };
  const size_t which = t.random().below(std::size(kOthers));
  const Id present = relative('P', which), absent = relative('Q', (which + 2) % 5);
  const Id work = t.add(
      'k', {.kind = Kind::kPlace, .noun = "work", .at = "at", .to = "to", .takes_article = false});
  t.tell({"{A} played there until noon.", "{A} had a good time and stayed until lunch.",
          "After an hour {A} was hungry."});
  t.tell(
      {go(grown_up, work), begin(Relation::kPlace, present, t.home())},
      {"That day {A.his} {M.noun} was not home, but {A.his} {P.noun} was at home.",
       "{A.his} {M.noun} had gone to work, but {A.his} {P.noun} had come to look after {A.him}."});
  t.ask(kLogic, "who is at home",
        subject_is(Relation::kPlace, t.home(), present, {grown_up, absent}), {go(hero, t.home())},
        {"When {A} came home, {A.he} said hello to {A.his}| {x.noun}.",
         "Back at home, {A} gave a big hug to {A.his}| {x.noun}."});
  t.tell({"They cooked noodles together.", "They had soup and told each other stories.",
          "They made a tower of pancakes."});
  t.tell({go(grown_up, t.home())},
         {"In the afternoon {M} came back from work.", "Later {M} came home, too."});
}

void dislike(Teller& t) {
  be_home(t);
  const Id hero = t['A'];
  const Id liked = t.add_thing('o', kSports), disliked = t.add_thing('p', kSports);
  t.tell({begin(Relation::kWish, hero, liked), begin(Relation::kDislike, hero, disliked)},
         {"{A} loved {o}, but {A.he} did not like {p} at all.",
          "{A} did not like {p}. What {A.he} really enjoyed was {o}.",
          "{A} thought that {p} was boring and that {o} was great."});
  t.tell({"{M} asked, \"What shall we do today?\"", "\"How about some {p}?\" asked {M}.",
          "{M} had time and wanted to do something with {A.him}."});
  t.ask(kLogic, "likes and dislikes",
        object_is(Relation::kWish, hero, liked, t.another_and(kSports, disliked)), {},
        {"\"Please, no {p}!\" said {A}. \"I would rather do some| {x}.\"",
         "{A} answered at once: \"Today I want to do some| {x}!\""});
  t.tell({"\"Good idea,\" said {M}, and off they went.",
          "So they did some {o}, and {M} was surprisingly good.",
          "{M} agreed, and they had a lot of fun."});
}

void last_piece(Teller& t) {
  const bool first = is_first_meeting(t);
  be_home(t);
  const Id hero = t['A'], companion = t['B'], grown_up = t['M'];
  static constexpr Noun kShared[] = {{"cake", Number::kMass},      {"pie", Number::kMass},
                                     {"chocolate", Number::kMass}, {"pizza", Number::kMass},
                                     {"bread", Number::kMass},     {"pudding", Number::kMass},
                                     {"cheese", Number::kMass},    {"watermelon", Number::kMass}};
  const Id cake = t.add_thing('o', kShared);
  if (t.world().place_of(companion) != t.home())
    t.tell({go(companion, t.home())},
           {first ? "{A's} friend {B.name} came to visit." : "{B} came to visit.",
            first ? "A friend called {B.name} came to play." : "{B} came over to play."});
  t.tell({begin(Relation::kHolder, cake, grown_up), begin(Relation::kWish, hero, cake),
          begin(Relation::kWish, companion, cake)},
         {"Both {A} and {B} wanted {o}, but {M} had only one piece of {o} left.",
          "There was one piece of {o} left, and both {A} and {B} wanted to have it."});
  t.tell({"\"Don't fight,\" said {M}. \"You can share.\"", "{M} had an idea and took a knife.",
          "\"What can we do?\" asked {B}. \"Cut it in half!\" said {M}."});
  t.tell({finish(Relation::kWish, hero, cake)},
         {"{M} cut the piece into two halves and gave the first half to {A}.",
          "{A} got one half of the {o}."});
  t.ask(kLogic, "sharing", subject_is(Relation::kWish, cake, companion, {hero, grown_up}),
        {give(grown_up, cake, companion), finish(Relation::kWish, companion, cake)},
        {"The other half was for| {x.name}.", "Then {M} gave the second half to| {x.name}."});
  t.tell({"Shared {o} tastes best.", "They ate slowly so that it would last longer.",
          "\"Thank you for sharing,\" said {B}."});
}

void baking(Teller& t) {
  be_home(t);
  const Id hero = t['A'], grown_up = t['M'];
  const Id dish = t.add_thing('o', kDishes), missing = t.add_thing('p', kIngredients),
           offered = t.add_thing('q', kIngredients);
  t.tell({begin(Relation::kWish, hero, missing)},
         {"{A} wanted to bake {a o}, but there {p.was} no {p} in the kitchen.",
          "{A} and {M} wanted to make {a o}. \"Oh no, we have no {p} left!\" said {M}."});
  const Id next_door =
      t.add('l', {.kind = Kind::kPlace, .noun = "house next door", .at = "at", .to = "to"});
  t.tell({go(hero, next_door)}, {"So {A} went {to l}.", "{A} ran {to l} to ask for help."});
  const Pronoun pronoun = t.chance(0.5) ? Pronoun::kHe : Pronoun::kShe;
  const Id neighbor = t.add_stranger('N', t.pick(kGrownUps), pronoun);
  t.entity(neighbor).pronoun = Pronoun::kThey;
  t.suppose(
      {begin(Relation::kHolder, offered, neighbor), begin(Relation::kHolder, missing, neighbor)});
  const std::vector<Id> wrong = t.another_and(kIngredients, offered);
  t.tell({"{a N} opened the door and asked, \"Do you want some {q}?\"",
          "{a N} lived there and was just putting some {q} into a bowl."});
  t.ask(kConsistency, "errand", object_is(Relation::kWish, hero, missing, wrong), {},
        {"\"Would you happen to have| {a x}?\" asked {A}.",
         "{A} said, \"Good day! We need| {a x}.\""});
  t.tell(
      {give(neighbor, missing, hero), go(hero, t.home()), finish(Relation::kWish, hero, missing)},
      {"\"Of course,\" said {N} and filled a cup. {A} thanked {N} and ran home.",
       "{N} was glad to help, and {A} carried the {p} home very carefully."});
  t.tell({use(hero, missing), make(hero, dish)},
         {"{A} stirred the dough and put {the o} into the oven.",
          "They mixed everything, and {A} baked {the o} in the oven."});
  t.ask(kConsistency, "what was baked",
        subject_is(Relation::kHolder, hero, dish, t.others(kDishes, 2)),
        {give(hero, dish, grown_up)},
        {"Soon it was ready, and {A} proudly gave {M}| {the x}.",
         "After an hour {A} put something hot on a plate for {M}:| {a x}."});
  t.tell({"It smelled wonderful.", "\"This is delicious!\" said {M}.",
          "Both of them ate until they were full."});
}

void learning(Teller& t) {
  go_out(t);
  const Id hero = t['A'], skill = t.add_thing('o', kSports);
  t.tell({begin(Relation::kWish, hero, skill)},
         {"{A} wanted to be good at {o}, but it was hard.",
          "{A} tried {o} for the first time and failed.",
          "Some older children were very good at {o}. {A} wanted to learn it, too."});
  t.tell({"{A} almost gave up.", "\"I will never learn it,\" {A} sighed.",
          "Some children laughed at {A.him}."});
  t.add_stranger('N', t.pick(kGrownUps), Pronoun::kThey);
  t.tell({"{a N} saw it and said, \"Don't give up! Practice a little every day.\"",
          "\"Every master was a beginner once,\" said {a N} who stood nearby."});
  t.tell({"So {A} practiced in the morning and in the evening.", "Day after day {A} tried again.",
          "{A} trained for weeks, even when it rained."});
  t.ask(kConsistency, "what was learned",
        object_is(Relation::kWish, hero, skill, t.others(kSports, 2)), {},
        {"In the end, {A} was really good at| {x}.",
         "One month later everybody was amazed at how good {A} was at| {x}."});
  t.tell({"{N} nodded and smiled.", "\"I knew you could do it!\" said {N}.",
          "Nobody laughed any more."});
}

}  // namespace

std::span<const Scene> scenes_at_home() {
  static constexpr Scene kScenes[] = {{"second choice", second_choice},
                                      {"weekdays", weekdays},
                                      {"who is home", who_is_home},
                                      {"dislike", dislike},
                                      {"last piece", last_piece},
                                      {"baking", baking},
                                      {"learning", learning}};
  return kScenes;
}

}  // namespace tessera::task::stories
