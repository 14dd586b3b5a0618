#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lab/task/babi/story.h"
#include "lab/task/sequence/draws.h"

namespace tessera::task {

using Names = std::span<const std::string_view>;

inline constexpr std::string_view kPeople[] = {"Mary", "John", "Daniel", "Sandra"};
inline constexpr std::string_view kRooms[] = {"kitchen", "bathroom", "bedroom",
                                              "garden",  "office",   "hallway"};
inline constexpr std::string_view kObjects[] = {"milk", "football", "apple"};

// Ways to say the same.
inline constexpr std::string_view kMovedTo[] = {"moved to", "went to", "travelled to",
                                                "journeyed to", "went back to"};
inline constexpr std::string_view kPickedUp[] = {"picked up", "got", "grabbed", "took"};
inline constexpr std::string_view kDropped[] = {"dropped", "left", "discarded", "put down"};
inline constexpr std::string_view kGave[] = {"gave", "handed", "passed"};

/// Writes a simulated story line by line.
class Narrator : public Draws {
 public:
  using Draws::Draws;

  /// One of the names, but none of the others.
  std::string_view pick_but(Names names, Names others);
  std::string_view pick_but(Names names, std::string_view other) {
    return pick_but(names, {&other, 1});
  }
  /// Appends a statement; returns the number of its line, from 1.
  int64_t tell(std::string statement);
  void ask(std::string question, std::string_view answer, std::vector<int64_t> support);

  int64_t questions() const { return std::ranges::count_if(story_, &BabiLine::is_question); }
  BabiStory take() { return std::move(story_); }

 private:
  BabiStory story_;
};

/// Tells one story of a task of Weston et al. 2015, by its number there.
struct Simulation {
  int64_t task;
  void (*tell)(Narrator&);
};
using Simulations = std::span<const Simulation>;

Simulations simulated_moves();   ///< people who move and carry objects
Simulations simulated_claims();  ///< people of whom it is said where they are, or when
Simulations simulated_facts();   ///< places, animals, shapes, boxes and moods

}  // namespace tessera::task
