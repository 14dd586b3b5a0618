#include "program/serve/engine.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <future>
#include <utility>

#include "program/serve/api_error.h"
#include "program/serve/fair_queue.h"
#include "tessera/infer/scoring.h"
#include "tests/program/serve/plain_decoder.h"
#include "tests/program/serve/tiny_service.h"

namespace tessera::serve {
namespace {

/// What came of one text.
struct Record {
  TokenIds tokens;
  std::promise<void> ended;
};

TextJob job_of(Record& record, TokenIds prompt, int64_t max_tokens, uint64_t seed = 1) {
  return {.prompt = std::move(prompt),
          .writing = {.max_tokens = max_tokens, .sampling = {.seed = seed}},
          .on_news = [&record](Written&& news) {
            record.tokens.push_back(news.token->token);
            if (news.finish) record.ended.set_value();
          }};
}

/// Asks for one text.
Engine::Ticket submit(Engine& engine, TextJob job, const std::string& client = "") {
  EngineRequest request;
  request.client = client;
  request.texts.push_back(std::move(job));
  return engine.submit(std::move(request));
}

/// Keeps an engine at work until it is released, so that what is asked meanwhile waits together.
class Hold {
 public:
  explicit Hold(Engine& engine) {
    EngineRequest request;
    request.calls.push_back([this] {
      held_.set_value();
      released_.get_future().wait();
    });
    ticket_ = engine.submit(std::move(request));
    held_.get_future().wait();
  }
  void release() { released_.set_value(); }

