// Stories: what they must be, over many of them.
#include "lab/task/stories/story.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ranges>
#include <regex>
#include <set>

#include "lab/task/stories/grammar.h"
#include "lab/task/stories/scenes.h"
#include "tessera/base/checksum.h"
#include "tessera/base/error.h"
#include "tests/lab/task/stories/replayed_world.h"

namespace tessera::task::stories {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr int64_t kMany = 3000;

/// Made once.
const std::vector<Story>& many_stories() {
  static const std::vector<Story> stories = [] {
    std::vector<Story> made;
    for (int64_t index = 0; index < kMany; ++index) made.push_back(write_story(7, index));
    return made;
  }();
  return stories;
}

/// Letters, and hyphens within a word, in lower case.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : text + " ") {
    if (std::isalpha(static_cast<unsigned char>(c)) || (c == '-' && !word.empty())) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else {
      if (!word.empty()) words.push_back(word);
      word.clear();
    }
  }
  return words;
}

TEST(Grammar, ArticlesFollowTheSound) {
  EXPECT_EQ(with_indefinite_article("apple", Number::kOne), "an apple");
  EXPECT_EQ(with_indefinite_article("red apple", Number::kOne), "a red apple");
  EXPECT_EQ(with_indefinite_article("unicorn", Number::kOne), "a unicorn");
  EXPECT_EQ(with_indefinite_article("umbrella", Number::kOne), "an umbrella");
  EXPECT_EQ(with_indefinite_article("honest girl", Number::kOne), "an honest girl");
  EXPECT_EQ(with_indefinite_article("milk", Number::kMass), "some milk");
  EXPECT_EQ(with_indefinite_article("boots", Number::kMany), "some boots");
}

TEST(Grammar, PronounsAndPossessives) {
  EXPECT_EQ(pronoun_of({.pronoun = Pronoun::kShe}, "his"), "her");
  EXPECT_EQ(pronoun_of({.pronoun = Pronoun::kThey}, "was"), "were");
  EXPECT_THROW(pronoun_of({}, "hers"), UsageError);
  EXPECT_EQ(possessive("Tess"), "Tess'");
  EXPECT_EQ(possessive("Tom"), "Tom's");
  EXPECT_EQ(capitalised("the owl"), "The owl");
}

TEST(World, RefusesWhatCannotHappen) {
  constexpr Id kLily = 0, kTom = 1, kBall = 2, kPark = 3, kHome = 4;
  World world;
  world.apply(begin(Relation::kPlace, kLily, kPark));
  world.apply(begin(Relation::kPlace, kTom, kHome));
  world.apply(make(kLily, kBall));
  EXPECT_EQ(world.place_of(kBall), kPark);
  EXPECT_THROW(world.apply(give(kLily, kBall, kTom)), std::logic_error);  // he is elsewhere
  EXPECT_THROW(world.apply(use(kTom, kBall)), std::logic_error);
  EXPECT_THROW(world.apply(go(kLily, kPark)), std::logic_error);
  EXPECT_TRUE(world.holds(Relation::kHolder, kBall, kLily));  // nothing has changed
  world.apply(go(kTom, kPark));
  world.apply(give(kLily, kBall, kTom));
  world.apply(go(kTom, kHome));
  EXPECT_EQ(world.place_of(kBall), kHome);  // things go with those who hold them
  EXPECT_THROW(world.apply(take(kLily, kBall)), std::logic_error);
}

TEST(Stories, AreAFunctionOfSeedAndIndex) {
  EXPECT_EQ(write_story(7, 5).text, many_stories()[5].text);
  std::set<std::string> texts;
  for (uint64_t seed = 1; seed <= 20; ++seed)
    for (int64_t index = 0; index < 20; ++index) texts.insert(write_story(seed, index).text);
  EXPECT_EQ(texts.size(), 400u);
}

TEST(Stories, AreTheSameEverywhere) {
  Checksum all;
  for (int64_t index = 0; index < 300; ++index) all.add(many_stories()[index].text);
  EXPECT_EQ(all.hex(), "395796cb4693f89e");
}

TEST(Stories, EveryEventCanHappen) {
  for (size_t i = 0; i < many_stories().size(); ++i) {
    ReplayedWorld world;
    for (const Event& event : many_stories()[i].events)
      ASSERT_EQ(world.happen(event), "") << "story " << i << "\n" << many_stories()[i].text;
  }
}

TEST(Stories, ASentenceNamesTheThingThatItsEventsMove) {
  for (const Story& story : many_stories())
    for (const Sentence& sentence : story.sentences)
      for (size_t i = sentence.first_event; i < sentence.first_event + sentence.events; ++i) {
        const Event& event = story.events[i];
        if (event.act != Act::kPut && event.act != Act::kMake) continue;
        EXPECT_THAT(sentence.text, HasSubstr(story.entities[event.thing].noun));
      }
}

