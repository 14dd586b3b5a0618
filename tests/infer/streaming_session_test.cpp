#include "tessera/infer/streaming_session.h"

#include <gtest/gtest.h>

#include <csignal>

#include "tessera/base/error.h"
#include "tessera/base/interrupt.h"
#include "tests/infer/tiny_models.h"

namespace tessera {
namespace {

using test::kVocabulary;
using test::kWindow;
using test::largest_difference;
using test::recomputed;
using test::some_text;

std::vector<std::shared_ptr<LanguageModel>> models_without_end() {
  return {test::tiny_mosaic(), test::tiny_mosaic(Parameterisation::kNano),
          test::tiny_gpt(Positions::kRotary), test::tiny_gpt(Positions::kAlibi)};
}

Tokens next_tokens(const StreamingSession& session) {
  Tokens next;
  for (const auto& text : session.tokens())
    next.push_back((5 * text.size() + text[0]) % kVocabulary);
  return next;
}

void expect_recomputed(LanguageModel& model, const StreamingSession& session,
                       const at::Tensor& logits, size_t window = SIZE_MAX) {
  ASSERT_EQ(logits.size(0), std::ssize(session.tokens()));
  for (size_t row = 0; row < session.tokens().size(); ++row)
    EXPECT_LT(largest_difference(logits[row], recomputed(model, session.tokens()[row], window)),
              1e-4)
        << model.kind() << ", row " << row << ", " << session.tokens()[row].size() << " tokens";
}

TEST(StreamingSession, EqualsTheWholeSequenceReadAtOnceAtEveryPosition) {
  for (const auto& model : models_without_end()) {
    StreamingSession session(*model, Reading::kStreaming);
    at::Tensor logits = session.add({some_text(1, 1), some_text(11, 2), some_text(5, 3)});
    for (int64_t t = 0; t < 3 * kWindow; ++t) {
      expect_recomputed(*model, session, logits);
      if (t == 5) session.select({2, 0});          // one leaves, the others change places
      if (t == 9) session.add({some_text(3, 4)});  // one comes later
      if (t == 12) session.select({0, 1, 2, 1});   // one goes on twice
      logits = session.step(next_tokens(session));
    }
    EXPECT_EQ(session.tokens().size(), 4u);
    EXPECT_EQ(session.tokens()[0].size(), 5u + 3 * kWindow);
  }
}

TEST(StreamingSession, SessionsReadApartGoOnTogether) {
  for (const auto& model : models_without_end()) {
    StreamingSession prefix(*model, Reading::kStreaming);
    prefix.add({some_text(4, 1)});
    StreamingSession fork = prefix;
    fork.read({{2, 9, 3}});
    StreamingSession together(*model, Reading::kStreaming);
    together.append(StreamingSession(prefix));
    together.append(std::move(fork));
    together.append(StreamingSession(*model, Reading::kStreaming));  // of no sequence
    for (int64_t t = 0; t < kWindow; ++t) {
      expect_recomputed(*model, together, together.logits());
      together.step(next_tokens(together));
    }
    EXPECT_EQ(together.tokens()[0].size() + 3, together.tokens()[1].size());
    EXPECT_EQ(prefix.tokens()[0].size(), 4u);
  }
  const auto model = test::tiny_mosaic(), other = test::tiny_mosaic();
  StreamingSession session(*model, Reading::kStreaming);
  EXPECT_THROW(session.append(StreamingSession(*other, Reading::kStreaming)), UsageError);
  EXPECT_THROW(session.append(StreamingSession(*model, Reading::kWindowed)), UsageError);
}

TEST(StreamingSession, WindowedReadingSeesTheLastWindowAlone) {
  for (const auto& model : {test::tiny_mosaic(), test::tiny_gpt(Positions::kLearned)}) {
    StreamingSession session(*model, Reading::kWindowed);
    at::Tensor logits = session.add({some_text(2, 1), some_text(6, 2)});
    for (int64_t t = 0; t < 3 * kWindow; ++t) {
      expect_recomputed(*model, session, logits, kWindow);
      logits = session.step(next_tokens(session));
    }
    logits = session.add({some_text(2 * kWindow, 3), some_text(3, 4)});
    session.select({2, 3});
    expect_recomputed(*model, session, logits, kWindow);
    session.select({});
    logits = session.add({some_text(3, 4)});
    expect_recomputed(*model, session, logits, kWindow);
  }
}

TEST(StreamingSession, ReadingIsNaturallyWindowedWhereLearnedPositionsEnd) {
  EXPECT_EQ(natural_reading(*test::tiny_mosaic()), Reading::kStreaming);
  EXPECT_EQ(natural_reading(*test::tiny_gpt(Positions::kAlibi)), Reading::kStreaming);
  EXPECT_EQ(natural_reading(*test::tiny_gpt(Positions::kLearned)), Reading::kWindowed);
}

TEST(StreamingSession, LearnedPositionsEndAtTheWindow) {
  const auto model = test::tiny_gpt(Positions::kLearned);
  StreamingSession session(*model, Reading::kStreaming);
  session.add({some_text(kWindow, 1)});
  EXPECT_THROW(session.step({3}), UsageError);
  EXPECT_THROW(session.add({some_text(kWindow + 1, 1)}), UsageError);
  EXPECT_EQ(session.tokens(), std::vector<Tokens>{some_text(kWindow, 1)});
}

TEST(StreamingSession, BoundedMemoriesReadAPromptAsTheyReadSteps) {
  const auto model = test::tiny_mosaic();
  for (Eviction eviction : {Eviction::kOldest, Eviction::kLeastUsed}) {
    const MemoryBound bound{4, eviction};
    const Tokens text = some_text(3 * kWindow, 6);
    StreamingSession whole(*model, Reading::kStreaming, bound);
    const at::Tensor at_once = whole.add({text, some_text(2, 1)})[0];
    StreamingSession stepped(*model, Reading::kStreaming, bound);
    at::Tensor logits = stepped.add({{text[0]}});
    for (size_t t = 1; t < text.size(); ++t) logits = stepped.step({text[t]});
    EXPECT_LT(largest_difference(at_once, logits[0]), 1e-4);
    EXPECT_GT(largest_difference(at_once, recomputed(*model, text)), 1e-2);
  }
}

TEST(StreamingSession, ACopyIsAFork) {
  for (Reading reading : {Reading::kStreaming, Reading::kWindowed}) {
    const auto model = test::tiny_mosaic();
    StreamingSession one(*model, reading);
    one.add({some_text(5, 1)});
    StreamingSession other = one;
    for (int64_t t = 0; t < kWindow; ++t) {
      const at::Tensor in_one = one.step({t % kVocabulary});
      const at::Tensor in_other = other.step({(3 * t + 1) % kVocabulary});
      const size_t window = reading == Reading::kWindowed ? kWindow : SIZE_MAX;
      expect_recomputed(*model, one, in_one, window);
      expect_recomputed(*model, other, in_other, window);
    }
    EXPECT_NE(one.tokens(), other.tokens());
    one = other;
    EXPECT_EQ(one.tokens(), other.tokens());
  }
}

TEST(StreamingSession, EqualPromptsAreSequencesOfTheirOwn) {
  const auto model = test::tiny_mosaic();
  StreamingSession session(*model, Reading::kStreaming);
  const at::Tensor logits =
      session.add({some_text(4, 2), some_text(3, 1), some_text(4, 2), some_text(3, 1)});
  expect_recomputed(*model, session, logits);
  expect_recomputed(*model, session, session.step({1, 2, 3, 4}));
}

TEST(StreamingSession, WhatAnEmptyOneReadsBeginsItsSequences) {
  const auto model = test::tiny_mosaic();
  StreamingSession session(*model, Reading::kStreaming), other(*model, Reading::kStreaming);
  const at::Tensor logits = session.read({some_text(4, 1), some_text(4, 2)});
  EXPECT_TRUE(logits.equal(other.add({some_text(4, 1), some_text(4, 2)})));
  EXPECT_EQ(session.tokens(), other.tokens());
  expect_recomputed(*model, session, session.step({1, 2}));
}

TEST(StreamingSession, RefusesBadArgumentsAndStaysAsItWas) {
  const auto model = test::tiny_mosaic();
  EXPECT_THROW(StreamingSession(*model, Reading::kWindowed, {4}), UsageError);
  StreamingSession session(*model, Reading::kStreaming);
  EXPECT_THROW(session.step({}), UsageError);
  EXPECT_THROW(session.read({{}}), UsageError);
  EXPECT_THROW(session.add({{1, 2}, {}}), UsageError);
  EXPECT_THROW(session.add({{1, kVocabulary}}), UsageError);
  EXPECT_EQ(session.add({}).sizes(), (at::IntArrayRef{0, kVocabulary}));
  EXPECT_TRUE(session.tokens().empty());
  session.add({{1, 2}, {3}});
  EXPECT_THROW(session.step({1}), UsageError);
  EXPECT_THROW(session.step({1, -1}), UsageError);
  EXPECT_THROW(session.read({{1, 2}, {3}}), UsageError);
  EXPECT_THROW(session.read({{}, {}}), UsageError);
  EXPECT_THROW(session.select({0, 2}), UsageError);
  expect_recomputed(*model, session, session.step({4, 5}));
}

TEST(StreamingSession, PromptsWhosePairsAreKeptInOtherNumbersAreRefused) {
  const auto model = test::tiny_mosaic();
  StreamingSession session(*model, Reading::kStreaming);
  const at::Tensor logits = session.add({some_text(5, 1)}).clone();
  model->keep_pairs_in(ops::WeightType::kBFloat16);
  EXPECT_THROW(session.add({some_text(4, 2)}), UsageError);
  EXPECT_EQ(session.tokens().size(), 1u);
  EXPECT_TRUE(session.logits().equal(logits));
  EXPECT_EQ(session.step({3}).size(0), 1);
}

TEST(StreamingSession, SeveralTokensAreReadAsOneByOne) {
  for (const auto& model : {test::tiny_mosaic(), test::tiny_gpt(Positions::kLearned)})
    for (Reading reading : {natural_reading(*model), Reading::kWindowed}) {
      const size_t window = reading == Reading::kWindowed ? kWindow : SIZE_MAX;
      StreamingSession session(*model, reading);
      session.add({some_text(2, 1), some_text(4, 2)});
      for (int64_t length : {1, 3, 1, 9, 2}) {
        const at::Tensor logits = session.read({some_text(length, 3), some_text(length, 4)});
        expect_recomputed(*model, session, logits, window);
        EXPECT_TRUE(at::equal(logits, session.logits()));
      }
      EXPECT_EQ(session.tokens()[0].size(), 2u + 16);
    }
}

TEST(StreamingSession, LogitsFollowTheSequences) {
  const auto model = test::tiny_mosaic();
  StreamingSession session(*model, Reading::kStreaming);
  EXPECT_THROW(session.logits(), UsageError);
  const at::Tensor first = session.add({{1, 2}, {3}});
  const at::Tensor last = session.add({{4, 5, 6}});
  EXPECT_TRUE(at::equal(session.logits(), at::cat({first, last})));
  session.select({2, 0, 2});
  EXPECT_TRUE(at::equal(session.logits(), at::stack({last[0], first[0], last[0]})));
  session.select({});
  EXPECT_TRUE(at::equal(session.add({{3}}), session.logits()));
}

TEST(StreamingSession, LongTextsAreReadInPieces) {
  const auto model = test::tiny_mosaic();
  const Tokens text = some_text(2 * kPieceTokens + 7, 1);
  StreamingSession session(*model, Reading::kStreaming);
  expect_recomputed(*model, session, session.add({text}));
  StreamingSession other(*model, Reading::kStreaming);
  other.add({{text[0]}});
  const at::Tensor logits = other.read({Tokens(text.begin() + 1, text.end())});
  EXPECT_LT(largest_difference(logits, session.logits()), 1e-4);
}

TEST(StreamingSession, ASignalBetweenPiecesLeavesItAsItWas) {
  const auto model = test::tiny_mosaic();
  StreamingSession session(*model, Reading::kStreaming);
  session.add({some_text(3, 1)});
  const Tokens longer = some_text(kPieceTokens + 1, 2);
  {
    InterruptGuard guard;
    std::raise(SIGINT);
    EXPECT_THROW(session.read({longer}), Interrupted);
    EXPECT_THROW(session.add({longer}), Interrupted);
    EXPECT_THROW(session.add({{1}, {2}}), Interrupted);
  }
  EXPECT_EQ(session.tokens(), std::vector<Tokens>{some_text(3, 1)});
  expect_recomputed(*model, session, session.step({5}));
}

TEST(StreamingSession, InBf16ItDiffersFromAFullPassByRounding) {
  const MemoryMosaicConfig config{.vocabulary = kVocabulary,
                                  .window = 64,
                                  .layers = 4,
                                  .heads = 2,
                                  .channels = 64,
                                  .precision = ops::Precision::kBFloat16};
  MemoryMosaic model(config);
  const Tokens text = some_text(64, 1);
  StreamingSession session(model, Reading::kStreaming);
  at::Tensor logits = session.add({{text[0]}});
  for (size_t t = 1; t < text.size(); ++t) logits = session.step({text[t]});
  const at::Tensor whole = recomputed(model, text);
  // What streaming_session.h and docs/generate.md say.
  EXPECT_LT(largest_difference(logits[0].log_softmax(-1), whole.log_softmax(-1)), 0.03);
}

TEST(StreamingSession, WantsNoGradient) {
  const auto model = test::tiny_mosaic();
  StreamingSession session(*model, Reading::kWindowed);
  EXPECT_FALSE(session.add({some_text(2 * kWindow, 1)}).requires_grad());
  EXPECT_FALSE(session.step({1}).requires_grad());
}

}  // namespace
}  // namespace tessera