 private:
  std::promise<void> held_, released_;
  Engine::Ticket ticket_;
};

/// The job, whose end is told first.
TextJob telling(TextJob job, std::function<void()> on_end) {
  job.on_news = [on_news = job.on_news, on_end = std::move(on_end)](Written&& news) {
    if (news.finish) on_end();
    on_news(std::move(news));
  };
  return job;
}

TokenIds prompt_of(int64_t length, int64_t seed) {
  TokenIds tokens;
  for (int64_t i = 0; i < length; ++i) tokens.push_back((i * i * 5 + seed * (i + 1)) % 256);
  return tokens;
}

TEST(Engine, TextsSideBySideAreTheTextsAlone) {
  const auto count = 12;
  std::vector<TokenIds> alone;
  for (int i = 0; i < count; ++i) {
    const ServedModel model = served("mosaic", byte_mosaic());
    Record record;
    const auto ticket =
        submit(*model.engine, job_of(record, prompt_of(1 + 60 * (i % 6), i), 10 + i, i));
    record.ended.get_future().wait();
    alone.push_back(record.tokens);
  }
  const ServedModel model = served("mosaic", byte_mosaic(), {.rows = 5});
  std::vector<Record> records(count);
  std::vector<Engine::Ticket> tickets;
  Hold hold(*model.engine);
  for (int i = 0; i < count; ++i)
    tickets.push_back(submit(*model.engine,
                             job_of(records[i], prompt_of(1 + 60 * (i % 6), i), 10 + i, i),
                             std::to_string(i % 3)));
  hold.release();
  for (int i = 0; i < count; ++i) {
    records[i].ended.get_future().wait();
    EXPECT_EQ(records[i].tokens, alone[i]) << i;
  }
  EXPECT_LT(model.engine->counts().steps, 12 * 10);  // side by side, indeed
}

/// Writes one token of each text; to go on fails.
class FailingDecoder : public PlainDecoder {
  void step(const std::vector<int64_t>& rows, const TokenIds&) override {
    if (!rows.empty()) throw std::runtime_error("the disk is gone");
    clear();
  }
};

TEST(Engine, AFailureEndsTheTextsOfTheMomentAndLaterOnesAreWritten) {
  Engine engine(std::make_unique<FailingDecoder>(), {});
  for (const bool even_telling_fails : {true, false}) {
    Record failing, short_one;
    std::promise<void> told;
    EngineRequest request;
    request.texts.push_back(job_of(failing, {1}, 5));
    request.on_failure = [&](std::exception_ptr) {
      told.set_value();
      if (even_telling_fails) throw std::bad_alloc();
    };
    const auto ticket = engine.submit(std::move(request));
    told.get_future().wait();
    const auto next_ticket = submit(engine, job_of(short_one, {1}, 1));
    short_one.ended.get_future().wait();
    EXPECT_EQ(short_one.tokens.size(), 1u);
  }
  while (engine.counts().rows > 0) std::this_thread::yield();
}

TEST(Engine, ACancelledRequestIsNotCalledAnyMore) {
  const ServedModel model = served("mosaic", byte_mosaic());
  std::atomic<int64_t> tokens = 0;
  Record record;
  TextJob job = job_of(record, {1}, 1000000);
  job.on_news = [&](Written&&) { ++tokens; };
  auto ticket = submit(*model.engine, std::move(job));
  while (tokens < 3) std::this_thread::yield();
  ticket.reset();
  const int64_t then = tokens;
  while (model.engine->counts().rows > 0) std::this_thread::yield();
  EXPECT_EQ(tokens, then);
}

TEST(Engine, TextsThatWouldTakeTooMuchMemoryAreRefusedBeforeTheyStart) {
  const ServedModel model =
      served("mosaic", byte_mosaic(), {.memory = std::make_shared<MemoryBudget>(1e6)});
  Record record;
  EXPECT_THROW(submit(*model.engine, job_of(record, {1}, 100000)), ApiError);

  // Together they would: one waits for the other.
  std::vector<Record> records(6);
  std::vector<Engine::Ticket> tickets;
  Hold hold(*model.engine);
  const auto see_who_else_is_written = [&] { EXPECT_LT(model.engine->counts().rows, 6); };
  for (Record& one : records)
    tickets.push_back(
        submit(*model.engine, telling(job_of(one, {1}, 700), see_who_else_is_written)));
  hold.release();
  for (Record& one : records) one.ended.get_future().wait();
}

TEST(Engine, ARequestThatCouldNeverWaitIsNotToldToComeBack) {
  Engine engine(std::make_unique<PlainDecoder>(), {.queue = 2});
  Record one, other;
  EngineRequest request;
  request.texts = {job_of(one, {1}, 1), job_of(other, {1}, 1)};
  request.scores.push_back({{{1}}, 0, [](std::vector<std::vector<ScoredToken>>&&) {}});
  try {
    engine.submit(std::move(request));
    FAIL() << "it waits";
  } catch (const ApiError& error) {
    EXPECT_EQ(error.status(), 413) << error.what();
  }
}

TEST(Engine, AFailedTextDoesNotHarmTheOthers) {
  const ServedModel model = served("mosaic", byte_mosaic());
  Record good, bad;
  EngineRequest broken;
  broken.texts.push_back(job_of(bad, {1}, 50));
  for (int64_t token = 0; token < 257; ++token)
    broken.texts[0].writing.sampling.logit_bias[token] = -INFINITY;  // nothing is left to draw
  std::promise<std::string> failure;
  broken.on_failure = [&](std::exception_ptr error) {
    failure.set_value(as_api_error(error).what());
  };
  const auto first = submit(*model.engine, job_of(good, {1}, 50));
  const auto second = model.engine->submit(std::move(broken));
  EXPECT_NE(failure.get_future().get().find("no token"), std::string::npos);
  good.ended.get_future().wait();
  EXPECT_EQ(good.tokens.size(), 50u);
  EXPECT_TRUE(bad.tokens.empty());
}

TEST(Engine, ALongTextThatIsScoredLetsOthersPass) {
  const ServedModel model = served("mosaic", byte_mosaic());
  const TokenIds text = prompt_of(20000, 1);
  bool scored = false;  // which the engine's thread alone sees
  std::promise<std::vector<std::vector<ScoredToken>>> scores;
  EngineRequest request;
  request.scores.push_back({{text}, 1, [&](std::vector<std::vector<ScoredToken>>&& result) {
                              scored = true;
                              scores.set_value(std::move(result));
                            }});
  Hold hold(*model.engine);
  std::vector<Engine::Ticket> tickets = {model.engine->submit(std::move(request))};
  std::array<Record, 3> records;  // of the same client, one after another
  const std::function<void(size_t)> write = [&](size_t i) {
    const auto on_end = [&, i] {
      EXPECT_FALSE(scored) << i;
      if (i + 1 < records.size()) write(i + 1);
    };
    tickets.push_back(
        submit(*model.engine, telling(job_of(records[i], prompt_of(5, i), 10), on_end)));
  };
  write(0);
  hold.release();
  for (Record& record : records) record.ended.get_future().wait();
  const auto result = scores.get_future().get().front();
  const auto expected = score_texts(*byte_mosaic(), {text}, {1, {}, true}).front();
  ASSERT_EQ(result.size(), text.size() + 1);
  for (size_t t = 1; t < result.size(); ++t)
    ASSERT_NEAR(*result[t].log_probability, *expected[t].log_probability, 1e-5) << t;
}

TEST(Engine, ALongPromptLetsOthersPass) {
  const ServedModel model = served("mosaic", byte_mosaic());
  Record slow, quick;
  Hold hold(*model.engine);
  const auto first = submit(*model.engine, job_of(slow, prompt_of(20000, 1), 1));
  const auto second = submit(*model.engine, telling(job_of(quick, prompt_of(5, 2), 20),
                                                    [&] { EXPECT_TRUE(slow.tokens.empty()); }));
  hold.release();
  quick.ended.get_future().wait();
  slow.ended.get_future().wait();
}

/// Counts the tokens that it reads.
class CountingMosaic : public MemoryMosaic {
 public:
  using MemoryMosaic::MemoryMosaic;
  SequenceOutput read(const at::Tensor& tokens, SequenceState&& state,
                      int64_t first_output) override {
    read_tokens += tokens.numel();
    return MemoryMosaic::read(tokens, std::move(state), first_output);
  }

