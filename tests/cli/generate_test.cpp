// tessera generate and tessera eval.

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/tessera_program.h"

namespace tessera::cli {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class Generating : public Workplace {
 protected:
  static Outcome generate(std::vector<std::string> options) {
    options.insert(options.begin(), {"generate", "--model", trained_model()});
    return tessera(options);
  }
  static std::string text_of(const std::vector<std::string>& options) {
    const Outcome run = generate(options);
    EXPECT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.err, HasSubstr("tokens/s"));
    return run.out;
  }
  static std::vector<json> lines_of(const std::vector<std::string>& options) {
    const Outcome run = generate(options);
    EXPECT_EQ(run.status, 0) << run.err;
    std::vector<json> result;
    std::istringstream out(run.out);
    for (std::string line; std::getline(out, line);) result.push_back(json::parse(line));
    return result;
  }
};

TEST_F(Generating, SameSeedSameText) {
  const std::vector<std::string> seven = {"--prompt", "the cat", "--max-tokens",
                                          "40",       "--seed",  "7"};
  const std::string text = text_of(seven);
  EXPECT_THAT(text, StartsWith("the cat"));
  EXPECT_EQ(text, text_of(seven));
  std::vector<std::string> eight = seven;
  eight.back() = "8";
  EXPECT_NE(text, text_of(eight));
}

TEST_F(Generating, JsonTellsEveryToken) {
  const auto lines = lines_of({"--prompt", "the cat", "--prompt", "a dog", "--max-tokens", "5",
                               "--ignore-end", "--alternatives", "3", "--json"});
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0]["prompt"], "the cat");
  EXPECT_EQ(lines[1]["prompt"], "a dog");
  for (const auto& line : lines) {
    EXPECT_EQ(line["finish"], "max_tokens");
    ASSERT_EQ(line["tokens"].size(), 5u);
    for (const auto& token : line["tokens"]) {
      EXPECT_LT(token["log_probability"].get<double>(), 0);
      EXPECT_EQ(token["alternatives"].size(), 3u);
    }
  }
  // Bytes that are no characters still make JSON.
  EXPECT_EQ(
      lines_of({"--prompt", "\xff", "--max-tokens", "3", "--temperature", "50", "--json"}).size(),
      1u);
}

TEST_F(Generating, BeamsComeBestFirst) {
  const auto lines = lines_of({"--prompt", "the ", "--beam", "3", "--max-tokens", "8", "--json"});
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_GE(lines[0]["log_probability"], lines[1]["log_probability"]);
  EXPECT_GE(lines[1]["log_probability"], lines[2]["log_probability"]);
  const auto greedy = lines_of(
      {"--prompt", "the ", "--temperature", "0", "--max-tokens", "8", "--ignore-end", "--json"});
  double sum = 0;
  for (const auto& token : greedy[0]["tokens"]) sum += token["log_probability"].get<double>();
  EXPECT_GE(lines[0]["log_probability"].get<double>(), sum - 1e-3) << "greedy beats three beams";
  for (const auto& line : lines)
    EXPECT_EQ(line["text"].get<std::string>().find("<|endoftext|>"), std::string::npos);
  EXPECT_EQ(generate({"--beam", "2", "--max-tokens", "3"}).status, 0) << "an empty prompt";
}

TEST_F(Generating, StopsBeforeAStopString) {
  const auto lines = lines_of(
      {"--prompt", "the cat", "--temperature", "0", "--max-tokens", "60", "--stop", "e", "--json"});
  EXPECT_EQ(lines[0]["finish"], "stop_string");
  EXPECT_EQ(lines[0]["text"].get<std::string>().find('e'), std::string::npos);
}

TEST_F(Generating, ReadsPromptsLongerThanTheWindow) {
  const std::string prompt = small_text(20);  // the window holds 32 bytes
  const std::vector<std::string> options = {"--prompt", prompt,         "--temperature",
                                            "0",        "--max-tokens", "30"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), options.begin(), options.end());
    return text_of(more);
  };
  const std::string streaming = with({});
  EXPECT_THAT(streaming, StartsWith(prompt));
  EXPECT_EQ(streaming, with({"--reading", "streaming"}));
  EXPECT_THAT(with({"--reading", "windowed"}), StartsWith(prompt));
  EXPECT_THAT(with({"--memory-bound", "16"}), StartsWith(prompt));
  EXPECT_THAT(with({"--memory-bound", "16", "--eviction", "least-used"}), StartsWith(prompt));
  EXPECT_EQ(with({"--memory-bound", "100000"}), streaming) << "a bound that is never reached";
}

