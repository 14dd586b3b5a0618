// Plots about who is where and who wants what.
#include "lab/task/stories/scenes.h"

namespace tessera::task::stories {
namespace {

void argument(Teller& t) {
  const bool first = is_first_meeting(t);
  const Id hero = t['A'], companion = t['B'];
  const Id one = t.add_place('k'), other = t.add_place('l');
  t.tell({begin(Relation::kWish, hero, one), begin(Relation::kWish, companion, other)},
         {first ? "{when}, {A} and {A.his} friend {B.name} had an argument. {A} liked {the k} "
                  "best, but {B} liked {the l} better."
                : "{when}, {A} and {B} had an argument. {A} liked {the k} best, but {B} liked {the "
                  "l} better.",
          first ? "{when}, {A} and a friend called {B.name} could not agree. {B} wanted to go {to "
                  "l}, and {A} wanted to go {to k}."
                : "{when}, {A} and {B} could not agree. {B} wanted to go {to l}, and {A} wanted to "
                  "go {to k}."});
  t.tell({"{B} said, \"I want to go {to l}!\"", "\"Let's go {to l},\" said {B}.",
          "\"I am only happy when we go {to l},\" said {B}."});
  const Id elsewhere = t.add_place('_');
  t.ask(kLogic, "argument", object_is(Relation::kWish, hero, one, {other, elsewhere}), {},
        {"{A} said, \"No, I want to go| {to x}!\"", "\"But I want to go| {to x},\" said {A}.",
         "{A} shook {A.his} head. \"It is much nicer to go| {to x},\" {A.he} said."});
  t.tell({"Then they had a good idea: why not both?", "\"We can do both,\" said {B} at last.",
          "They did not want to fight, so they made a plan."});
  const bool yield = t.chance(0.5);
  t.bind('q', yield ? other : one);
  t.tell({go(hero, t['q']), go(companion, t['q']),
          finish(Relation::kWish, yield ? companion : hero, t['q'])},
         {"First they went {to q} and played there.", "So they went {to q} first."});
  t.ask(kLogic, "in turn",
        object_is(Relation::kWish, yield ? hero : companion, yield ? one : other,
                  {yield ? other : one, elsewhere}),
        {go(hero, yield ? one : other), go(companion, yield ? one : other)},
        {"After that it was time for the other wish, and they went| {to x}.",
         "Later they went| {to x}, so that everybody was happy."});
}

void visit(Teller& t) {
  const bool first = is_first_meeting(t);
  const Id hero = t['A'], companion = t['B'];
  const Id place = t.add_place('l');
  if (t.world().place_of(hero) == t['b']) be_home(t);
  const Kind kind = t.entity(companion).kind;
  const Id mother =
      t.add('P', {.kind = kind, .name = {}, .noun = "mother", .pronoun = Pronoun::kShe});
  t.suppose({begin(Relation::kPlace, mother, t['b']), go(companion, place)});
  if (first)
    t.tell({go(hero, t['b'])},
           {"{when}, {A} went to visit {A.his} friend {B.name}.",
            "{when}, {A} wanted to play with {A.his} friend {B.name} and went to {b}."});
  else
    t.tell({go(hero, t['b'])},
           {"{when}, {A} went to visit {B}.", "{when}, {A} wanted to see {B} and walked to {b}."});
  t.tell({"{A} knocked on the door, and {B's} mother opened it.",
          "{A} rang the bell. {B's} mother came to the door."});
  t.tell({"\"{B.name} is not at home. {B.he} is {at l},\" she said.",
          "\"Hello, {A.name},\" she said. \"{B.name} has gone {to l}.\"",
          "She said, \"You will find {B.him} {at l}.\""});
  const Id wrong1 = t.add_place('_'), wrong2 = t.add_place('_');
  t.ask(kConsistency, "directions",
        object_is(Relation::kPlace, companion, place, {wrong1, wrong2, t['b']}), {go(hero, place)},
        {"{A} thanked her and ran| {to x}.", "So {A} went| {to x} to look for {B}.",
         "To find {B}, {A} walked| {to x}."});
  t.tell({"There was {B}! They played together all afternoon.",
          "\"There you are!\" {A} called, and {B} waved.", "{B} was very happy to see {A}."});
}

void have_you_seen(Teller& t) {
  const bool first = is_first_meeting(t);
  const Id hero = t['A'], companion = t['B'], third = t.add_friend('C');
  const Id square = t.add('l', {.kind = Kind::kPlace, .noun = "street", .at = "in", .to = "into"});
  const Id place = t.add_place('k');
  t.suppose({go(third, square), go(companion, place)});
  if (first)
    t.tell({go(hero, square)}, {"{when}, {A} was looking for {A.his} friend {B.name}. In the "
                                "street {A.he} met {C.name}."});
  else
    t.tell({go(hero, square)},
           {"{when}, {A} was looking for {B}. In the street {A.he} met {C.name}.",
            "{when}, {A} could not find {B} anywhere. Then {A.he} met {C.name} in the street."});
  t.tell({"\"Hi, {C.name}, have you seen {B.name}? I can't find {B.him} anywhere,\" said {A}.",
          "\"Hello, {C.name}! Do you know where {B.name} is?\" asked {A}."});
  t.tell({"\"Yes, {B.he} is {at k},\" said {C}.",
          "{C} nodded. \"I saw {B.him} {at k},\" {C.he} said."});
  const Id wrong1 = t.add_place('_'), wrong2 = t.add_place('_');
  t.ask(kConsistency, "directions", object_is(Relation::kPlace, companion, place, {wrong1, wrong2}),
        {go(hero, place)},
        {"\"Thank you!\" said {A} and hurried| {to x}.", "{A} said thank you and went| {to x}."});
  t.tell({"And really, there was {B}. They hugged.", "{B} was there and was glad to see {A.him}.",
          "\"I was waiting for you!\" said {B}."});
}

void hide_and_seek(Teller& t) {
  go_out_with_friend(t, Teller::Where::kOutdoors);
  const Id hero = t['A'], companion = t['B'];
  const Id spot = t.add_spot('s', hero), empty = t.add_spot('u', hero),
           other = t.add_spot('_', hero);
  t.tell({"They played hide and seek.", "\"Let's play hide and seek!\" said {B}."});
  t.tell({begin(Relation::kHolder, companion, spot)},
         {"{A} closed {A.his} eyes and counted to ten, and {B} hid {at s}.",
          "{A} counted. Quickly, {B} hid {at s}.", "{B} went to hide {at s} while {A} counted."});
  t.tell({"\"Ready or not, here I come!\" called {A}.", "\"Where can {B.he} be?\" {A} wondered."});
  t.tell({"First {A} looked {at u}, but nobody was there.",
          "{A} searched {at u}. It was the wrong place."});
  t.ask(kConsistency, "hide and seek",
        object_is(Relation::kHolder, companion, spot, {empty, other}),
        {finish(Relation::kHolder, companion, spot)},
        {"Then {A} heard a giggle and found {B}| {at x}.", "At last {A} saw {B}| {at x}."});
  t.tell({"\"Found you!\" {A} laughed. Now it was {B's} turn to seek.",
          "\"You are so good at this game,\" said {B}.", "They both laughed and played again."});
}

void two_pets(Teller& t) {
  go_out(t);
  const Id hero = t['A'];
  const std::string_view kind = t.chance(0.5) ? "dog" : t.chance(0.5) ? "cat" : "rabbit";
  static constexpr std::string_view kFur[] = {"white", "black",  "brown",
                                              "gray",  "golden", "spotted"};
  const std::string_view first_color = t.pick(kFur);
  const std::vector<Id> wrong_colors = t.others(kFur, 3, first_color);
  const Id one = t.add_word('v', first_color), other = wrong_colors[0], third = wrong_colors[1];
  t.bind('w', other);
  t.bind('y', third);
  const auto pet = [&](char letter, Id color) {
    const Id id = t.add(letter, {.kind = Kind::kThing, .noun = std::string(kind)});
    t.suppose({begin(Relation::kColor, id, color), begin(Relation::kOwner, id, hero)});
    return id;
  };
  pet('o', one);
  const Id second = pet('p', other);
  t.tell({"{A} had two pets at home, {a v} {o} and {a w} {o}.",
          "At home {A} had {a v} {o}. {A.he} also had {a w} {o}."});
  meet_third(t);
  t.tell({"There {A} met {C.name}, {a C} with {a y} {o}.",
          "{a C} called {C.name} was there with {a y} {o}."});
  t.tell({"{A} said, \"Your {o} is {y}. I have {a v} one.\"",
          "\"What a sweet {y} {o}!\" said {A}. \"One of mine is {v}.\""});
  t.ask(kConsistency, "colors",
        object_is(Relation::kColor, second, other, {one, third, wrong_colors[2]}), {},
        {"\"And my other {o} is| {x},\" {A.he} went on.",
         "\"Do you have only one?\" asked {C}. \"No,\" said {A}, \"the other one is| {x}.\""});
  t.tell({"\"I would love to see them,\" said {C}.",
          "\"Maybe they can all play together,\" said {C}.",
          "They talked about their pets until it was time to go."});
}

void introduction(Teller& t) {
  go_out_with_friend(t);
  const Id hero = t['A'], companion = t['B'], third = meet_third(t);
  t.suppose({begin(Relation::kCompany, hero, companion)});
  t.add_word('w', t.pick(kColors));
  t.tell({"They met {a C} in {a w} coat.", "{a C} with {a w} hat walked up to them.",
          "On a bench sat {a C} in {a w} sweater."});
  t.tell({"\"Hi, I'm {C.name}. What are your names?\" said the {C.noun}.",
          "The {C.noun} said, \"My name is {C.name}. Who are you?\""});
  t.ask(kConsistency, "names",
        object_is(Relation::kCompany, hero, companion, {third, t.add_friend('_')}), {},
        {"{A} answered, \"I'm {A.name}, and this is| {x.name}.\"",
         "\"My name is {A.name},\" said {A}, \"and my friend's name is| {x.name}.\""});
  t.tell({"Soon all three were playing together.", "\"Nice to meet you!\" said {C}.",
          "{C} showed them a new game."});
}

void race(Teller& t) {
  go_out_with_friend(t, Teller::Where::kOutdoors);
  const Id hero = t['A'], companion = t['B'], third = meet_third(t);
  t.tell({"{C.name} was there, too. \"Let's have a race!\" {C.he} said.",
          "There was a race that day, and {C.name} wanted to run against them."});
  const Id order[3] = {hero, companion, third};
  const size_t winner = t.random().below(3);
  t.bind('X', order[winner]);
  t.bind('Y', order[(winner + 1) % 3]);
  t.bind('Z', order[(winner + 2) % 3]);
  t.tell({"\"Ready, steady, go!\" They all ran as fast as they could.", "They ran like the wind.",
          "Dust flew up behind their feet."});
  const Id rank = t.add_word('w', "first");
  t.tell({begin(Relation::kRank, t['X'], rank)},
         {"{X} was the fastest and came first. {Y} came second, and {Z} was last.",
          "{Y} was fast, but {X} was even faster and reached the tree before everybody else. {Z} "
          "came last.",
          "{Z} stumbled over a root, {Y} got tired, and {X} reached the end first."});
  t.ask(kLogic, "winner", subject_is(Relation::kRank, rank, t['X'], {t['Y'], t['Z']}), {},
        {"So the winner was| {x.name}.", "The golden medal went to| {x.name}.",
         "Everybody clapped for the winner,| {x.name}."});
  t.tell({"\"It was fun, even without a medal,\" said {Z}.", "The others shook {X's} hand.",
          "Then they all shared a bottle of water and rested in the shade."});
}

}  // namespace

std::span<const Scene> scenes_of_friends() {
  static constexpr Scene kScenes[] = {{"argument", argument},
                                      {"visit", visit},
                                      {"have you seen", have_you_seen},
                                      {"hide and seek", hide_and_seek},
                                      {"two pets", two_pets},
                                      {"introduction", introduction},
                                      {"race", race}};
  return kScenes;
}

}  // namespace tessera::task::stories
