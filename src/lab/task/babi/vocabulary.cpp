#include "lab/task/babi/vocabulary.h"

namespace tessera::task {

std::string answer_word(const std::string& answer) {
  std::string word = answer;
  for (char& c : word)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 0x20);
  return word;
}

void collect_words(const BabiStory& story, std::set<std::string>& words) {
  for (const BabiLine& line : story) {
    for (std::string& word : babi_words(line.text)) words.insert(std::move(word));
    if (line.is_question()) words.insert(answer_word(line.answer));
  }
}

BabiVocabulary::BabiVocabulary(const std::set<std::string>& words) : words_{""} {
  for (const std::string& word : words) {
    ids_.emplace(word, size());
    words_.push_back(word);
  }
}

}  // namespace tessera::task
