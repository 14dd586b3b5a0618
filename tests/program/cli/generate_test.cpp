// tessera generate and tessera eval.

#include <fmt/format.h>

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/program/cli/tessera_program.h"

namespace tessera::cli {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class Generating : public Workplace {
 protected:
  static Outcome generate(const Arguments& options) {
    return tessera(joined({"generate", "--model", trained_model()}, options));
  }
  static std::string text_of(const Arguments& options) {
    const Outcome run = generate(options);
    EXPECT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.err, HasSubstr("tokens/s"));
    return run.out;
  }
  static std::vector<json> lines_of(const Arguments& options) {
    const Outcome run = generate(options);
    EXPECT_EQ(run.status, 0) << run.err;
    std::vector<json> result;
    std::istringstream out(run.out);
    for (std::string line; std::getline(out, line);) result.push_back(json::parse(line));
    return result;
  }
};

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
  const auto lines = lines_of(
      {"--prompt", "the ", "--beam", "3", "--length-penalty", "0", "--max-tokens", "8", "--json"});
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_GE(lines[0]["log_probability"], lines[1]["log_probability"]);
  EXPECT_GE(lines[1]["log_probability"], lines[2]["log_probability"]);
  const auto greedy = lines_of(
      {"--prompt", "the ", "--temperature", "0", "--max-tokens", "8", "--ignore-end", "--json"});
  double sum = 0;
  for (const auto& token : greedy[0]["tokens"]) sum += token["log_probability"].get<double>();
  EXPECT_GE(lines[0]["log_probability"].get<double>(), sum - 1e-3) << "greedy beats three beams";
  for (const auto& line : lines) {
    EXPECT_EQ(line["text"].get<std::string>().find("<|endoftext|>"), std::string::npos);
    for (const auto& token : line["tokens"])
      EXPECT_TRUE(token["id"].is_number() && token["text"].is_string()) << token;
  }
  EXPECT_EQ(generate({"--beam", "2", "--max-tokens", "3"}).status, 0) << "an empty prompt";
  EXPECT_EQ(generate({"--prompt", "the ", "--beam", "2", "--max-tokens", "0"}).out,
            "    0.000  the \n");
}

TEST_F(Generating, BeamsAreRankedByTheirMeanPerToken) {
  const auto lines = lines_of({"--prompt", "the ", "--beam", "3", "--max-tokens", "8", "--json"});
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_GE(lines[0]["score"], lines[1]["score"]);
  EXPECT_GE(lines[1]["score"], lines[2]["score"]);
  for (const auto& line : lines)
    EXPECT_NEAR(line["score"].get<double>(),
                line["log_probability"].get<double>() / line["tokens"].size(), 1e-9);
}

TEST_F(Generating, ASearchEndsSoonAfterASignal) {
  Process search = start({"generate", "--model", trained_model(), "--prompt", "the ", "--beam",
                          "30000", "--max-tokens", "200", "--json"});
  search.wait_until([&] { return search.handles(SIGTERM); });
  search.send(SIGTERM);
  const Outcome run = search.wait();
  EXPECT_EQ(run.status, 130) << run.err;
}

/// Only those that are written side by side are in memory.
TEST_F(Generating, ABillionSamplesBeginAtOnce) {
  Process writing = start({"generate", "--model", trained_model(), "--prompt", "the ", "--samples",
                           "1000000000", "--max-tokens", "1", "--json"});
  writing.wait_until([&] { return !writing.output().empty(); });
  writing.send(SIGINT);
  const Outcome run = writing.wait();
  EXPECT_EQ(run.status, 130) << run.err;
}

TEST_F(Generating, PromptsComeFromFilesAndStandardInput) {
  const Arguments greedy = {"--temperature", "0", "--max-tokens", "12"};
  const auto with = [&](const Arguments& more, const std::string& input = "") {
    return done(joined({"generate", "--model", trained_model()}, joined(greedy, more)),
                {.input = input});
  };
  const std::string expected = with({"--prompt", "the cat"});
  write_text(path("prompt.txt"), "the cat\n");
  EXPECT_EQ(with({"--prompt-file", path("prompt.txt")}), expected);
  EXPECT_EQ(with({"--prompt-file", "-"}, "the cat"), expected);
  EXPECT_EQ(with({"--prompt-file", "-"}, "the cat\r\n"), expected);
  write_text(path("other.txt"), "a dog\n\n");
  EXPECT_EQ(with({"--prompt-file", path("prompt.txt"), path("other.txt")}),
            with({"--prompt", "the cat", "a dog\n"}));
  expect_refused(generate({"--prompt-file", path("none.txt")}), 1, "none.txt: cannot open");
  write_text(path("binary"), std::string("bi\0nary", 7));
  expect_refused(generate({"--prompt-file", path("binary")}), 3, "binary: byte 2 is zero");
  expect_refused(tessera({"generate", "--model", trained_model(), "--prompt-file", "-"},
                         {.input = std::string(1, '\0')}),
                 3, "standard input: byte 0 is zero");
}

