#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::memo_study {

/// A question about an invented author, after TOFU (Maini et al. 2024).
struct AuthorQuestion {
  std::string question, answer;
  std::string paraphrase;          ///< the same answer in other words
  std::vector<std::string> wrong;  ///< five others, in these words

  /// As it is learned: a line.
  std::string line() const { return prompt() + answer + "\n"; }
  std::string prompt() const { return "Q: " + question + "\nA: "; }
};

struct InventedAuthor {
  std::string name;
  std::vector<AuthorQuestion> questions;  ///< 20

  /// All lines.
  std::string text() const;
};

constexpr int64_t kMostAuthors = 100'000;  // a tenth of the names that there are

/// Authors who never lived: their facts are drawn by the seed, each from a list of its own; what is
/// asked and answered follows ten patterns, each asked in two ways. count: at most kMostAuthors.
std::vector<InventedAuthor> invented_authors(int64_t count, uint64_t seed);

}  // namespace tessera::memo_study
