#pragma once

#include "lab/task/stories/story.h"

namespace tessera::task::stories {

/// How probable it is that somebody is right who understands nothing and only counts how often the
/// prompt names each continuation: how often the words come in it that no other continuation has.
/// Of those that are equal any one is taken.
struct NamingRules {
  double most = 0;   ///< takes the one that is named most often
  double least = 0;  ///< takes, of those that are named at all, the one that is named least often
};
NamingRules right_by_naming(const Question& question);

}  // namespace tessera::task::stories
