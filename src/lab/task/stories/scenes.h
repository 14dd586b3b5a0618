#pragma once

#include <span>
#include <string_view>

#include "lab/task/stories/teller.h"

namespace tessera::task::stories {

/// A plot: begins wherever the hero is, tells what happens, and may leave everybody elsewhere.
struct Scene {
  std::string_view name;
  void (*play)(Teller&);
};

std::span<const Scene> scenes_of_things();   ///< lost, traded, carried, given, mended
std::span<const Scene> scenes_of_friends();  ///< who is where, who wants what
std::span<const Scene> scenes_at_home();     ///< wishes, habits, baking
std::span<const Scene> scenes_of_nature();   ///< what is true of the world

// What scenes share.

inline constexpr auto kFact = QuestionKind::kFact;
inline constexpr auto kConsistency = QuestionKind::kConsistency;
inline constexpr auto kLogic = QuestionKind::kLogic;

/// Introduces the friend 'B' where the story has none; whether it did.
bool is_first_meeting(Teller& t);
/// Introduces the friend 'C', who is at the place 'l'.
Id meet_third(Teller& t);
/// The hero goes to a new place 'l', and may see something on the way.
void go_out(Teller& t, Teller::Where where = Teller::Where::kAnywhere);
/// The same together with the friend 'B', who is introduced where the story has none.
void go_out_with_friend(Teller& t, Teller::Where where = Teller::Where::kAnywhere);
/// The hero is, or goes, home, where the grown-up 'M' is.
void be_home(Teller& t);
/// Who the hero is, where they live and with whom.
void open_story(Teller& t);
/// So many facts about the hero that do not matter later.
void add_details(Teller& t, size_t details);
/// "One day", in a new paragraph.
void begin_first_scene(Teller& t);
/// Between two scenes: later, or the next day after a night at home.
void pass_time(Teller& t);
/// How it ends.
void close_story(Teller& t);

/// The claim that `answer` is one of what `subject` is related to, and that the others are not.
inline Claim object_is(Relation relation, Id subject, Id answer, std::vector<Id> wrong) {
  return {relation, subject, /*asks_for_object=*/true, answer, std::move(wrong)};
}
/// The claim that `answer` is one of those related to `object`, and that the others are not.
inline Claim subject_is(Relation relation, Id object, Id answer, std::vector<Id> wrong) {
  return {relation, object, /*asks_for_object=*/false, answer, std::move(wrong)};
}

}  // namespace tessera::task::stories