TEST_F(Generating, WhatWasTypedIsWrongUsageAndWhatAFileHoldsBadData) {
  done(train_arguments("run", {"data.tokenizer=character"}));
  const Arguments command = {"generate", "--model", path("run/model")};
  expect_refused(tessera(joined(command, {"--prompt", "the QUIZ"})), 2, "--prompt: ");
  write_text(path("prompt.txt"), "the QUIZ");
  const std::string of_file = "prompt.txt: byte 4: the character U+0051";
  expect_refused(tessera(joined(command, {"--prompt-file", path("prompt.txt")})), 3, of_file);
  expect_refused(tessera({"eval", "--model", path("run/model"), "--data", path("prompt.txt")}), 3,
                 of_file);
  expect_refused(train("other", {"data.text=" + path("prompt.txt"),
                                 "data.tokenizer=" + path("run/model/tokenizer.json")}),
                 3, of_file);
  const Arguments inspect = {"inspect", "--model", path("run/model")};
  expect_refused(tessera(joined(inspect, {"--text", "the QUIZ"})), 2, "--text: ");
  expect_refused(tessera(joined(inspect, {"--text", "the", "--token", "Q"})), 2, "--token: ");
  expect_refused(tessera(joined(inspect, {"--file", path("prompt.txt")})), 3, of_file);
}

TEST_F(Generating, SamplesOfOnePromptDifferAndComeAgain) {
  const Arguments three = {"--prompt",  "the cat", "--max-tokens", "20", "--seed", "7",
                           "--samples", "3",       "--json"};
  const auto lines = lines_of(three);
  ASSERT_EQ(lines.size(), 3u);
  for (int sample = 0; sample < 3; ++sample) EXPECT_EQ(lines[sample]["sample"], sample);
  EXPECT_NE(lines[0]["text"], lines[1]["text"]);
  EXPECT_NE(lines[1]["text"], lines[2]["text"]);
  EXPECT_EQ(lines, lines_of(three));
  Arguments with_another_seed = three;
  with_another_seed[5] = "8";
  EXPECT_NE(lines[0]["text"], lines_of(with_another_seed)[0]["text"]);
  // The first is what one sample is, and more do not change those before.
  const auto one = lines_of({"--prompt", "the cat", "--max-tokens", "20", "--seed", "7", "--json"});
  EXPECT_EQ(one[0]["text"], lines[0]["text"]);
  // More than are written side by side.
  const auto many = lines_of({"--prompt", "the cat", "--prompt", "a dog", "--max-tokens", "5",
                              "--seed", "7", "--samples", "40", "--json"});
  ASSERT_EQ(many.size(), 80u);
  EXPECT_EQ(many[39]["prompt"], "the cat");
  EXPECT_EQ(many[40]["prompt"], "a dog");
  EXPECT_EQ(many[79]["sample"], 39);
  const std::string text = text_of({"--prompt", "the cat", "--max-tokens", "5", "--samples", "2"});
  EXPECT_THAT(text, ::testing::MatchesRegex("the cat(.|\n)*\n---------------\nthe cat(.|\n)*"));
}

TEST_F(Generating, TokensCanBeForbiddenAndPenalised) {
  const auto tokens_with = [](const Arguments& more, const std::string& heat = "0") {
    const json line = lines_of(joined({"--prompt", "the cat", "--max-tokens", "30", "--json",
                                       "--temperature", heat},
                                      more))
                          .at(0);
    std::vector<int> ids;
    for (const auto& token : line["tokens"]) ids.push_back(token["id"]);
    return ids;
  };
  const auto count = [](const std::vector<int>& ids, int id) {
    return std::count(ids.begin(), ids.end(), id);
  };
  const auto distinct = [](const std::vector<int>& ids) {
    return std::set<int>(ids.begin(), ids.end()).size();
  };
  const std::vector<int> free = tokens_with({});
  EXPECT_GT(count(free, 'e'), 0);  // one byte a token
  EXPECT_EQ(count(tokens_with({"--logit-bias", "101=-inf"}), 'e'), 0);
  EXPECT_EQ(count(tokens_with({"--logit-bias", "120=100"}), 'x'), 30);
  EXPECT_GT(distinct(tokens_with({"--frequency-penalty", "2"})), distinct(free));
  EXPECT_GT(distinct(tokens_with({"--presence-penalty", "20"})), distinct(free));
  // Only the most probable token is as probable as itself.
  EXPECT_EQ(tokens_with({"--min-p", "1"}, "3"), free);
}

