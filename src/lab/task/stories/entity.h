#pragma once

#include <cstdint>
#include <string>

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

}  // namespace tessera::task::stories
