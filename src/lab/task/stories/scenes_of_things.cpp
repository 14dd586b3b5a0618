// Plots about things: lost, traded, carried, given, broken.
#include "lab/task/stories/scenes.h"

namespace tessera::task::stories {
namespace {

void color(Teller& t, Id thing) {
  if (t.chance(0.8))
    t.entity(thing).adjective = t.pick(t.chance(0.5) ? Words(kColors) : kQualities);
}

void lost_toy(Teller& t) {
  go_out(t, Teller::Where::kOutdoors);
  const Id hero = t['A'], toy = t.add_possession('o', kToys), spot = t.add_spot('s', hero);
  color(t, toy);
  t.tell({"{A} had brought {a o}.", "{A} had {a o} and took it everywhere.",
          "{A} carried {a o} under {A.his} arm.", "In {A.his} hands {A} held {a o}."});
  t.tell({"{A} played with {the o} for a long time.", "It was fun to play with {the o}.",
          "{A} showed {the o} to the birds and laughed."});
  t.tell({put(hero, toy, spot)}, {"Then {A} put {the o} {to s} and ran off to chase a butterfly.",
                                  "When {A} was tired, {A.he} laid {the o} {to s} to have a rest.",
                                  "{A} wanted to climb, so {A.he} put {the o} {to s} first."});
  t.add_word('w', t.pick(kSadFeelings));
  t.tell({begin(Relation::kFeeling, hero, t['w'])},
         {"Later {A} looked for {the o}, but {A.he} could not find it. {A.he} was {w}.",
          "An hour later {A} wanted to play again. Where was {the o}? {A} felt {w}.",
          "\"Oh no! Where is my {o}?\" cried {A}. {A.he} was very {w}."});
  const Id wrong1 = t.add_spot('_', hero), wrong2 = t.add_spot('_', hero);
  t.ask(kConsistency, "where it was left",
        object_is(Relation::kHolder, toy, spot, {wrong1, wrong2}), {},
        {"Then {A} remembered. The {o} was still| {at x}.",
         "{A} thought hard. Yes! {A.he} had left {the o}| {at x}.",
         "A little bird helped to look, and soon they saw the {o}| {at x}."});
  t.tell({take(hero, toy)}, {"{A} picked up {the o} and hugged it.",
                             "{A} took {the o} and promised to be more careful.",
                             "With a big smile {A} took {the o} back."});
}

void trade(Teller& t) {
  go_out_with_friend(t);
  const Id hero = t['A'], companion = t['B'];
  const bool toys_traded = t.chance(0.5);
  const Nouns table = toys_traded ? Nouns(kToys) : kFruits;
  const Id own = t.add_possession('o', table), other = t.add_thing('p', table);
  t.suppose(
      {begin(Relation::kHolder, other, companion), begin(Relation::kOwner, other, companion)});
  if (toys_traded)
    t.tell({"{A} had {a o} and {B} had {a p}. They liked each other's toys.",
            "{B} was playing with {a p}, and {A} was playing with {a o}."});
  else
    t.tell({"They were hungry. {A} had {a o} and {B} had {a p}.",
            "It was time for a snack. {B} unpacked {a p}, and {A} unpacked {a o}."});
  t.tell({begin(Relation::kPromise, hero, own)},
         {"{A} told {B}, \"If you give me your {p}, I will give you my {o}.\"",
          "\"If you give me your {p}, I will give you my {o},\" said {A}.",
          "{A} had an idea. \"Give me your {p}, and you will get my {o},\" {A.he} said."});
  t.tell({give(companion, other, hero)},
         {"{B} gave {A} {B.his} {p}.", "\"All right,\" said {B} and gave {A} {B.his} {p}.",
          "{B} nodded and handed {the p} to {A}."});
  t.ask(kLogic, "trade", object_is(Relation::kPromise, hero, own, t.another_and(table, other)),
        {give(hero, own, companion), finish(Relation::kPromise, hero, own)},
        {"So {A} gave {B}| {the x}.", "{A} kept {A.his} promise and gave {B}| {the x}.",
         "In return {B} got| {the x}."});
  t.tell({"Both of them were happy with the trade.",
          "\"Thank you!\" they both said at the same time.",
          "It was a fair trade, and the two friends laughed."});
}

void two_in_a_bag(Teller& t) {
  go_out_with_friend(t);
  const Id hero = t['A'], companion = t['B'], bag = t.add_container('k', hero);
  const bool eat = t.chance(0.6);
  const Nouns table = !eat ? Nouns(kTreasures) : t.chance(0.5) ? Nouns(kFruits) : kVegetables;
  const Id first = t.add_thing('o', table), second = t.add_thing('p', table);
  t.suppose({begin(Relation::kHolder, first, bag), begin(Relation::kHolder, second, bag)});
  t.tell({"{A} had both {a o} and {a p} in {A.his} {k}.",
          "There was {a o} in {A's} {k}, and {a p}, too.",
          "In {A.his} {k} {A} carried {a o} and {a p}."});
  t.tell({take(hero, first), give(hero, first, companion)},
         {"{A} took {the o} out of the {k} and gave {o.him} to {B}.",
          "{A} pulled {the o} out of the {k}. \"This is for you, {B.name},\" {A.he} said.",
          "First {A} took out {the o} and handed {o.him} to {B}."});
  t.tell(
      {"{B} thanked {A.him}.", "\"How nice of you!\" said {B}.", "{B} smiled and said thank you."});
  t.ask(kConsistency, "what is left",
        subject_is(Relation::kHolder, bag, second, t.another_and(table, first)),
        {take(hero, second)},
        {"Then {A} reached into the {k} again and took out| {the x}.",
         "After that, {A} looked into the {k} again. All that was left was| {the x}, and {A.he} "
         "took {p.him} out."});
  if (eat)
    t.tell({use(hero, second), use(companion, first)},
           {"They ate together in the sun.", "They sat down and ate.",
            "Side by side they ate until nothing was left."});
  else
    t.tell({"They looked at both things for a long time.",
            "\"We are rich!\" said {B}, and they giggled."});
}

void two_pockets(Teller& t) {
  be_home(t);
  const Id hero = t['A'];
  const auto pocket = [&](char letter, const char* noun) {
    const Id id = t.add(letter, {.kind = Kind::kSpot, .noun = noun, .at = "in", .to = "into"});
    t.suppose({begin(Relation::kHolder, id, hero)});
    return id;
  };
  const Id left = pocket('s', "left pocket"), right = pocket('u', "right pocket");
  const Nouns table = t.chance(0.5) ? Nouns(kTreasures) : kSweets;
  const Id one = t.add_thing('o', table), other = t.add_thing('p', table);
  t.suppose({begin(Relation::kHolder, one, left), begin(Relation::kHolder, other, right)});
  t.tell({"{A} had {a o} in {A.his} {s} and {a p} in {A.his} {u}.",
          "In {A.his} {s} {A} carried {a o}, and in {A.his} {u} {A.he} carried {a p}.",
          "{A} had hidden {a o} in {A.his} {s} and {a p} in {A.his} {u}."});
  const bool ask_left = t.chance(0.5);
  t.bind('q', ask_left ? left : right);
  t.tell({"{M} asked, \"{A.name}, what is that in your {q}?\"",
          "\"What do you have in your {q}?\" asked {M}.",
          "{M} wanted to know what was in {A.his} {q}."});
  t.ask(kConsistency, "which pocket",
        subject_is(Relation::kHolder, t['q'], ask_left ? one : other,
                   t.another_and(table, ask_left ? other : one)),
        {},
        {"{A} answered, \"In my {q} I have| {a x}.\"",
         "{A} reached into {A.his} {q} and took out| {the x}, but put {x.him} back at once.",
         "\"That is| {a x},\" said {A}."});
  t.tell({"{M} laughed. \"What a good pocket you have!\"", "\"Keep it safe,\" said {M}.",
          "{M} smiled and patted {A.his} head.", "{M} was surprised and laughed."});
}

void birthday(Teller& t) {
  const bool first = is_first_meeting(t);
  be_home(t);
  const Id hero = t['A'], companion = t['B'], gift = t.add_possession('o', kGifts);
  color(t, gift);
  t.tell({first ? "It was the birthday of {A's} friend {B.name}." : "It was {B's} birthday.",
          first ? "{A's} best friend {B.name} had a birthday party that day."
                : "That day {B} had a birthday party."});
  t.tell({"{A} had chosen {a o} for {B.him}.", "{A} had {a o} as a present for {B.him}.",
          "{A} had bought {a o} for {B.him}."});
  const Id box = t.add_container('k', hero);
  t.entity(box).noun = "box";
  t.tell({put(hero, gift, box)}, {"{A} put {the o} into a box and tied a ribbon around it.",
                                  "{A} put {the o} into a box and wrapped it in silver paper.",
                                  "{M} helped {A.him} to put {the o} into a big box."});
  if (t.world().place_of(companion) != t['b']) t.suppose({go(companion, t['b'])});
  t.tell({go(hero, t['b']), give(hero, box, companion)},
         {"Then {A} walked to {b} and gave {B} the box. \"Happy birthday!\" {A.he} said.",
          "{A} went to {b}, where many guests were singing, and gave {B} the box."});
  t.ask(kConsistency, "what is in the box",
        subject_is(Relation::kHolder, box, gift, t.others(kGifts, 2)), {take(companion, gift)},
        {"{B} opened the box and found| {a x}.", "Inside the box {B} found| {a x}.",
         "{B} tore off the paper. In the box there was| {a x}."});
  t.tell({"\"I love it! Thank you!\" said {B}.", "{B} hugged {A}. It was the best present of all.",
          "They ate cake and danced until the evening."});
}

void broken_thing(Teller& t) {
  be_home(t);
  const Id hero = t['A'];
  static constexpr Noun kFragile[] = {{"vase"},          {"lamp"},       {"cup"},       {"plate"},
                                      {"clock"},         {"bowl"},       {"mirror"},    {"teapot"},
                                      {"picture frame"}, {"flower pot"}, {"glass jar"}, {"jug"}};
  const Id thing = t.add_thing('o', kFragile), grown_up = t['M'];
  color(t, thing);
  t.suppose({begin(Relation::kHolder, thing, t.home()), begin(Relation::kOwner, thing, grown_up)});
  t.tell({"{M} had {a o}. It stood on the shelf.",
          "There was {a o} on the table. It belonged to {M}."});
  t.tell({"{A} ran through the room and bumped into it. Crash! {The o} broke.",
          "{A} was jumping around and knocked it over. It fell down and broke.",
          "{A} threw a pillow, and {the o} fell and broke into pieces."});
  t.add_word('w', t.pick(kSadFeelings));
  t.tell({begin(Relation::kFeeling, hero, t['w'])},
         {"{A} was {w}. Should {A.he} hide the pieces?", "{A} felt {w} and wanted to run away."});
  t.tell({"But {A} wanted to be honest.", "Then {A} took a deep breath."});
  t.ask(kConsistency, "what was broken",
        subject_is(Relation::kOwner, grown_up, thing, t.others(kFragile, 2)), {},
        {"\"I am sorry, {M.name},\" said {A}. \"I broke your| {x}.\"",
         "{A} went to {M} and said, \"It was me. I broke your| {x}.\""});
  t.tell({"{M} was not angry. \"Thank you for telling me the truth,\" {M.he} said.",
          "\"It takes courage to tell the truth,\" said {M} and hugged {A.him}."});
  t.tell({take(hero, thing)},
         {"Together they glued it, and soon it looked almost like new.",
          "{A} gathered the pieces, and {M} brought the glue. They mended it together."});
  t.suppose({put(hero, thing, t.home())});
}

void found_thing(Teller& t) {
  go_out_with_friend(t, Teller::Where::kOutdoors);
  const Id hero = t['A'], companion = t['B'], third = meet_third(t);
  const Id thing = t.add_thing('o', kTreasures), spot = t.add_spot('s', hero);
  color(t, thing);
  t.suppose({begin(Relation::kHolder, thing, spot), begin(Relation::kOwner, thing, third)});
  t.tell({"{a C} named {C.name} sat there and cried. \"I have lost my {o},\" {C.he} said.",
          "They met {C.name}, who looked sad. \"I had {a o}, but I lost it,\" said {C}."});
  t.tell({"{A} and {B} wanted to help.", "\"Don't cry,\" said {B}. \"We will help you.\"",
          "\"We will find it,\" {A} promised."});
  t.tell({"They looked everywhere.", "{B} searched on the left side and {A} on the right side.",
          "They searched for a long time."});
  t.tell({take(hero, thing)},
         {"At last {A} saw something {at s}. It was {the o}!",
          "Then something glittered {at s}. {A} bent down and picked up {the o}."});
  t.ask(kLogic, "whose it is", object_is(Relation::kOwner, thing, third, {companion, hero}),
        {give(hero, thing, third)},
        {"{A} knew whose it was and gave it back to| {x.name}.",
         "At once {A} ran to give {the o} to its owner,| {x.name}."});
  t.tell({"\"You are my heroes!\" said {C}.", "{C} jumped for joy and thanked them both.",
          "\"Thank you so much!\" {C} shouted."});
}

void shopping(Teller& t) {
  be_home(t);
  const Id hero = t['A'];
  const Nouns table = t.chance(0.5) ? Nouns(kIngredients) : kVegetables;
  const Id first = t.add_thing('o', table), second = t.add_thing('p', table);
  t.tell({begin(Relation::kWish, hero, first), begin(Relation::kWish, hero, second)},
         {"{M} gave {A.him} some money to buy {a o} and {a p}.",
          "\"Please buy {a o} and {a p},\" said {M}.",
          "They needed {a o} and {a p} for dinner, so {M} sent {A.him} to the store."});
  const Id store =
      t.add('l', {.kind = Kind::kPlace, .noun = "grocery store", .at = "in", .to = "to"});
  t.tell({go(hero, store)},
         {"{A} took the money and went {to l}.", "{A} walked {to l} all alone."});
  t.tell({make(hero, first), finish(Relation::kWish, hero, first)},
         {"First {A.he} found {the o} and put {o.him} into the cart.",
          "Next to the door {A.he} found {the o}."});
  t.ask(kLogic, "what is missing",
        object_is(Relation::kWish, hero, second, t.another_and(table, first)),
        {make(hero, second), finish(Relation::kWish, hero, second)},
        {"Now {A} only had to find| {the x}.",
         "The only thing still missing was| {the x}, and {A.he} found {p.him} quickly.",
         "\"What else do I need?\" {A} thought. \"Oh yes,| {the x}!\""});
  const Id grown_up = t['M'];
  t.tell({go(hero, t.home()), give(hero, first, grown_up), give(hero, second, grown_up)},
         {"{A} paid, went home and gave everything to {M}.",
          "Proudly {A} carried everything home to {M}."});
  t.tell(
      {"\"Well done!\" said {M}.", "{M} was proud of {A.him}.", "{M} cooked a delicious dinner."});
}

}  // namespace

std::span<const Scene> scenes_of_things() {
  static constexpr Scene kScenes[] = {{"lost toy", lost_toy},       {"trade", trade},
                                      {"bag", two_in_a_bag},        {"pockets", two_pockets},
                                      {"birthday", birthday},       {"broken thing", broken_thing},
                                      {"found thing", found_thing}, {"shopping", shopping}};
  return kScenes;
}

}  // namespace tessera::task::stories
