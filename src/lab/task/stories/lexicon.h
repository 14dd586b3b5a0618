#pragma once

#include <span>
#include <string_view>

#include "lab/task/stories/world.h"

/// The words of the stories, as plain tables.
namespace tessera::task::stories {

using Words = std::span<const std::string_view>;

struct Noun {
  std::string_view word;
  Number number = Number::kOne;
};
using Nouns = std::span<const Noun>;

// Who: names, what they are like, how they feel, what they like to do.
Words girls();
Words boys();
Words animal_names();
Words traits();  ///< "brave"
Words glad_feelings();
Words sad_feelings();
Words hobbies();    ///< what one loves to: "sing", the first word being the verb
Words grown_ups();  ///< "baker"
Words virtues();    ///< "be kind to others"

// Things.
Nouns toys();
Nouns treasures();
Nouns gifts();
Nouns sweets();
Nouns fruits();
Nouns vegetables();
Nouns ingredients();  ///< "sugar"
Nouns dishes();       ///< what one bakes or cooks
Nouns pets();
Nouns sports();  ///< what one learns, in the form "swimming"
Words colors();
Words qualities();  ///< of things: "shiny"

struct PlaceRow {
  std::string_view noun, at, to;
  bool outdoors = true;
};
using Places = std::span<const PlaceRow>;
Places outings();       ///< where children go
Places indoor_spots();  ///< "under the bed"
Places outdoor_spots();
Places containers();  ///< what one carries things in

/// What somebody sees on their way: "a squirrel", "eating a nut".
struct Sight {
  std::string_view noun, doing;
};
std::span<const Sight> sights();

// What is true of the world.
struct Animal {
  std::string_view one, many;
  std::string_view eats, diet;  ///< "grass"; animals of another diet do not eat it
  std::string_view says, home;  ///< "moo"; "on a farm"
  std::string_view region;      ///< animals of another region do not live there
  bool flies, swims;
};
std::span<const Animal> animals();

/// "It was raining." asks for "an umbrella".
struct Weather {
  std::string_view sign, need, kind;  ///< needs of one kind fit the same weather
};
std::span<const Weather> weathers();

/// "tired" sends to "to bed".
struct Need {
  std::string_view feeling, because, deed;
};
std::span<const Need> needs();

/// "An apple seed" grows into "an apple tree".
struct Seed {
  std::string_view seed, plant;
};
std::span<const Seed> seeds();

struct Lore {
  std::string_view question, answer, wrong1, wrong2;
};
std::span<const Lore> lore();  ///< what a child may ask: "What color is the sky?"

/// What somebody is, and what they do at work.
struct Job {
  std::string_view who, work;  ///< "baker", "bakes bread"
};
std::span<const Job> jobs();

}  // namespace tessera::task::stories
