#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/utf8.h"

namespace tessera::store {

/// A word of a text: a run of letters and digits, in lower case; in scripts that are written
/// without spaces (Chinese, Japanese, Korean, Thai) a single character.
struct Word {
  std::string text;
  int64_t begin = 0, end = 0;  ///< its bytes in the text
  bool alone = false;          ///< a character of a script without spaces
};

/// Whether a character may stand in a word.
bool is_in_words(char32_t character);

/// Cuts a text that comes piece by piece into words. take(word) sees each when it has ended.
class WordCutter {
 public:
  void append(std::string_view bytes, const std::function<void(const Word&)>& take);
  /// The text has ended.
  void finish(const std::function<void(const Word&)>& take);

 private:
  Word word_;
  utf8::CharacterCutter characters_;
  int64_t read_ = 0;  // bytes that were cut into characters
};

/// The words of a whole text.
std::vector<Word> words_of(std::string_view text);

/// A part of a document that some words may have been copied from.
struct WordMatch {
  int64_t begin = 0, end = 0;  ///< its bytes in the document
  int64_t differences = 0;     ///< words that are wrong, missing or too many, or pairs swapped
  int64_t missing = 0;         ///< words of them that are missing
  int64_t doubt = 0;  ///< decides between matches of equally many differences; the least is best
};

/// Finds where some words stand in a document with the fewest differences (Sellers 1980: an edit
/// distance on words whose beginning in the document is free; two neighbours that are swapped are
/// one difference, Damerau 1964). The first word may be the end of a word of the document, and the
/// last one, if it is `cut`, the beginning of one.
class WordAlignment {
 public:
  WordAlignment(const std::vector<Word>& words, bool cut);

  /// The next word of the document. Calls take(match) if what ends here has at most `most`
  /// differences. most: until restart() no more than at the last call.
  void read(const Word& word, int64_t most, const std::function<void(const WordMatch&)>& take);
  /// Begins another document, or a part of one, whose matches lack these words.
  void restart(const std::vector<std::string>& absent = {});
  /// How many of its words a document can lack that has a match no worse than this one.
  static int64_t most_absent(const WordMatch& match);

 private:
  /// The cheapest way to match the first words with what ends here.
  struct Cell {
    int64_t cost = 0, begin = 0, end = 0, missing = 0;
  };
  /// What ends at one word of the document.
  struct Row {
    std::vector<Cell> cells;  // [words + 1]
    size_t reach = 0;         // the last cell that can still become a match (Ukkonen 1985)
  };

  int64_t cost_of(size_t i, const Word& word) const;
  Cell best_of(size_t i, const Word& word) const;

  std::vector<std::string> words_;
  bool cut_;
  Row row_, last_, last_but_one_;
  std::vector<int64_t> least_behind_;  // what the words from each on cost at least
  std::string last_word_;
};

}  // namespace tessera::store