TEST_F(Generating, ASavedSessionGoesOn) {
  const Arguments greedy = {"--temperature", "0", "--json", "--max-tokens"};
  const auto text_with = [&](const std::string& tokens, const Arguments& more) {
    return lines_of(joined(joined(greedy, {tokens}), more)).at(0)["text"].get<std::string>();
  };
  const std::string prompt = small_text(3);
  const std::string whole = text_with("20", {"--prompt", prompt});
  const std::string session = path("session.safetensors"), next = path("next.safetensors");
  const std::string first = text_with("8", {"--prompt", prompt, "--save-session", session});
  EXPECT_EQ(first, whole.substr(0, 8));  // one byte a token
  EXPECT_EQ(text_with("12", {"--load-session", session}), whole.substr(8));
  // Another program goes on with more text, and keeps that.
  const std::string more =
      text_with("5", {"--load-session", session, "--prompt", " a dog", "--save-session", next});
  const std::string after = text_with("9", {"--prompt", prompt + first + " a dog"});
  EXPECT_EQ(more, after.substr(0, 5));
  EXPECT_EQ(text_with("4", {"--load-session", next}), after.substr(5));
  const auto samples = lines_of({"--load-session", session, "--samples", "2", "--json"});
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_NE(samples[0]["text"], samples[1]["text"]);

  write_text(path("broken.safetensors"), read_file(session).substr(0, 200));
  expect_refused(generate({"--load-session", path("broken.safetensors")}), 3, "broken.safetensors");
  expect_refused(generate({"--load-session", session, "--reading", "windowed"}), 2, "--reading");
  expect_refused(generate({"--save-session", session, "--samples", "2"}), 2, "keeps one text");
  expect_refused(generate({"--save-session", session, "--prompt", "a", "b"}), 2, "2 prompts");
  expect_refused(generate({"--save-session", session, "--reading", "windowed"}), 2,
                 "--save-session: 257 tokens do not fit the window of 32 tokens");
  expect_refused(generate({"--save-session", session, "--reading", "windowed", "--max-tokens",
                           "9223372036854775807"}),
                 2, "do not fit the window of 32 tokens");
  const std::string windowed = path("windowed.safetensors");  // it keeps how it reads
  lines_of({"--prompt", "the cat", "--reading", "windowed", "--max-tokens", "3", "--ignore-end",
            "--json", "--save-session", windowed});
  expect_refused(generate({"--load-session", windowed, "--save-session", next}), 2,
                 "--save-session: 266 tokens do not fit the window of 32 tokens");
  expect_refused(generate({"--save-session", folder_.path().native()}), 1,
                 "is a folder, which cannot be replaced");  // said before a word is written
}

TEST_F(Generating, GoesOnLineByLine) {
  const auto talk = [](const std::string& input, const Arguments& more = {}) {
    return tessera(joined({"generate", "--model", trained_model(), "--interactive", "--temperature",
                           "0", "--max-tokens", "9"},
                          more),
                   {.input = input});
  };
  const Outcome run = talk("the cat\n a dog\n");
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("18 tokens"));
  const auto text_after = [](const std::string& prompt) {
    return lines_of({"--prompt", prompt, "--temperature", "0", "--max-tokens", "9", "--json"})
        .at(0)["text"]
        .get<std::string>();
  };
  const std::string first = text_after("the cat"),
                    second = text_after("the cat" + first + " a dog");
  EXPECT_EQ(run.out, first + "\n" + second + "\n");
  EXPECT_EQ(talk("the cat\r\n a dog\r\n").out, run.out);
  // A prompt is the first line, and a session keeps all of it.
  const std::string session = path("session.safetensors");
  const Outcome other = talk(" a dog\n", {"--prompt", "the cat", "--save-session", session});
  EXPECT_EQ(other.out, run.out) << other.err;
  EXPECT_EQ(talk("", {"--load-session", session}).out, "");
  EXPECT_EQ(talk("\n", {"--load-session", session}).out,
            text_after("the cat" + first + " a dog" + second) + "\n");
  expect_refused(talk("", {"--prompt", "a", "b"}), 2, "2 prompts");
  expect_refused(talk("", {"--prompt-file", "-"}), 2, "standard input is read once");
}

