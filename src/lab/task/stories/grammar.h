#pragma once

#include <string>
#include <string_view>

#include "lab/task/stories/world.h"

namespace tessera::task::stories {

/// "an apple", "a unicorn", "some milk".
std::string with_indefinite_article(std::string_view words, Number number);

/// With a capital letter at the beginning.
std::string capitalised(std::string words);

/// he, him, his, himself of somebody or something: "she", "them", "its". Throws
/// UsageError on another form.
std::string_view pronoun_of(const Entity& entity, std::string_view form);

/// "Lily's", "James'".
std::string possessive(std::string_view words);

}  // namespace tessera::task::stories