  std::atomic<int64_t> read_tokens = 0;
};

TEST(Engine, EqualPromptsOfARequestAreReadOnce) {
  constexpr int64_t kTokens = 2000;
  const auto mosaic = byte_mosaic<CountingMosaic>();
  const ServedModel model = served("mosaic", mosaic);
  std::vector<Record> records(8);
  EngineRequest request;
  for (Record& record : records) request.texts.push_back(job_of(record, prompt_of(kTokens, 1), 2));
  const auto ticket = model.engine->submit(std::move(request));
  for (Record& record : records) record.ended.get_future().wait();
  EXPECT_GE(mosaic->read_tokens, kTokens);
  EXPECT_LT(mosaic->read_tokens, 2 * kTokens);
}

TEST(FairQueue, ClientsTakeTurns) {
  FairQueue<int> queue;
  for (const int item : {1, 2, 3}) queue.push("a", item);
  queue.push("b", 10);
  queue.push("c", 20);
  queue.push("b", 11);
  std::vector<int> order;
  EXPECT_FALSE(queue.pop([](int) { return false; }));
  while (const auto item = queue.pop([](int) { return true; })) order.push_back(*item);
  EXPECT_EQ(order, (std::vector<int>{1, 10, 20, 2, 11, 3}));
}

TEST(FairQueue, WhatMayNotGoLetsOthersPass) {
  FairQueue<int> queue;
  for (const int item : {1, 2, 3}) queue.push("a", item);
  queue.push("b", 10);
  EXPECT_EQ(queue.pop([](int item) { return item != 1; }), 2);
  EXPECT_EQ(queue.pop([](int item) { return item != 1; }), 10);
  EXPECT_EQ(queue.pop([](int item) { return item == 1; }), 1);
  EXPECT_EQ(queue.pop([](int) { return true; }), 3);
  EXPECT_FALSE(queue.pop([](int) { return true; }));
}

}  // namespace
}  // namespace tessera::serve