TEST(Stories, TheRightAnswersFollowAndNoWrongOneDoes) {
  for (const Story& story : many_stories())
    for (const Question& question : story.questions) {
      ReplayedWorld world;
      for (size_t i = 0; i < question.events; ++i) world.happen(story.events[i]);
      const Claim& claim = question.claim;
      const auto follows = [&](Id id) {
        return claim.asks_for_object ? world.is_true(claim.relation, claim.known, id)
                                     : world.is_true(claim.relation, id, claim.known);
      };
      EXPECT_TRUE(follows(claim.answer)) << question.prompt << "|" << question.right;
      for (Id wrong : claim.wrong)
        EXPECT_FALSE(follows(wrong)) << question.prompt << "|" << question.right;
    }
}

TEST(Stories, QuestionsAreBeginningsOfTheirStory) {
  for (const Story& story : many_stories())
    for (const Question& question : story.questions) {
      EXPECT_THAT(story.text, StartsWith(question.prompt + question.right));
      EXPECT_EQ(question.wrong.size(), question.claim.wrong.size());
      std::set<std::string> different(question.wrong.begin(), question.wrong.end());
      different.insert(question.right);
      EXPECT_EQ(different.size(), question.wrong.size() + 1) << question.prompt;
      EXPECT_FALSE(question.wrong.empty());
    }
}

TEST(Stories, TheAnswerIsSaidBeforeWhereItMustBeFoundInTheStory) {
  for (const Story& story : many_stories())
    for (const Question& question : story.questions) {
      if (question.kind == QuestionKind::kFact) continue;
      const Entity& answer = story.entities[question.claim.answer];
      const bool said =
          question.prompt.find(answer.noun) != std::string::npos ||
          (!answer.name.empty() && question.prompt.find(answer.name) != std::string::npos);
      EXPECT_TRUE(said) << question.prompt << "|" << question.right;
    }
}

TEST(Stories, AreGrammaticalWhereItCanBeChecked) {
  const std::regex article(
      "\\b[Aa] (?!one\\b)[aeio]|\\b[Aa]n (?!hon|hour)[bcdfghjklmnpqrstvwxyz]|\\b[Aa] u(?!ni|se)");
  const std::regex marks(
      "  |[{}|]|\\.\\.|,\\.| ,| \\.|^[a-z]|\\b([Tt]he|[Aa]) (the|a|an)\\b|[.!?] [a-z]");
  for (const Story& story : many_stories() | std::views::take(kMany / 5)) {  // std::regex is slow
    EXPECT_EQ(std::count(story.text.begin(), story.text.end(), '"') % 2, 0) << story.text;
    for (const Sentence& sentence : story.sentences) {
      const std::string& text = sentence.text;
      EXPECT_FALSE(std::regex_search(text, article)) << text;
      EXPECT_FALSE(std::regex_search(text, marks)) << text;
      EXPECT_THAT(std::string(".!?\""), HasSubstr(text.substr(text.size() - 1))) << text;
    }
  }
}

TEST(Stories, ContainTheWordsThatWereAskedFor) {
  for (const Story& story : many_stories()) {
    const auto words = words_of(story.text);
    const std::set<std::string> all(words.begin(), words.end());
    EXPECT_TRUE(all.contains(story.verb)) << story.verb << ": " << story.text;
    EXPECT_TRUE(all.contains(story.adjective)) << story.adjective << ": " << story.text;
    EXPECT_THAT(story.text, HasSubstr(story.noun));
    EXPECT_FALSE(story.noun.empty());
  }
}

TEST(Stories, HaveTheSizesOfThePaper) {
  std::set<std::string> vocabulary;
  double characters = 0;
  for (const Story& story : many_stories()) {
    characters += static_cast<double>(story.text.size()) / kMany;
    for (auto& word : words_of(story.text)) vocabulary.insert(std::move(word));
  }
  EXPECT_GE(vocabulary.size(), 1500u);
  EXPECT_NEAR(characters, 888, 45);  // Zhang et al. 2024, table 1
}

TEST(Stories, TellEverySceneAndAskEveryKind) {
  std::set<std::string> scenes;
  std::map<QuestionKind, int> kinds;
  for (const Story& story : many_stories()) {
    scenes.insert(story.scenes.begin(), story.scenes.end());
    for (const Question& question : story.questions) ++kinds[question.kind];
  }
  EXPECT_EQ(scenes.size(), scenes_of_things().size() + scenes_of_friends().size() +
                               scenes_at_home().size() + scenes_of_nature().size());
  for (const auto& [kind, count] : kinds) EXPECT_GE(count, kMany / 3);
  EXPECT_EQ(kinds.size(), 3u);
}

}  // namespace
}  // namespace tessera::task::stories
