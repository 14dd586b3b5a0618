#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lab/task/stories/world.h"

namespace tessera::task::stories {

/// What a question takes, as Eldan & Li 2023 sort their prompts: knowledge that other stories gave
/// (a fact), something that this story said (consistency), or a conclusion from it (logic).
enum class QuestionKind { kFact, kConsistency, kLogic };
constexpr std::array<std::string_view, 3> enum_names(QuestionKind) {
  return {"fact", "consistency", "logic"};
}

/// What a question asks for: the object of a subject, or the subject of an object, and which of the
/// entities is one.
struct Claim {
  Relation relation = Relation::kPlace;
  Id known = kNothing;
  bool asks_for_object = true;
  Id answer = kNothing;
  std::vector<Id> wrong;

  bool true_of(Id candidate, const World& world) const {
    return asks_for_object ? world.holds(relation, known, candidate)
                           : world.holds(relation, candidate, known);
  }
};

/// A story up to a point where what has been said decides how it goes on.
struct Question {
  QuestionKind kind = QuestionKind::kFact;
  std::string skill;   ///< what decides it: "trade"
  std::string prompt;  ///< the story up to there
  std::string right;   ///< how it goes on, to the end of the sentence; begins with a space
  std::vector<std::string> wrong;  ///< as other entities would have it
  Claim claim;                     ///< why
  size_t events = 0;               ///< how many of the story's events stand in the prompt
};

struct Sentence {
  std::string text;
  size_t first_event = 0, events = 0;  ///< what it tells, in Story::events
};

/// A story with everything that its teller knows.
struct Story {
  std::string text;  ///< paragraphs, a line each, without a line end at the end
  std::vector<Sentence> sentences;
  std::vector<std::string> scenes;    ///< names of the plots
  std::string noun, verb, adjective;  ///< words that it was asked to contain
  std::vector<Entity> entities;
  std::vector<Event> events;
  std::vector<Question> questions;
};

/// Story `index` of the set named by `seed`: a pure function of both, the same on every machine.
/// In the spirit of TinyStories (Eldan & Li 2023) and BabiStories (Zhang et al. 2024, appendix B):
/// each is told around a drawn hero, drawn words that it must contain and drawn plots. Where theirs
/// are written by a large language model, ours are simulated: a world says what is true, plots
/// change it, and every sentence is one of several ways to tell a change.
Story write_story(uint64_t seed, int64_t index);

}  // namespace tessera::task::stories
