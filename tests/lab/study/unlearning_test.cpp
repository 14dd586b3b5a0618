#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "lab/study/memo/studies.h"
#include "lab/study/memo/subjects.h"
#include "tessera/data/bpe_trainer.h"
#include "tests/lab/study/quick_study.h"

namespace tessera::memo_study {
namespace {

TEST(InventedAuthors, HaveNamesOfTheirOwnAndTwentyQuestions) {
  const auto authors = invented_authors(50, 3);
  std::set<std::string> names;
  for (const InventedAuthor& author : authors) {
    names.insert(author.name);
    ASSERT_EQ(author.questions.size(), 20u);
    for (const AuthorQuestion& question : author.questions) {
      for (const std::string& text : {question.question, question.answer, question.paraphrase})
        EXPECT_NE(text.find(author.name), std::string::npos) << text;
      EXPECT_EQ(std::set(question.wrong.begin(), question.wrong.end()).size(), 5u);
      for (const std::string& wrong : question.wrong) EXPECT_NE(wrong, question.paraphrase);
      EXPECT_NE(author.text().find(question.line()), std::string::npos);
    }
  }
  EXPECT_EQ(names.size(), 50u);
  EXPECT_EQ(invented_authors(50, 3).back().text(), authors.back().text());
  EXPECT_NE(invented_authors(50, 4).back().text(), authors.back().text());
}

/// A store memorizes lines, of which it is asked for the answers.
TEST(InventedAuthors, AreAskedForTokensOfTheirLines) {
  const auto authors = invented_authors(20, 3);
  BpeTrainer trainer({.vocabulary_size = 400});
  for (const InventedAuthor& author : authors) trainer.add_text(author.text());
  const Tokenizer tokenizer = trainer.train();
  for (const AuthorQuestion& question : authors[0].questions) {
    Tokens line = tokens_of(tokenizer, question.prompt());
    for (const int64_t token : tokens_of(tokenizer, " " + question.answer + "\n"))
      line.push_back(token);
    EXPECT_EQ(line, tokens_of(tokenizer, question.line()));
  }
}

TEST(KolmogorovSmirnov, ByHand) {
  EXPECT_EQ(distance({1, 2, 3, 4}, {3, 4, 5, 6}), 0.5);
  EXPECT_EQ(distance({1, 1, 2}, {1, 1, 2}), 0);
  EXPECT_EQ(distance({1, 1, 1, 2}, {1, 2, 2, 2}), 0.5) << "equal values count together";
  EXPECT_EQ(same_distribution({2, 1, 3}, {3, 2, 1}), 1);
  std::vector<double> low, high;
  for (int i = 0; i < 100; ++i) {
    low.push_back(i);
    high.push_back(i + 20);
  }
  // sqrt(50) = 7.0711: 2 exp(-2 (7.2066 * 0.2)^2) and terms below 1e-7
  EXPECT_NEAR(same_distribution(low, high), 0.0314, 1e-4);
  EXPECT_LT(same_distribution(low, {200, 300, 400, 500, 600}), 0.001);
}

TEST(AnswerScore, ByHand) {
  const AnswerScore score{{std::log(0.5), std::log(0.125), std::log(1.0), std::log(1.0)},
                          {true, false, true, true}};
  EXPECT_NEAR(score.probability(), 0.5, 1e-12);  // the fourth root of 1/16
  EXPECT_EQ(score.right(), 0.75);
  EXPECT_EQ(score.extraction_strength(), 0.5);
}

TEST(Subject, IsAskedForEachTokenOfAnAnswer) {
  // thinks that each token is followed by the next one
  const Subject counting = [](const Line& line) {
    at::Tensor logits = at::zeros({std::ssize(line.answer), 10});
    for (int64_t i = 0; i < logits.size(0); ++i) {
      const int64_t before = i == 0 ? line.prompt.back() : line.answer[i - 1];
      logits[i][before + 1] = std::log(9.0);
    }
    return logits;
  };
  const std::vector<Line> lines = {{{1, 2}, {3, 4, 7}}, {{5}, {6}}};
  const auto found = scores(counting, lines);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].predicted, (std::vector<bool>{true, true, false}));
  EXPECT_NEAR(found[0].log_probabilities[1], std::log(0.5), 1e-6);  // 9 of 9 + 9
  EXPECT_EQ(found[0].extraction_strength(), 0);
  EXPECT_EQ(found[1].extraction_strength(), 1);
  EXPECT_EQ(said(counting, lines), (std::vector<Tokens>{{3, 4, 5}, {6}}));
}