TEST_F(Generating, RefusesWithTheReason) {
  const auto with = [](const std::string& option, const std::string& value) {
    return std::vector<std::string>{"generate", "--model", trained_model(), "--prompt", "the cat",
                                    option,     value};
  };
  // Nothing is printed before, not even the prompt.
  expect_all_refused({{with("--max-tokens", "-1"), "--max-tokens is '-1', expected a whole number"},
                      {with("--temperature", "-1"), "--temperature is '-1', expected a number of"},
                      {with("--temperature", "nan"), "--temperature is 'nan', expected a number"},
                      {with("--top-k", "99999999999999999999"), "expected a whole number from 0"},
                      {with("--top-p", "0"), "top_p is 0"},
                      {with("--beam", "0"), "--beam is '0', expected a whole number from 1"},
                      {with("--reading", "fast"), "expected one of: streaming, windowed"},
                      {with("--eviction", "newest"), "expected one of: oldest, least-used"},
                      {with("--eviction", "oldest"), "give --memory-bound too"},
                      {with("--alternatives", "3"), "give both"},
                      {with("--memory-bound", "-3"), "memory-bound"}},
                     2);
  expect_refused(generate({"--stop", ""}), 2, "a stop string is empty");
}

TEST_F(Generating, StatisticsStandOnALineOfTheirOwn) {
  const std::string command =
      fmt::format("'{}' --threads 1 generate --model '{}' --prompt 'the cat' --max-tokens 5 2>&1",
                  TESSERA_BINARY_FOLDER "/tessera", trained_model());
  const Outcome run = Process({"/bin/sh", "-c", command}, pinned({})).wait();
  EXPECT_THAT(run.out, ::testing::ContainsRegex("\n5 tokens, [0-9.]+ tokens/s\n$"));
}

class Evaluating : public Workplace {
 protected:
  static Outcome evaluate(const std::string& data, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"eval", "--model", trained_model(), "--data", data});
    return tessera(more);
  }
};

TEST_F(Evaluating, NumbersAgreeWithEachOther) {
  const Outcome run = evaluate(path("text.txt"), {"--json", "--per-position", path("p.csv")});
  ASSERT_EQ(run.status, 0) << run.err;
  const auto result = json::parse(run.out);
  const double loss = result["loss"];
  EXPECT_LT(loss, std::log(257) - 1) << "the model has learnt nothing";
  EXPECT_NEAR(result["perplexity"].get<double>(), std::exp(loss), 1e-9);
  // One byte a token: all but the first are predicted.
  EXPECT_EQ(result["tokens"].get<size_t>(), small_text(400).size() - 1);
  EXPECT_EQ(result["bytes"], result["tokens"]);
  EXPECT_NEAR(result["bits_per_byte"].get<double>(), loss / std::log(2), 1e-9);

  std::istringstream csv(read_text(path("p.csv")));
  std::string line;
  std::getline(csv, line);
  EXPECT_THAT(line, StartsWith("position,loss"));
  int positions = 0;
  while (std::getline(csv, line)) ++positions;
  EXPECT_EQ(positions, 32);

  const Outcome plain = evaluate(path("text.txt"));
  EXPECT_THAT(plain.out, HasSubstr("bits/byte"));
}

TEST_F(Evaluating, RefusesTextsThatAreNone) {
  write_text(path("empty.txt"), "");
  expect_refused(evaluate(path("empty.txt")), 3, "empty.txt: is empty");
  write_text(path("one.txt"), "a");
  expect_refused(evaluate(path("one.txt")), 3, "one.txt: has fewer than two tokens");
  write_text(path("binary.txt"), std::string("ab\0cd", 5));
  expect_refused(evaluate(path("binary.txt")), 3, "binary.txt: byte 2 is zero");
  expect_refused(evaluate(path("none.txt")), 1, "none.txt: cannot open");
  write_text(path("two.txt"), "ab");
  EXPECT_EQ(evaluate(path("two.txt")).status, 0);
  const Outcome unwritten = evaluate(path("two.txt"), {"--per-position", path("text.txt/p.csv")});
  EXPECT_EQ(unwritten.status, 1);
  EXPECT_THAT(unwritten.err, HasSubstr("text.txt"));
  EXPECT_THAT(unwritten.out, HasSubstr("bits/byte")) << "the numbers are lost";
}

}  // namespace
}  // namespace tessera::cli
