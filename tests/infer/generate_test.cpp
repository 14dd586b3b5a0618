#include "tessera/infer/generate.h"

#include <ATen/core/grad_mode.h>

#include <gtest/gtest.h>

#include <csignal>
#include <set>

#include "tessera/base/error.h"
#include "tessera/base/interrupt.h"
#include "tests/infer/tiny_models.h"

namespace tessera {
namespace {

using test::kVocabulary;
using test::kWindow;
using test::recomputed;
using test::some_text;

/// Token n is the letter n.
std::string letter(int64_t token) {
  return std::string(1, static_cast<char>('a' + token));
}

Tokens ids(const Generation& generation) {
  Tokens result;
  for (const auto& token : generation.tokens) result.push_back(token.token);
  return result;
}

GenerateOptions greedy(int64_t max_tokens) {
  GenerateOptions options;
  options.max_tokens = max_tokens;
  options.sampling.temperature = 0;
  options.token_bytes = letter;
  return options;
}

TEST(Generate, GreedyTextIsThatOfRecomputingEverything) {
  for (const auto& model : {test::tiny_mosaic(), test::tiny_gpt(Positions::kRotary),
                            test::tiny_gpt(Positions::kLearned)}) {
    const bool ends = !model->reads_past_window();
    for (int64_t prompt_length : {int64_t{1}, 2 * kWindow}) {
      Tokens text = some_text(prompt_length, 2);
      const auto generation = generate(*model, {{text}}, greedy(3 * kWindow))[0];
      ASSERT_EQ(generation.tokens.size(), 3u * kWindow);
      std::string letters;
      for (const auto& token : generation.tokens) {
        const at::Tensor next = recomputed(*model, text, ends ? kWindow : SIZE_MAX).log_softmax(-1);
        EXPECT_EQ(token.token, next.argmax().item<int64_t>());
        EXPECT_NEAR(*token.log_probability, next.max().item<double>(), 1e-4);
        EXPECT_TRUE(token.greedy);
        text.push_back(token.token);
        letters += letter(token.token);
      }
      EXPECT_EQ(generation.text, letters);
      EXPECT_EQ(generation.finish, Finish::kMaxTokens);
    }
  }
}

TEST(Generate, PromptsTogetherComeOutAsEachAlone) {
  const auto model = test::tiny_mosaic();
  GenerateOptions options;
  options.max_tokens = 3 * kWindow;
  options.sampling.seed = 7;
  options.sampling.top_p = 0.9;
  options.sampling.repetition_penalty = 1.1;
  options.token_bytes = letter;
  options.stop = {"ab", "q"};  // they end at different times
  options.end_of_text = 11;
  std::vector<Prompt> prompts;
  for (uint64_t i = 0; i < 8; ++i)
    prompts.push_back({some_text(1 + 3 * i % 10, i / 2), i});  // some prompts are equal
  const auto together = generate(*model, prompts, options);
  std::set<size_t> lengths;
  for (size_t i = 0; i < prompts.size(); ++i) {
    const auto alone = generate(*model, {prompts[i]}, options)[0];
    EXPECT_EQ(ids(together[i]), ids(alone));
    EXPECT_EQ(together[i].text, alone.text);
    EXPECT_EQ(together[i].finish, alone.finish);
    lengths.insert(alone.tokens.size());
  }
  EXPECT_GT(lengths.size(), 1u);
}

TEST(Generate, SequenceNumbersMakeSamplesDiffer) {
  const auto model = test::tiny_mosaic();
  GenerateOptions options;
  options.max_tokens = 20;
  const Tokens prompt = some_text(4, 1);
  const auto texts = generate(*model, {{prompt, 0}, {prompt, 1}, {prompt, 0}}, options);
  EXPECT_EQ(ids(texts[0]), ids(texts[2]));
  EXPECT_NE(ids(texts[0]), ids(texts[1]));
  options.sampling.seed = 1;
  EXPECT_NE(ids(texts[0]), ids(generate(*model, {{prompt, 0}}, options)[0]));
}

TEST(Generate, NoTokensMayBeAskedFor) {
  const auto model = test::tiny_mosaic();
  GenerateOptions options = greedy(0);
  bool called = false;
  const auto on_token = [&](const GeneratedToken&) { return called = true; };
  const auto generation = generate(*model, {{some_text(3, 1)}}, options, on_token)[0];
  EXPECT_TRUE(generation.tokens.empty());
  EXPECT_EQ(generation.finish, Finish::kMaxTokens);
  EXPECT_FALSE(called);
  options.echo = true;
  EXPECT_EQ(ids(generate(*model, {{some_text(3, 1)}}, options)[0]), some_text(3, 1));
  EXPECT_TRUE(generate(*model, {}, greedy(5)).empty());
}

TEST(Generate, EchoScoresThePrompt) {
  const auto model = test::tiny_mosaic();
  GenerateOptions options = greedy(1);
  options.echo = true;
  options.sampling.alternatives = 1;
  const Tokens prompt = some_text(6, 3);
  const auto generation = generate(*model, {{prompt}}, options)[0];
  ASSERT_EQ(generation.tokens.size(), 7u);  // the prompt and just one more
  const auto scores = score_texts(*model, {prompt}, {1, {}})[0];
  EXPECT_FALSE(generation.tokens[0].log_probability.has_value());
  for (size_t t = 1; t < 6; ++t) {
    EXPECT_EQ(*generation.tokens[t].log_probability, *scores[t].log_probability);
    EXPECT_EQ(generation.tokens[t].alternatives[0].token, scores[t].alternatives[0].token);
  }
  EXPECT_EQ(generation.text, letter(generation.tokens[6].token));
}

TEST(Generate, StopsAtStringsThatSpanTokens) {
  const auto model = test::tiny_mosaic();
  GenerateOptions options;
  options.max_tokens = 12;
  std::vector<std::string> pieces;
  const auto run = [&](const std::string& stop) {
    // Whatever the tokens, their bytes are a, b, c, …, l.
    options.token_bytes = [n = 0](int64_t) mutable { return letter(n++); };
    options.stop = {stop};
    pieces.clear();
    return generate(*model, {{{1}}}, options, [&](const GeneratedToken& token) {
      pieces.emplace_back(token.text);
      return true;
    })[0];
  };
  const auto stopped = run("def");
  EXPECT_EQ(stopped.text, "abc");
  EXPECT_EQ(stopped.finish, Finish::kStopString);
  EXPECT_EQ(stopped.tokens.size(), 6u);
  EXPECT_EQ(pieces, (std::vector<std::string>{"a", "b", "c", "", "", ""}));
  // Of a stop string that only begins, what was held back comes at the end.
  const auto whole = run("kl#");
  EXPECT_EQ(whole.text, "abcdefghijkl");
  EXPECT_EQ(whole.finish, Finish::kMaxTokens);
  EXPECT_EQ(pieces[10], "");
  EXPECT_EQ(pieces[11], "kl");
}

TEST(Generate, EndOfTextEndsAndIsNoText) {
  const auto model = test::tiny_mosaic();
  GenerateOptions options;
  options.max_tokens = 12;
  options.token_bytes = letter;
  const auto free = generate(*model, {{{1, 2}}}, options)[0];
  options.end_of_text = free.tokens[6].token;
  const auto ended = generate(*model, {{{1, 2}}}, options)[0];
  EXPECT_EQ(ended.finish, Finish::kEndOfText);
  EXPECT_EQ(ended.tokens.back().token, *options.end_of_text);
  EXPECT_EQ(ended.text, free.text.substr(0, ended.tokens.size() - 1));
}

TEST(Generate, AnEmptyPromptBeginsWithEndOfText) {
  const auto model = test::tiny_mosaic();
  EXPECT_THROW(generate(*model, {{{1}}, {{}}}, greedy(3)), UsageError);
  GenerateOptions options = greedy(5);
  options.end_of_text = 4;
  EXPECT_EQ(ids(generate(*model, {{{}}}, options)[0]), ids(generate(*model, {{{4}}}, options)[0]));
}

TEST(Generate, ACallerMayCancelOnePrompt) {
  const auto model = test::tiny_mosaic();
  const std::vector<Prompt> prompts = {{some_text(3, 1)}, {some_text(5, 2)}};
  const auto generations =
      generate(*model, prompts, greedy(10), [calls = 0](const GeneratedToken& token) mutable {
        return token.prompt == 1 || ++calls < 4;
      });
  EXPECT_EQ(generations[0].finish, Finish::kCancelled);
  EXPECT_EQ(generations[0].tokens.size(), 4u);
  EXPECT_EQ(generations[1].tokens.size(), 10u);
  EXPECT_EQ(ids(generations[1]), ids(generate(*model, {prompts[1]}, greedy(10))[0]));
}

TEST(Generate, ASignalEndsBetweenTokens) {
  const auto model = test::tiny_mosaic();
  {
    InterruptGuard guard;
    int calls = 0;
    const auto generation =
        generate(*model, {{some_text(3, 1)}}, greedy(100), [&](const GeneratedToken&) {
          if (++calls == 3) std::raise(SIGINT);
          return true;
        })[0];
    EXPECT_EQ(generation.finish, Finish::kInterrupted);
    EXPECT_EQ(generation.tokens.size(), 3u);
    EXPECT_EQ(generation.text.size(), 3u);
  }
}

TEST(Generate, PresenceAndFrequencyCountGeneratedTokensAlone) {
  const auto model = test::fixed_logits({1.0f, 0.9f, 0.0f});
  GenerateOptions options = greedy(6);
  const Tokens prompt = {0, 0, 0, 0, 1};
  EXPECT_EQ(ids(generate(*model, {{prompt}}, options)[0]), (Tokens{0, 0, 0, 0, 0, 0}));
  options.sampling.presence_penalty = 0.5;  // 0 falls to 0.5, then 1 to 0.4
  EXPECT_EQ(ids(generate(*model, {{prompt}}, options)[0]), (Tokens{0, 1, 0, 0, 0, 0}));
  options.sampling.presence_penalty = 0;
  options.sampling.frequency_penalty = 0.3;  // 0.7 and 0.9, 0.7 and 0.6, 0.4 and 0.6, 0.4 and 0.3
  EXPECT_EQ(ids(generate(*model, {{prompt}}, options)[0]), (Tokens{0, 1, 0, 1, 0, 1}));
  options.sampling.frequency_penalty = 0;
  options.sampling.repetition_penalty = 20;  // of the prompt, too: 0.05, 0.045 and 0
  EXPECT_EQ(ids(generate(*model, {{prompt}}, options)[0]), (Tokens{0, 0, 0, 0, 0, 0}));
  options.sampling.logit_bias = {{2, 0.5}};  // then 0.05, 0.045 and 0.5 / 20 once it was drawn
  EXPECT_EQ(ids(generate(*model, {{prompt}}, options)[0]), (Tokens{2, 0, 0, 0, 0, 0}));
}

TEST(ContinueText, GoesOnInTurnsAsInOneText) {
  for (const auto& model : {test::tiny_mosaic(), test::tiny_gpt(Positions::kLearned)}) {
    const Reading reading = natural_reading(*model);
    StreamingSession session(*model, reading);
    session.add({some_text(3, 1)});
    const Generation first = continue_text(session, greedy(kWindow));
    Tokens text = some_text(3, 1);
    EXPECT_EQ(ids(first), ids(generate(*model, {{text}}, greedy(kWindow))[0]));
    for (const auto& token : first.tokens) text.push_back(token.token);
    EXPECT_EQ(session.tokens(), std::vector<Tokens>{text}) << "it has read all that it wrote";

    const Generation second = continue_text(session, greedy(3));  // with nothing in between
    EXPECT_EQ(ids(second), ids(generate(*model, {{text}}, greedy(3))[0]));
    for (const auto& token : second.tokens) text.push_back(token.token);
    session.read({{4, 5, 6}});
    text.insert(text.end(), {4, 5, 6});
    GenerateOptions drawn;
    drawn.max_tokens = 5;
    drawn.sampling.presence_penalty = 0.5;
    EXPECT_EQ(ids(continue_text(session, drawn, {}, 3)),
              ids(generate(*model, {{text, 3}}, drawn)[0]));
  }
}

TEST(ContinueText, ASignalLeavesASessionThatGoesOn) {
  const auto model = test::tiny_mosaic();
  StreamingSession session(*model, Reading::kStreaming);
  session.add({some_text(3, 1)});
  Generation interrupted;
  {
    InterruptGuard guard;
    int calls = 0;
    interrupted = continue_text(session, greedy(100), [&](const GeneratedToken&) {
      if (++calls == 4) std::raise(SIGINT);
      return true;
    });
  }
  EXPECT_EQ(interrupted.finish, Finish::kInterrupted);
  EXPECT_EQ(interrupted.tokens.size(), 4u);
  EXPECT_EQ(session.tokens()[0].size(), 7u);
  const Generation rest = continue_text(session, greedy(6));
  const Tokens whole = ids(generate(*model, {{some_text(3, 1)}}, greedy(10))[0]);
  EXPECT_EQ(ids(rest), Tokens(whole.begin() + 4, whole.end()));
}

TEST(ContinueText, WantsOneSequence) {
  const auto model = test::tiny_mosaic();
  StreamingSession session(*model, Reading::kStreaming);
  EXPECT_THROW(continue_text(session, greedy(3)), UsageError);
  session.add({{1}, {2}});
  EXPECT_THROW(continue_text(session, greedy(3)), UsageError);
}

TEST(Generate, RefusesBadOptions) {
  const auto model = test::tiny_mosaic();
  const auto refused = [&](auto change) {
    GenerateOptions options = greedy(3);
    change(options);
    EXPECT_THROW(generate(*model, {{{1}}}, options), UsageError);
  };
  refused([](auto& options) { options.max_tokens = -1; });  // TextWriter.RefusesBadOptions has more
  refused([](auto& options) { options.reading = Reading::kWindowed, options.bound.pairs = 3; });
  EXPECT_THROW(generate(*model, {{{kVocabulary}}}, greedy(3)), UsageError);
}

TEST(Generate, DamagedParametersAreNamed) {
  const auto model = test::tiny_mosaic();
  at::NoGradGuard no_grad;
  model->named_parameters()["norm.weight"].fill_(NAN);
  EXPECT_THROW(generate(*model, {{{1}}}, greedy(3)), std::runtime_error);
}

}  // namespace
}  // namespace tessera
