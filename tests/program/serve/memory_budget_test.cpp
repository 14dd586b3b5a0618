#include "program/serve/memory_budget.h"

#include <gtest/gtest.h>

#include <future>

#include "program/serve/api_error.h"
#include "program/serve/engine.h"
#include "tests/program/serve/plain_decoder.h"

namespace tessera::serve {
namespace {

using Share = MemoryBudget::Share;

std::shared_ptr<Bell> bell() {
  return std::make_shared<Bell>();
}

TEST(MemoryBudget, WhatIsGivenBackMayBeTaken) {
  MemoryBudget memory(10);
  const auto first = bell(), second = bell();
  Share share = memory.take(7, first);
  ASSERT_TRUE(share);
  EXPECT_FALSE(memory.take(4, second));
  share.reset();
  second->wait();  // it was rung
  EXPECT_TRUE(memory.take(4, second));
}

TEST(MemoryBudget, NobodyPassesWhoWaitsLonger) {
  MemoryBudget memory(10);
  const auto large = bell(), small = bell();
  Share share = memory.take(7, bell());
  EXPECT_FALSE(memory.take(9, large));
  EXPECT_FALSE(memory.take(1, small)) << "there is room, but not for the first one";
  memory.leave(large);
  small->wait();
  const Share little = memory.take(1, small);
  EXPECT_TRUE(little);
  EXPECT_FALSE(memory.take(9, large));
  share.reset();
  large->wait();
  EXPECT_TRUE(memory.take(9, large));
}

TEST(MemoryBudget, OneThatAllWouldNotDoForGetsItAlone) {
  MemoryBudget memory(10);
  Share share = memory.take(1, bell());
  const auto larger = bell();
  EXPECT_FALSE(memory.take(11, larger));
  share.reset();
  EXPECT_TRUE(memory.take(11, larger));
}

TEST(MemoryBudget, ThePromptThatIsUsedLeastRecentlyLeavesFirstWhoseverItIs) {
  MemoryBudget memory(100);
  const int one = 0, other = 0;
  const auto kept = [&](const void* owner, const std::vector<int64_t>& tokens) {
    const auto found = memory.longest_prefix(owner, tokens);
    return found ? std::any_cast<std::string>(found->first) : "";
  };
  memory.keep(&one, {1, 2}, std::string("12"), 40);
  memory.keep(&other, {1, 2, 3}, std::string("123"), 40);
  EXPECT_EQ(kept(&one, {1, 2, 3, 4}), "12");  // used now
  EXPECT_EQ(kept(&one, {1}), "");
  EXPECT_EQ(kept(&one, {2, 1, 2}), "");
  memory.keep(&one, {1, 2}, std::string("again"), 40);  // is kept already
  EXPECT_EQ(memory.kept_bytes(), 80);
  memory.keep(&one, {1, 2, 3}, std::string("1-3"), 30);
  EXPECT_EQ(kept(&other, {1, 2, 3}), "");
  EXPECT_EQ(kept(&one, {1, 2, 3, 4}), "1-3");  // the longest
  EXPECT_EQ(memory.longest_prefix(&one, {1, 2, 3, 4})->second, 3u);
  EXPECT_EQ(memory.kept_bytes(), 70);
  memory.keep(&one, {9}, std::string("9"), 101);  // larger than all
  EXPECT_EQ(kept(&one, {9}), "");
  memory.drop(&one);
  EXPECT_EQ(memory.kept_bytes(), 0);
}

TEST(MemoryBudget, KeptPromptsGiveWayToTextsAndNotToTextsThatMustWait) {
  MemoryBudget memory(10);
  const int owner = 0;
  memory.keep(&owner, {1}, 0, 4);
  memory.keep(&owner, {2}, 0, 4);
  Share share = memory.take(5, bell());
  EXPECT_EQ(memory.kept_bytes(), 4);
  EXPECT_FALSE(memory.longest_prefix(&owner, {1}));
  EXPECT_FALSE(memory.take(6, bell()));
  EXPECT_EQ(memory.kept_bytes(), 4) << "it could not begin anyway";
  memory.keep(&owner, {3}, 0, 1);
  EXPECT_EQ(memory.kept_bytes(), 4) << "somebody waits for what is free";
}

/// What two engines have written, in order: their names, a letter for each token.
class Order {
 public:
  void add(char name) {
    const std::lock_guard lock(mutex_);
    text_ += name;
  }
  std::string text() const {
    const std::lock_guard lock(mutex_);
    return text_;
  }
  bool has(char name) const { return text().find(name) != std::string::npos; }

