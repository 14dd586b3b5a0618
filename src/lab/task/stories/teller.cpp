#include "lab/task/stories/teller.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "lab/task/stories/grammar.h"

namespace tessera::task::stories {

void Teller::suppose(Events events) {
  for (const Event& event : events) {
    world_.apply(event);
    story_.events.push_back(event);
  }
}

void Teller::tell(Events events, Phrases phrases) {
  const size_t first = story_.events.size();
  suppose(events);
  std::string sentence;
  fill(std::data(phrases)[random().below(phrases.size())], /*plain=*/false, sentence);
  add_sentence(std::move(sentence), first);
}

void Teller::ask(QuestionKind kind, std::string_view skill, const Claim& claim, Events events,
                 Phrases phrases) {
  const auto check = [&](Id candidate, bool expected) {
    if (claim.true_of(candidate, world_) != expected)
      throw std::logic_error("story: the answer of a question about " + std::string(skill) +
                             " does not follow");
  };
  check(claim.answer, true);
  for (Id wrong : claim.wrong) check(wrong, false);

  const std::string_view phrase = std::data(phrases)[random().below(phrases.size())];
  const size_t bar = phrase.find('|');
  std::string prompt;
  fill(phrase.substr(0, bar), /*plain=*/false, prompt);
  const auto continued = [&](Id candidate) {
    bind('x', candidate);
    std::string sentence = prompt;
    fill(phrase.substr(bar + 1), /*plain=*/true, sentence);
    return sentence;
  };
  Question question{.kind = kind,
                    .skill = std::string(skill),
                    .prompt = story_.text,
                    .right = {},
                    .wrong = {},
                    .claim = claim,
                    .events = story_.events.size()};
  if (!story_.text.empty()) question.prompt += new_paragraph_ ? "\n" : " ";
  question.prompt += prompt;
  for (Id wrong : claim.wrong) question.wrong.push_back(continued(wrong).substr(prompt.size()));
  std::string sentence = continued(claim.answer);
  question.right = sentence.substr(prompt.size());
  story_.questions.push_back(std::move(question));

  const size_t first = story_.events.size();
  suppose(events);
  add_sentence(std::move(sentence), first);
}

void Teller::paragraph() {
  new_paragraph_ = true;
  subject_ = kNothing;
}

void Teller::add_sentence(std::string text, size_t first_event) {
  if (!story_.text.empty()) story_.text += new_paragraph_ ? "\n" : " ";
  new_paragraph_ = false;
  story_.text += text;
  story_.sentences.push_back({std::move(text), first_event, story_.events.size() - first_event});
  mentioned_ = std::exchange(now_mentioned_, {});
  const bool about_one =
      !mentioned_.empty() &&
      std::all_of(mentioned_.begin(), mentioned_.end(), [&](Id id) { return id == mentioned_[0]; });
  subject_ = about_one ? mentioned_[0] : first_named_;
}

/// Whom the phrase names first: "{A} laughed", "{A's} hat was red", but not "{A} and {B} laughed".
Id Teller::first_named(std::string_view phrase) const {
  const size_t end = phrase.find('}');
  const bool by_name = phrase.starts_with('{') && (end == 2 || phrase.substr(2, 2) == "'s");
  if (!by_name || end == std::string_view::npos || phrase.substr(end + 1).starts_with(" and {"))
    return kNothing;
  return (*this)[phrase[1]];
}

/// Whether that can be "she" or "her": where the sentence before was about her, and about nobody
/// else who is a she.
bool Teller::may_be_pronoun(Id first) const {
  if (first == kNothing || first != subject_ || new_paragraph_) return false;
  const auto pronoun = [&](Id who) { return story_.entities[who].pronoun; };
  return std::none_of(mentioned_.begin(), mentioned_.end(),
                      [&](Id other) { return other != first && pronoun(other) == pronoun(first); });
}

void Teller::fill(std::string_view phrase, bool plain, std::string& sentence) {
  const auto begins_sentence = [&] {
    if (sentence.empty()) return true;
    const bool quote_opens = std::count(sentence.begin(), sentence.end(), '"') % 2 == 1;
    return (quote_opens && sentence.back() == '"') || sentence.ends_with(". ") ||
           sentence.ends_with("! ") || sentence.ends_with("? ");
  };
  if (sentence.empty()) {
    const Id first = first_named(phrase);
    if (may_be_pronoun(first) && chance(0.6)) {
      const size_t end = phrase.find('}');
      sentence = capitalised(std::string(pronoun_of(entity(first), end == 2 ? "he" : "his")));
      now_mentioned_.push_back(first);
      phrase.remove_prefix(end + 1);
    }
    first_named_ = first;
  }
  while (!phrase.empty()) {
    const size_t open = std::min(phrase.find('{'), phrase.size());
    sentence += phrase.substr(0, open);
    phrase.remove_prefix(open);
    if (phrase.empty()) break;
    const size_t close = phrase.find('}');
    std::string words = slot(phrase.substr(1, close - 1), plain);
    sentence += begins_sentence() ? capitalised(std::move(words)) : words;
    phrase.remove_prefix(close + 1);
  }
}

std::string Teller::reference(Id id) {
  const Entity& entity = this->entity(id);
  if (!entity.is_character()) return words_of(entity, /*with_adjective=*/false);
  now_mentioned_.push_back(id);
  if (entity.name.empty() || (id == (*this)['A'] && entity.kind == Kind::kAnimal && chance(0.2)))
    return "the " + entity.noun;
  return entity.name;
}

std::string Teller::words_of(const Entity& entity, bool with_adjective) const {
  return with_adjective && !entity.adjective.empty() ? entity.adjective + " " + entity.noun
                                                     : entity.noun;
}

std::string Teller::slot(std::string_view slot, bool plain) {
  if (slot == "when") return std::exchange(when_, "Then");
  if (slot.size() == 1) return reference((*this)[slot.front()]);
  if (slot.ends_with("'s")) return possessive(reference((*this)[slot.front()]));
  if (slot[1] == '.') {
    const Id id = (*this)[slot.front()];
    if (entity(id).is_character()) now_mentioned_.push_back(id);
    if (slot.substr(2) == "noun") return entity(id).noun;
    if (slot.substr(2) == "name") return entity(id).name;
    return std::string(pronoun_of(entity(id), slot.substr(2)));
  }
  const std::string_view form = slot.substr(0, slot.size() - 2);
  const Entity& entity = this->entity((*this)[slot.back()]);
  if (entity.is_character()) now_mentioned_.push_back((*this)[slot.back()]);
  if (form == "a") return with_indefinite_article(words_of(entity, !plain), entity.number);
  const std::string words = words_of(entity, !plain && form == "the" && chance(0.25));
  const std::string definite = entity.takes_article ? "the " + words : words;
  if (form == "the") return definite;
  const std::string& preposition = form == "at" ? entity.at : entity.to;
  return preposition.empty() ? definite : preposition + " " + definite;
}

}  // namespace tessera::task::stories
