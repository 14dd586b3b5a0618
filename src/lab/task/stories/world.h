#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace tessera::task::stories {

/// Somebody or something of a story, by its place in Story::entities.
using Id = int32_t;
inline constexpr Id kNothing = -1;

enum class Kind { kPerson, kAnimal, kThing, kPlace, kSpot, kWord };

/// "a ball", "some cookies", "some milk".
enum class Number { kOne, kMany, kMass };

enum class Pronoun { kHe, kShe, kIt, kThey };

/// What a story speaks of. A spot is a place for things: "under the bed", "in the bag". A word is
/// anything else that a question can ask for: a feeling, a color, a fact.
struct Entity {
  Kind kind = Kind::kThing;
  std::string name = {};         ///< "Lily", "Mom"; empty for what a noun describes
  std::string adjective = {};    ///< "red", "little"; may be empty
  std::string noun = {};         ///< "ball", "rabbit", "park"
  std::string at = {}, to = {};  ///< of places and spots: "in", "into"
  Number number = Number::kOne;
  Pronoun pronoun = Pronoun::kIt;
  bool takes_article = true;  ///< "the park", but "school"
  bool outdoors = false;      ///< of a place

  bool is_character() const { return kind == Kind::kPerson || kind == Kind::kAnimal; }
};

/// What can be true between two entities. A character is at one place, a thing is in one place and
/// has one owner; the others may hold of several.
enum class Relation {
  kPlace,    ///< where a character is; the place that a spot is in
  kHolder,   ///< who has a thing, or the spot or place where it is
  kOwner,    ///< whose it is
  kColor,    ///< of a thing
  kFeeling,  ///< of a character
  kWish,     ///< what a character would like to have or do
  kDislike,  ///< what a character does not want
  kPromise,  ///< what a character has promised to give
  kHabit,    ///< where one goes on such a day
  kCompany,  ///< who has come along with a character
  kRank,     ///< which place somebody took in a race
  kFact,     ///< of nature: what an animal eats, what rain asks for
};

enum class Act {
  kGo,      ///< who goes to a place, with all that they hold
  kTake,    ///< who takes a thing that is where they are
  kPut,     ///< who puts a thing that they hold to a spot or place where they are
  kGive,    ///< who gives a thing that they hold to somebody at the same place
  kUse,     ///< who eats or uses up a thing that they hold
  kMake,    ///< who makes a thing that was not there before, and holds it
  kBegin,   ///< relation(who, to) is true from now on
  kFinish,  ///< relation(who, to) is not true any more
};

struct Event {
  Act act;
  Id who = kNothing;
  Id thing = kNothing;
  Id to = kNothing;
  Relation relation = Relation::kPlace;  ///< of kBegin and kFinish
};

inline Event go(Id who, Id place) {
  return {.act = Act::kGo, .who = who, .to = place};
}
inline Event take(Id who, Id thing) {
  return {.act = Act::kTake, .who = who, .thing = thing};
}
inline Event put(Id who, Id thing, Id where) {
  return {.act = Act::kPut, .who = who, .thing = thing, .to = where};
}
inline Event give(Id who, Id thing, Id receiver) {
  return {.act = Act::kGive, .who = who, .thing = thing, .to = receiver};
}
inline Event use(Id who, Id thing) {
  return {.act = Act::kUse, .who = who, .thing = thing};
}
inline Event make(Id who, Id thing) {
  return {.act = Act::kMake, .who = who, .thing = thing};
}
inline Event begin(Relation relation, Id who, Id what) {
  return {.act = Act::kBegin, .who = who, .to = what, .relation = relation};
}
inline Event finish(Relation relation, Id who, Id what) {
  return {.act = Act::kFinish, .who = who, .to = what, .relation = relation};
}

/// What is true at a moment of a story.
class World {
 public:
  bool holds(Relation relation, Id subject, Id object) const;
  /// Of a relation with one object; kNothing where there is none.
  Id object(Relation relation, Id subject) const;
  /// Where a thing is in the end: the place of its holder, or of the spot that it is in.
  Id place_of(Id thing_or_character) const;

  /// Throws std::logic_error, and changes nothing, where the event cannot happen.
  void apply(const Event& event);

 private:
  void set(Relation relation, Id subject, Id object);

  std::map<std::pair<Relation, Id>, std::set<Id>> objects_;
};

}  // namespace tessera::task::stories
