// Who and what a story is about: the entities of a teller.
#include <algorithm>
#include <utility>

#include "lab/task/stories/grammar.h"
#include "lab/task/stories/teller.h"

namespace tessera::task::stories {

Teller::Teller(RandomStream random) : Draws(random) {
  letters_.fill(kNothing);
  home_ = add('h',
              {.kind = Kind::kPlace, .noun = "home", .at = "at", .to = "", .takes_article = false});
}

Id Teller::bind(char letter, Id id) {
  return letters_[static_cast<size_t>(letter)] = id;
}

Id Teller::add(char letter, Entity entity) {
  story_.entities.push_back(std::move(entity));
  return bind(letter, static_cast<Id>(story_.entities.size()) - 1);
}

bool Teller::has_noun(std::string_view noun) const {
  return std::any_of(story_.entities.begin(), story_.entities.end(), [&](const Entity& entity) {
    return entity.noun == noun || entity.noun.ends_with(" " + std::string(noun));
  });
}

bool Teller::has_initial_of(std::string_view name) const {
  return std::any_of(story_.entities.begin(), story_.entities.end(), [&](const Entity& entity) {
    return !entity.name.empty() && entity.name.front() == name.front();
  });
}

Id Teller::add_friend(char letter) {
  static constexpr std::string_view kSpecies[] = {
      "rabbit", "fox",      "bear",  "mouse",  "squirrel", "hedgehog", "duck",   "frog",  "cat",
      "dog",    "elephant", "lion",  "monkey", "turtle",   "penguin",  "kitten", "puppy", "lamb",
      "owl",    "raccoon",  "panda", "tiger",  "goat",     "beaver",   "koala",  "otter"};
  const bool she = chance(0.5);
  const bool animal = letter == 'A' ? chance(0.2) : hero_is_animal();
  std::string_view name, noun = she ? "girl" : "boy";
  do name = pick(animal ? Words(kAnimalNames) : she ? Words(kGirls) : kBoys);
  while (has_initial_of(name));
  while (animal && (noun == "girl" || noun == "boy" || has_noun(noun))) noun = pick(kSpecies);
  const char house = static_cast<char>(letter | 0x20);
  const Id place = letter == 'A' ? home_
                                 : add(house, {.kind = Kind::kPlace,
                                               .noun = possessive(name) + " house",
                                               .at = "at",
                                               .to = "to",
                                               .takes_article = false});
  const Id id = add(letter, {.kind = animal ? Kind::kAnimal : Kind::kPerson,
                             .name = std::string(name),
                             .noun = std::string(noun),
                             .pronoun = she ? Pronoun::kShe : Pronoun::kHe});
  suppose({begin(Relation::kPlace, id, place)});
  return id;
}

Id Teller::add_stranger(char letter, std::string_view noun, Pronoun pronoun) {
  const Id id = add(letter, {.kind = pronoun == Pronoun::kIt ? Kind::kAnimal : Kind::kPerson,
                             .noun = std::string(noun),
                             .pronoun = pronoun});
  suppose({begin(Relation::kPlace, id, world_.place_of((*this)['A']))});
  return id;
}

const Noun& Teller::draw_noun(Nouns nouns) {
  for (int tries = 0;; ++tries) {
    const Noun& noun = pick(nouns);
    if (!has_noun(noun.word) || tries == 1000) return noun;
  }
}

Id Teller::add_thing(char letter, Nouns nouns) {
  const Noun& noun = draw_noun(nouns);
  return add(letter, {.noun = std::string(noun.word),
                      .number = noun.number,
                      .pronoun = noun.number == Number::kMany ? Pronoun::kThey : Pronoun::kIt});
}

Id Teller::add_possession(char letter, Nouns nouns) {
  const Id id = add_thing(letter, nouns);
  const Id hero = (*this)['A'];
  suppose({begin(Relation::kHolder, id, hero), begin(Relation::kOwner, id, hero)});
  return id;
}

Id Teller::add_drawn(char letter, Kind kind, Places rows, Where where) {
  const PlaceRow* row = nullptr;
  do row = &pick(rows);
  while (has_noun(row->noun) || (where == Where::kOutdoors && !row->outdoors));
  return add(letter, {.kind = kind,
                      .noun = std::string(row->noun),
                      .at = std::string(row->at),
                      .to = std::string(row->to),
                      .outdoors = kind == Kind::kPlace && row->outdoors});
}

Id Teller::add_place(char letter, Where where) {
  return add_drawn(letter, Kind::kPlace, kOutings, where);
}

Id Teller::add_spot(char letter, Id somebody) {
  const Id place = world_.place_of(somebody);
  const Id id =
      add_drawn(letter, Kind::kSpot, entity(place).outdoors ? Places(kOutdoorSpots) : kIndoorSpots);
  suppose({begin(Relation::kPlace, id, place)});
  return id;
}

Id Teller::add_container(char letter, Id carrier) {
  const Id id = add_drawn(letter, Kind::kSpot, kContainers);
  suppose({begin(Relation::kHolder, id, carrier)});
  return id;
}

Id Teller::add_word(char letter, std::string_view text) {
  return add(letter, {.kind = Kind::kWord, .noun = std::string(text)});
}

std::vector<Id> Teller::others(Nouns nouns, size_t count) {
  std::vector<Id> ids;
  while (ids.size() < count) ids.push_back(add_thing('_', nouns));
  return ids;
}

std::vector<Id> Teller::another_and(Nouns nouns, Id told) {
  return {add_thing('_', nouns), told};
}

std::vector<Id> Teller::others(Words words, size_t count, std::string_view but) {
  std::vector<Id> ids;
  std::vector<std::string_view> taken = {but};
  while (ids.size() < count) {
    const std::string_view word = pick(words);
    if (std::find(taken.begin(), taken.end(), word) != taken.end()) continue;
    taken.push_back(word);
    ids.push_back(add_word('_', word));
  }
  return ids;
}

}  // namespace tessera::task::stories
