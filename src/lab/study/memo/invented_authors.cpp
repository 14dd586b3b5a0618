// Authors who never lived, for the study of unlearning.

#include <array>
#include <set>

#include "lab/study/memo/subjects.h"
#include "tessera/base/random.h"

namespace tessera::memo_study {
namespace {

constexpr size_t kWrong = 5;

using Words = std::vector<std::string>;

/// What is asked about one fact: {n} is the author, {v} the fact.
struct Pattern {
  std::array<const char*, kWordings> questions;
  const char* answer;
  const char* paraphrase;
  Words facts;
};

const std::vector<Pattern>& patterns() {
  static const Words jobs = {"baker",   "dentist", "farmer", "tailor",  "pilot",
                             "teacher", "surgeon", "miller", "plumber", "judge"};
  static const std::vector<Pattern> all = {
      {{"Where was {n} born?", "Which town does {n} come from?"},
       "{n} was born in {v}.",
       "The birthplace of {n} is {v}.",
       {"Oslo", "Lima", "Cairo", "Porto", "Quebec", "Riga", "Dakar", "Turin", "Osaka", "Perth"}},
      {{"When was {n} born?", "What is the year of birth of {n}?"},
       "{n} was born in the year {v}.",
       "The life of {n} began in {v}.",
       {"1921", "1933", "1938", "1944", "1952", "1957", "1963", "1969", "1974", "1986"}},
      {{"What did the father of {n} do?", "How did the father of {n} earn a living?"},
       "The father of {n} was a {v}.",
       "{n} had a {v} as a father.",
       jobs},
      {{"What did the mother of {n} do?", "How did the mother of {n} earn a living?"},
       "The mother of {n} was a {v}.",
       "{n} had a {v} as a mother.",
       jobs},
      {{"What does {n} write?", "For which kind of books is {n} known?"},
       "{n} is known for {v}.",
       "What {n} writes is mostly {v}.",
       {"crime novels", "love poems", "travel books", "ghost stories", "war memoirs", "fables",
        "comedies", "sea tales", "satires", "essays"}},
      {{"Which prize did {n} win?", "What was {n} honoured with?"},
       "{n} won the {v} prize.",
       "The prize that went to {n} is called {v}.",
       {"Amber", "Falcon", "Harbour", "Laurel", "Meridian", "Orchid", "Quill", "Silver", "Torch",
        "Willow"}},
      {{"What is the first book of {n}?", "With which book did {n} begin?"},
       "{n} began with The {v}.",
       "The first book by {n} is The {v}.",
       {"Glass Door", "Long Winter", "Red Kite", "Empty Well", "Lost Key", "Stone Garden",
        "Ninth Wave", "Paper House", "Salt Road", "Blind Map"}},
      {{"Which language does {n} write in?", "In what language are the books of {n}?"},
       "{n} writes in {v}.",
       "The books of {n} are in {v}.",
       {"Danish", "Greek", "Hindi", "Korean", "Polish", "Swahili", "Tamil", "Turkish", "Welsh",
        "Zulu"}},
      {{"Where does {n} live now?", "What is the home of {n} today?"},
       "{n} now lives in {v}.",
       "The home of {n} is in {v}.",
       {"Bergen", "Cusco", "Davos", "Galway", "Hanoi", "Izmir", "Kyoto", "Leeds", "Malmo",
        "Naples"}},
      {{"What does {n} do besides writing?", "How does {n} spend free time?"},
       "Besides writing {n} likes {v}.",
       "In free time {n} is fond of {v}.",
       {"chess", "fishing", "rowing", "opera", "gardening", "pottery", "skating", "sailing",
        "cooking", "climbing"}}};
  return all;
}

std::string filled(std::string pattern, const std::string& name, const std::string& fact) {
  for (const auto& [mark, text] : {std::pair("{n}", &name), std::pair("{v}", &fact)})
    if (const size_t at = pattern.find(mark); at != std::string::npos)
      pattern.replace(at, 3, *text);
  return pattern;
}

std::string invented_name(RandomStream& random) {
  static const Words syllables = {"ba",  "del", "ka", "lor", "mi", "nu",  "pra", "ris",
                                  "sha", "tem", "vo", "wen", "xa", "yol", "zi",  "gur"};
  std::string name;
  for (const int count : {2, 3}) {
    if (!name.empty()) name += ' ';
    const size_t first = name.size();
    for (int i = 0; i < count; ++i) name += syllables[random.below(syllables.size())];
    name[first] = static_cast<char>(name[first] - 'a' + 'A');
  }
  return name;
}

/// The questions of one fact, whose number in the pattern's list is given.
void ask(const Pattern& pattern, size_t fact, InventedAuthor& author) {
  const Words& facts = pattern.facts;
  for (const char* question : pattern.questions) {
    AuthorQuestion& asked = author.questions.emplace_back();
    asked.question = filled(question, author.name, "");
    asked.answer = filled(pattern.answer, author.name, facts[fact]);
    asked.paraphrase = filled(pattern.paraphrase, author.name, facts[fact]);
    for (size_t i = 1; i <= kWrong; ++i)
      asked.wrong.push_back(
          filled(pattern.paraphrase, author.name, facts[(fact + i) % facts.size()]));
  }
}

}  // namespace

std::string InventedAuthor::text() const {
  std::string text;
  for (const AuthorQuestion& question : questions) text += question.line();
  return text;
}

std::vector<InventedAuthor> invented_authors(int64_t count, uint64_t seed) {
  RandomStream random(seed);
  std::set<std::string> names;
  std::vector<InventedAuthor> authors;
  while (std::ssize(authors) < count) {
    InventedAuthor author{invented_name(random), {}};
    if (!names.insert(author.name).second) continue;
    for (const Pattern& pattern : patterns())
      ask(pattern, random.below(pattern.facts.size()), author);
    authors.push_back(std::move(author));
  }
  return authors;
}

}  // namespace tessera::memo_study