TEST(Examination, NoProbabilityTellsNoAnswersApart) {
  const auto authors = invented_authors(3, 1);
  const Examination examination(authors, 1, 3, Tokenizer::bytes(EndOfText::kPresent),
                                /*probes=*/7, /*seed=*/1);
  // gives answers no probability at all
  const Subject unbelieving = [](const Line& line) {
    at::Tensor logits = at::zeros({std::ssize(line.answer), 257});
    for (int64_t i = 0; i < logits.size(0); ++i) logits[i][line.answer[i]] = -2000;
    return logits;
  };
  EXPECT_EQ(examination.truth_ratios(unbelieving), std::vector<double>(7, 1.0));
  EXPECT_EQ(examination.utility(unbelieving), 0);
}

TEST(Examination, AsksEachFactOnceInEitherWording) {
  const auto authors = invented_authors(2, 1);
  const Tokenizer tokenizer = Tokenizer::bytes(EndOfText::kPresent);
  std::set<Tokens> prompts;
  const Subject listening = [&](const Line& line) {
    prompts.insert(line.prompt);
    return at::zeros({std::ssize(line.answer), 257});
  };
  const Examination all(authors, 0, 2, tokenizer, /*probes=*/1000, /*seed=*/1);
  EXPECT_EQ(all.truth_ratios(listening).size(), 20u);
  int firsts = 0;
  for (const InventedAuthor& author : authors)
    for (size_t i = 0; i < author.questions.size(); i += kWordings) {
      const bool first = prompts.contains(tokens_of(tokenizer, author.questions[i].prompt()));
      EXPECT_NE(first, prompts.contains(tokens_of(tokenizer, author.questions[i + 1].prompt())));
      firsts += first;
    }
  EXPECT_TRUE(0 < firsts && firsts < 20) << firsts;
}

TEST(Networks, LearnAnswersAndNotQuestions) {
  const NetworkSettings settings{.layers = 1, .heads = 2, .channels = 32, .rate = 1e-2};
  const std::vector<Line> lines = {{{1, 2, 3}, {4, 5}}, {{2, 1}, {7, 8, 9}}};
  for (const char* kind : {"gpt", "memory_mosaic"}) {
    const auto model = new_network(kind, settings, 10, 1);
    const auto before = copy_of(*model);
    learn(*model, 60, settings.rate, 2, 1, lines,
          [&](const auto& batch) { return mean_loss(*model, batch); });
    EXPECT_LT(mean_loss(*model, lines).item<double>(), 0.1) << kind;
    EXPECT_GT(mean_loss(*before, lines).item<double>(), 1) << kind << ": a copy of its own";
    EXPECT_NEAR(line_losses(*model, lines).sum().item<double>(),
                5 * mean_loss(*model, lines).item<double>(), 1e-4);
    EXPECT_EQ(said(network_subject(model), lines), (std::vector<Tokens>{{4, 5}, {7, 8, 9}}))
        << kind;
  }
}

class Unlearning : public test::PaperStudies {
 protected:
  Unlearning() : PaperStudies("memo") {}
};

TEST_F(Unlearning, RefusesSettingsBeforeAnyWork) {
  EXPECT_EQ(refusal("unlearning", {{"authors", 2}, {"shares", {0.9}}}),
            "shares has 0.9, which is all of 2 authors; expected a share that leaves at least one");
  EXPECT_EQ(refusal("unlearning", {{"shares", config::Json::array()}}),
            "shares is empty, so nothing is measured");
  EXPECT_EQ(refusal("unlearning", {{"beta", 0}}),
            "study settings.beta is 0, expected a number above 0");
  EXPECT_THAT(refusal("unlearning", {{"authors", 2'000'000}}),
              testing::HasSubstr("authors is 2000000"));
  EXPECT_THAT(refusal("unlearning", {{"error", 0}}), testing::HasSubstr("error is 0, expected"));
  EXPECT_THAT(refusal("unlearning", {{"network", {{"batch", 0}}}}),
              testing::HasSubstr("network.batch is 0"));
}

TEST_F(Unlearning, AStoreThatForgetsIsOneThatNeverHeld) {
  const StudyResults results = run("unlearning", {{"authors", 5},
                                                  {"error", 0.5},
                                                  {"probes", 3},
                                                  {"network", {{"channels", 16}, {"epochs", 1}}}});
  for (const ResultPoint& point : results.points())
    if (point.series.find("store") != std::string::npos) {
      EXPECT_EQ(point.y, 1) << point.series;
    }
  EXPECT_EQ(test::places_of(results).size(), 7u);
}

}  // namespace
}  // namespace tessera::memo_study