TEST_F(Generating, ASignalEndsOneContinuationOfAnInteractiveText) {
  const std::string lines = path("lines");
  ASSERT_EQ(::mkfifo(lines.c_str(), 0600), 0);
  Process talk(
      {"/bin/sh", "-c",
       fmt::format("exec '{}' --threads 1 generate --model '{}' --interactive --ignore-end "
                   "--max-tokens 100000000 < '{}'",
                   (test::build_folder() / "tessera").native(), trained_model(), lines)},
      {});
  std::ofstream input(lines);
  input << "the cat\n" << std::flush;
  talk.wait_until([&] { return talk.output().size() >= 20; });
  talk.send(SIGINT);
  input.close();  // which is what it reads next
  EXPECT_EQ(talk.wait().status, 0) << "the signal ended all of it";
}

TEST_F(Generating, StopsBeforeAStopString) {
  const auto lines = lines_of(
      {"--prompt", "the cat", "--temperature", "0", "--max-tokens", "60", "--stop", "e", "--json"});
  EXPECT_EQ(lines[0]["finish"], "stop_string");
  EXPECT_EQ(lines[0]["text"].get<std::string>().find('e'), std::string::npos);
}

TEST_F(Generating, ReadsPromptsLongerThanTheWindow) {
  const std::string prompt = small_text(20);  // the window holds 32 bytes
  const Arguments options = {"--prompt", prompt, "--temperature", "0", "--max-tokens", "30"};
  const auto with = [&](const Arguments& more) { return text_of(joined(options, more)); };
  const std::string streaming = with({});
  EXPECT_THAT(streaming, StartsWith(prompt));
  EXPECT_EQ(streaming, with({"--reading", "streaming"}));
  EXPECT_THAT(with({"--reading", "windowed"}), StartsWith(prompt));
  EXPECT_THAT(with({"--memory-bound", "16"}), StartsWith(prompt));
  EXPECT_THAT(with({"--memory-bound", "16", "--eviction", "least-used"}), StartsWith(prompt));
  EXPECT_EQ(with({"--memory-bound", "100000"}), streaming) << "a bound that is never reached";
  EXPECT_EQ(with({"--pairs", "float32"}), streaming);
  for (const char* type : {"bf16", "int8"})
    EXPECT_THAT(with({"--pairs", type}), StartsWith(prompt)) << type;
}

TEST_F(Generating, RefusesWithTheReason) {
  const auto with = [](const std::string& option, const std::string& value) {
    return Arguments{"generate", "--model", trained_model(), "--prompt", "the cat", option, value};
  };
  // Nothing is printed before, not even the prompt.
  expect_all_refused(
      {{with("--max-tokens", "-1"), "--max-tokens is '-1', expected a whole number"},
       {with("--temperature", "-1"), "--temperature is '-1', expected a number from 0 on"},
       {with("--temperature", "nan"), "--temperature is 'nan', expected a number"},
       {with("--top-p", "0"), "--top-p is '0', expected a number above 0, up to 1"},
       {with("--beam", "0"), "--beam is '0', expected a whole number from 1"},
       {with("--reading", "fast"), "expected one of: streaming, windowed"},
       {with("--min-p", "1.5"), "--min-p is '1.5'"},
       {with("--presence-penalty", "inf"), "--presence-penalty is 'inf'"},
       {with("--logit-bias", "the=3"), "--logit-bias is 'the=3', expected ID=BIAS"},
       {with("--logit-bias", "300=3"), "names token 300, the model has tokens 0 to 256"},
       {with("--samples", "0"), "--samples is '0'"},
       {with("--length-penalty", "1"), "--beam"},
       {with("--eviction", "newest"), "expected one of: oldest, least-used"},
       {with("--eviction", "oldest"), "--eviction needs --memory-bound"},
       {with("--alternatives", "3"), "give both"},
       {with("--pairs", "int4"), "expected one of: float32, bf16, int8"},
       {with("--device", "cuda:9"), "this machine and its LibTorch have: cpu"},
       {with("--memory-bound", "-3"), "memory-bound"}},
      2);
  expect_refused(generate({"--logit-bias", "5=1", "--logit-bias", "5=-inf"}), 2,
                 "--logit-bias names token 5 twice");
  expect_refused(generate({"--stop", ""}), 2, "a stop string is empty");
  expect_refused(generate({"--prompt", "the cat", "--reading", "windowed", "--memory-bound", "16"}),
                 2, "a bound of 16 pairs was given for windowed reading");
  expect_refused(generate({"--interactive", "--stop", ""}), 2, "a stop string is empty");
}

