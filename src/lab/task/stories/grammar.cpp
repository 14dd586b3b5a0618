#include "lab/task/stories/grammar.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "tessera/base/error.h"

namespace tessera::task::stories {
namespace {

/// Whether "an" stands before it. Letters decide, but for words such as these.
bool begins_with_vowel(std::string_view words) {
  static constexpr std::string_view kVowelSounds[] = {"hour", "honest"};
  static constexpr std::string_view kConsonantSounds[] = {"uni", "use", "one"};
  const auto begins = [&](std::string_view start) { return words.starts_with(start); };
  if (std::any_of(std::begin(kVowelSounds), std::end(kVowelSounds), begins)) return true;
  if (std::any_of(std::begin(kConsonantSounds), std::end(kConsonantSounds), begins)) return false;
  return !words.empty() &&
         std::string_view("aeiouAEIOU").find(words.front()) != std::string_view::npos;
}

struct Forms {
  std::string_view form;
  std::array<std::string_view, 4> words;  // by Pronoun
};
constexpr Forms kPronouns[] = {
    {"he", {"he", "she", "it", "they"}},
    {"him", {"him", "her", "it", "them"}},
    {"his", {"his", "her", "its", "their"}},
    {"himself", {"himself", "herself", "itself", "themselves"}},
    {"was", {"was", "was", "was", "were"}},
    {"is", {"is", "is", "is", "are"}},
};

}  // namespace

std::string with_indefinite_article(std::string_view words, Number number) {
  if (number != Number::kOne) return "some " + std::string(words);
  return (begins_with_vowel(words) ? "an " : "a ") + std::string(words);
}

std::string capitalised(std::string words) {
  if (!words.empty())
    words.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(words.front())));
  return words;
}

std::string_view pronoun_of(const Entity& entity, std::string_view form) {
  for (const Forms& forms : kPronouns)
    if (forms.form == form) return forms.words[static_cast<size_t>(entity.pronoun)];
  throw UsageError("pronoun_of: there is no form '{}'", form);
}

std::string possessive(std::string_view words) {
  return std::string(words) + (words.ends_with('s') ? "'" : "'s");
}

}  // namespace tessera::task::stories
