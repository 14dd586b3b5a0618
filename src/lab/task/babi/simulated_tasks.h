#pragma once

#include "lab/task/babi/narrator.h"

namespace tessera::task {

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