TEST_F(Generating, StatisticsStandOnALineOfTheirOwn) {
  const std::string command =
      fmt::format("'{}' --threads 1 generate --model '{}' --prompt 'the cat' --max-tokens 5 2>&1",
                  (test::build_folder() / "tessera").native(), trained_model());
  const Outcome run = Process({"/bin/sh", "-c", command}, {}).wait();
  EXPECT_THAT(run.out, ::testing::ContainsRegex("\n5 tokens, [0-9.]+ tokens/s\n$"));
}

class Evaluating : public Workplace {
 protected:
  static Outcome evaluate(const std::string& data, const Arguments& more = {}) {
    return tessera(joined({"eval", "--model", trained_model(), "--data", data}, more));
  }
};

TEST_F(Evaluating, NumbersAgreeWithEachOther) {
  const Outcome run = evaluate(path("text.txt"), {"--json", "--per-position", path("p.csv")});
  ASSERT_EQ(run.status, 0) << run.err;
  const auto result = json::parse(run.out);
  const double loss = result["loss"];
  EXPECT_LT(loss, std::log(257) - 1) << "the model has learned nothing";
  EXPECT_NEAR(result["perplexity"].get<double>(), std::exp(loss), 1e-9);
  // One byte a token: all but the first are predicted.
  EXPECT_EQ(result["tokens"].get<size_t>(), small_text(400).size() - 1);
  EXPECT_EQ(result["bytes"], result["tokens"]);
  EXPECT_NEAR(result["bits_per_byte"].get<double>(), loss / std::log(2), 1e-9);

  std::istringstream csv(read_file(path("p.csv")));
  std::string line;
  std::getline(csv, line);
  EXPECT_THAT(line, StartsWith("position,loss"));
  int positions = 0;
  while (std::getline(csv, line)) ++positions;
  EXPECT_EQ(positions, 32);

  const Outcome plain = evaluate(path("text.txt"));
  EXPECT_THAT(plain.out, HasSubstr("bits/byte"));
}

TEST_F(Evaluating, WindowsMayOverlapAndMemoriesMayKeepAll) {
  write_text(path("short.txt"), small_text(40));
  const auto loss = [&](const Arguments& more) {
    const Outcome run = evaluate(path("short.txt"), joined({"--json"}, more));
    EXPECT_EQ(run.status, 0) << run.err;
    const json result = json::parse(run.out);
    EXPECT_EQ(result["tokens"].get<size_t>(), small_text(40).size() - 1);
    return result["loss"].get<double>();
  };
  const double apart = loss({});
  EXPECT_EQ(loss({"--reading", "windowed", "--stride", "32"}), apart);
  EXPECT_LT(loss({"--stride", "8"}), apart) << "more before each token did not help";
  EXPECT_NE(loss({"--reading", "streaming", "--per-position", path("p.csv")}), apart);
  const std::string csv = read_file(path("p.csv"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), std::ssize(small_text(40)));
  expect_refused(evaluate(path("short.txt"), {"--stride", "33"}), 2,
                 "stride is 33, expected 1 to 32, the tokens of the model's window");
  expect_refused(evaluate(path("short.txt"), {"--stride", "3", "--reading", "streaming"}), 2,
                 "which has no windows");
}

TEST_F(Evaluating, ABarShowsHowFarItIsAndASignalEndsIt) {
  write_text(path("long.txt"), small_text(50'000));
  Process evaluation =
      start({"eval", "--model", trained_model(), "--data", path("long.txt"), "--stride", "1"});
  ASSERT_TRUE(evaluation.wait_until([&] {
    return evaluation.errors().find("Evaluating") != std::string::npos;
  })) << "too quick to be watched";
  evaluation.send(SIGINT);
  const Outcome run = evaluation.wait();
  EXPECT_EQ(run.status, 130);
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(run.err, HasSubstr("Evaluating"));
  EXPECT_THAT(run.err, HasSubstr("tessera: interrupted"));
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
  // Before any reading, whose numbers would be printed.
  expect_refused(evaluate(path("two.txt"), {"--per-position", path("text.txt/p.csv")}), 1,
                 "text.txt");
}

}  // namespace
}  // namespace tessera::cli
