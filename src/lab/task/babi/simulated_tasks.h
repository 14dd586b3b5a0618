#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lab/task/babi/story.h"
#include "tessera/base/random.h"

namespace tessera::task {

using Names = std::span<const std::string_view>;

inline constexpr std::string_view kPeople[] = {"Mary", "John", "Daniel", "Sandra"};
inline constexpr std::string_view kRooms[] = {"kitchen", "bathroom", "bedroom",
                                              "garden",  "office",   "hallway"};
inline constexpr std::string_view kObjects[] = {"milk", "football", "apple"};

/// Writes a simulated story line by line.
class Narrator : public Draws {
 public:
  using Draws::Draws;

  /// Appends a statement; returns the number of its line, from 1.
  int64_t tell(std::string statement);
  void ask(std::string question, std::string answer, std::vector<int64_t> support);

  /// "moved to", "went back to", …
  std::string_view moved_to();
  std::string_view picked_up();
  std::string_view dropped();
  std::string_view gave();

  int64_t questions() const { return questions_; }
  BabiStory take() { return std::move(story_); }

 private:
  BabiStory story_;
  int64_t questions_ = 0;
};

// One story of each task of Weston et al. 2015, by its number there.

// simulated_moves.cpp: people who move and carry objects.
void simulate_single_fact(Narrator& narrator);      // 1
void simulate_two_facts(Narrator& narrator);        // 2
void simulate_three_facts(Narrator& narrator);      // 3
void simulate_three_arguments(Narrator& narrator);  // 5
void simulate_yes_no(Narrator& narrator);           // 6
void simulate_counting(Narrator& narrator);         // 7
void simulate_lists(Narrator& narrator);            // 8

// simulated_claims.cpp: people of whom it is said where they are, or when they were there.
void simulate_negation(Narrator& narrator);              // 9
void simulate_indefinite(Narrator& narrator);            // 10
void simulate_coreference(Narrator& narrator);           // 11
void simulate_conjunction(Narrator& narrator);           // 12
void simulate_compound_coreference(Narrator& narrator);  // 13
void simulate_time(Narrator& narrator);                  // 14

// simulated_facts.cpp: places, animals, shapes, boxes and moods.
void simulate_two_arguments(Narrator& narrator);  // 4
void simulate_deduction(Narrator& narrator);      // 15
void simulate_induction(Narrator& narrator);      // 16
void simulate_positions(Narrator& narrator);      // 17
void simulate_sizes(Narrator& narrator);          // 18
void simulate_path_finding(Narrator& narrator);   // 19
void simulate_motivations(Narrator& narrator);    // 20

}  // namespace tessera::task