 private:
  mutable std::mutex mutex_;
  std::string text_;
};

/// Engines that share a budget of 1000 bytes; a text of n tokens takes n + 1 (PlainDecoder).
class EnginesOfOneBudget : public ::testing::Test {
 protected:
  std::unique_ptr<Engine> engine() {
    return std::make_unique<Engine>(std::make_unique<PlainDecoder>(),
                                    EngineOptions{.memory = memory_});
  }
  /// Asks for a text, whose tokens are noted under a name. ended: told of its end.
  Engine::Ticket submit(Engine& engine, char name, int64_t tokens,
                        std::promise<void>* ended = nullptr) {
    return submit(engine, tokens, [this, name, ended](Written&& news) {
      order_.add(name);
      if (news.finish && ended) ended->set_value();
    });
  }
  static Engine::Ticket submit(Engine& engine, int64_t tokens,
                               std::function<void(Written&&)> on_news) {
    EngineRequest request;
    request.texts.push_back(
        {.prompt = {1}, .writing = {.max_tokens = tokens}, .on_news = std::move(on_news)});
    return engine.submit(std::move(request));
  }
  void wait_for(char name) const {
    while (!order_.has(name)) std::this_thread::yield();
  }

  std::shared_ptr<MemoryBudget> memory_ = std::make_shared<MemoryBudget>(1000);
  Order order_;
};

TEST_F(EnginesOfOneBudget, EachMayHaveAllOfItOneAfterTheOther) {
  const auto one = engine(), other = engine();
  std::promise<void> first, second;
  const auto a = submit(*one, 'a', 900, &first);
  wait_for('a');
  const auto b = submit(*other, 'b', 900, &second);
  first.get_future().wait();
  second.get_future().wait();
  EXPECT_EQ(order_.text(), std::string(900, 'a') + std::string(900, 'b'));
  EXPECT_THROW(submit(*one, 'c', 1001), ApiError);
}

TEST_F(EnginesOfOneBudget, ATextThatIsGivenUpGivesBack) {
  memory_ = std::make_shared<MemoryBudget>(1e9);
  const auto one = engine(), other = engine();
  std::promise<void> written;
  auto a = submit(*one, 'a', 999999990);  // would take an hour
  wait_for('a');
  const auto b = submit(*other, 'b', 10, &written);
  EXPECT_FALSE(order_.has('b'));
  a.reset();
  written.get_future().wait();
}

/// 'a' is held in its first token, so that nothing comes free.
TEST_F(EnginesOfOneBudget, ATextThatIsGivenUpWhileItWaitsLetsOthersPass) {
  const auto one = engine(), other = engine(), third = engine();
  std::promise<void> held, released, written;
  const auto a = submit(*one, 500, [&, first = true](Written&&) mutable {
    if (!std::exchange(first, false)) return;
    held.set_value();
    released.get_future().wait();
  });
  held.get_future().wait();
  auto b = submit(*other, 'b', 900);
  const auto c = submit(*third, 'c', 10, &written);
  b.reset();
  written.get_future().wait();
  EXPECT_FALSE(order_.has('b'));
  released.set_value();
}

TEST_F(EnginesOfOneBudget, AnEngineThatEndsLeavesTheLine) {
  const auto one = engine(), third = engine();
  std::promise<void> written;
  auto a = submit(*one, 'a', 800);
  wait_for('a');
  auto other = engine();
  const auto b = submit(*other, 'b', 900);
  const auto c = submit(*third, 'c', 10, &written);
  other.reset();
  written.get_future().wait();
}

TEST_F(EnginesOfOneBudget, KeptPromptsOfAnyModelGiveWay) {
  const int owner = 0;
  memory_->keep(&owner, {1}, 0, 800);
  const auto one = engine();
  std::promise<void> written;
  const auto a = submit(*one, 'a', 500, &written);
  written.get_future().wait();
  EXPECT_EQ(memory_->kept_bytes(), 0);
}

}  // namespace
}  // namespace tessera::serve
