#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "lab/task/sequence/draws.h"
#include "lab/task/stories/lexicon_nature.h"
#include "lab/task/stories/lexicon_people.h"
#include "lab/task/stories/lexicon_things.h"
#include "lab/task/stories/story.h"

namespace tessera::task::stories {

/// Ways to say the same; one is drawn. Parts in braces stand for the entities that the plot has
/// bound to letters:
///
///     {A}            by name, or as "the rabbit"; first in a sentence perhaps as "she"
///     {A's}          Lily's, the rabbit's; first in a sentence perhaps her
///     {A.he}         he, him, his, himself, was, is: in the forms of the entity
///     {A.noun}       girl, rabbit, mom
///     {o} {the o} {a o}   ball; the ball; a red ball, some milk
///     {at l} {to l}  in the park; to the park
///     {when}         One day; Later that day
///
/// In what is asked, `|` ends the prompt, and {x} is the answer.
using Phrases = std::initializer_list<std::string_view>;
using Events = std::initializer_list<Event>;

/// Tells one story: keeps its entities and its world, and turns phrases into sentences. The letters
/// A, B, M stand for hero, friend and grown-up at home throughout.
class Teller : public Draws {
 public:
  explicit Teller(RandomStream random);

  // Entities, each bound to a letter.
  Id bind(char letter, Id id);
  Id add(char letter, Entity entity);
  /// A child, or an animal where the hero is one, with a name of its own. The hero is at home; any
  /// other one in a house of its own, which the small letter stands for.
  Id add_friend(char letter);
  /// Somebody without a name: "the old man". Begins where the hero is.
  Id add_stranger(char letter, std::string_view noun, Pronoun pronoun);
  /// A thing with a noun that the story has not had, perhaps with an adjective.
  Id add_thing(char letter, Nouns nouns);
  /// The same for a thing that the hero holds and owns.
  Id add_possession(char letter, Nouns nouns);
  enum class Where { kAnywhere, kOutdoors };
  Id add_place(char letter, Where where = Where::kAnywhere);
  /// A spot in the place where somebody is.
  Id add_spot(char letter, Id somebody);
  /// A container that somebody carries.
  Id add_container(char letter, Id carrier);
  Id add_word(char letter, std::string_view text);
  /// Other nouns of the table, as wrong answers.
  std::vector<Id> others(Nouns nouns, size_t count);
  std::vector<Id> others(Words words, size_t count, std::string_view but);
  /// One other noun, and something that the story has told of, as wrong answers.
  std::vector<Id> another_and(Nouns nouns, Id told);

  /// kNothing where the letter is not bound.
  Id operator[](char letter) const { return letters_[static_cast<size_t>(letter)]; }
  Entity& entity(Id id) { return story_.entities.at(id); }
  const World& world() const { return world_; }
  Story& story() { return story_; }
  Id home() const { return home_; }
  bool hero_is_animal() { return entity((*this)['A']).kind == Kind::kAnimal; }

  // Telling.
  void tell(Phrases phrases) { tell({}, phrases); }
  void tell(Events events, Phrases phrases);
  /// What is so, or happens, untold.
  void suppose(Events events);
  /// Tells it, and makes a question of it: checked before the events.
  void ask(QuestionKind kind, std::string_view skill, const Claim& claim, Events events,
           Phrases phrases);
  void paragraph();
  void set_when(std::string_view when) { when_ = when; }

  Story finish() { return std::move(story_); }

 private:
  /// A place or spot with a noun that the story has not had.
  Id add_drawn(char letter, Kind kind, Places rows, Where where = Where::kAnywhere);
  const Noun& draw_noun(Nouns nouns);
  bool has_noun(std::string_view noun) const;
  bool has_initial_of(std::string_view name) const;
  void add_sentence(std::string text, size_t first_event);
  void fill(std::string_view phrase, bool plain, std::string& sentence);
  std::string slot(std::string_view slot, bool plain);
  std::string reference(Id id);
  std::string words_of(const Entity& entity, bool with_adjective) const;
  Id first_named(std::string_view phrase) const;
  bool may_be_pronoun(Id first) const;

  Story story_;
  World world_;
  std::array<Id, 128> letters_;
  Id home_ = kNothing;
  std::string when_;
  bool new_paragraph_ = false;
  Id subject_ = kNothing;          // of the sentence before
  Id first_named_ = kNothing;      // of this sentence
  std::vector<Id> mentioned_;      // characters of the sentence before
  std::vector<Id> now_mentioned_;  // of this one
};

}  // namespace tessera::task::stories
