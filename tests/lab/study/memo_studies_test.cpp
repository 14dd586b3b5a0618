#include "lab/study/memo/studies.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/base/random.h"
#include "tessera/tensor/tensor_file.h"
#include "tests/lab/study/quick_study.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using config::Json;
using testing::ContainsRegex;
using testing::HasSubstr;

/// A text of words of two letters, so that windows of four bytes come again.
std::string words(int64_t count) {
  RandomStream random(3);
  std::string text;
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t word = random.below(200);
    text += {static_cast<char>('a' + word % 20), static_cast<char>('a' + word / 20), ' '};
  }
  return text;
}

class MemoStudies : public test::PaperStudies {
 protected:
  MemoStudies() : PaperStudies("memo") {}

  Json text(int64_t count) {
    const auto path = folder_ / "text.txt";
    write_file(path, words(count));
    return {{"text", path.native()}, {"tokenizer", "byte"}};
  }
  /// Small memories of a layer of few tokens; the batches of each are parts of the study.
  static Json small_layers(const Json& decoys, int64_t texts, int64_t batches) {
    return {{"dimensions", {64}}, {"layer_dimension", 64}, {"decoys", decoys},
            {"layers", 1},        {"encodings", {"jlt"}},  {"vocabulary", 100},
            {"texts", texts},     {"texts_read", texts},   {"batches", batches}};
  }
  /// Of a study that was stopped before its last part, all parts but that.
  void forget_last_part(const std::string& id) const {
    const std::string parts = written(id, "parts.jsonl");
    write_file(folder_ / id / "parts.jsonl",
               parts.substr(0, parts.rfind('\n', parts.size() - 2) + 1));
  }
  /// A memory of a text of which one document is forgotten.
  Json small_forgetting() {
    return {{"data", text(2000)}, {"dimension", 256}, {"document_tokens", 500}, {"probes", 100}};
  }
  static double value(const StudyResults& results, const std::string& series, double x) {
    for (const ResultPoint& point : results.points())
      if (point.series == series && point.x == x) return point.y;
    ADD_FAILURE() << "no point of " << series << " at " << x;
    return 0;
  }
};

TEST_F(MemoStudies, ASingleLayerIsFullWhereTheNoiseLawSays) {
  const StudyResults results = run("single-layer", {{"heads", {4}},
                                                    {"widths", {32, 64}},
                                                    {"columns", {256}},
                                                    {"vocabulary", 2000},
                                                    {"projection_dimension", 128},
                                                    {"projection_texts", 1}});
  // 128 x 256 parameters hold about 1500 pairs, twice as many about 3000.
  EXPECT_EQ(value(results, "d = 256", 128 * 256), 2000);
  EXPECT_NEAR(value(results, "d = 256", 256 * 256), 3000, 1000);
  expect_captions("single-layer");
}

TEST_F(MemoStudies, DecoysTakeFromARecallThatLayersGiveBack) {
  const StudyResults results = run("multi-layer", {{"dimensions", {256}},
                                                   {"layer_dimension", 256},
                                                   {"decoys", {0, 60}},
                                                   {"encodings", {"product"}},
                                                   {"vocabulary", 1000},
                                                   {"texts", 1},
                                                   {"texts_read", 1},
                                                   {"batches", 1}});
  const auto recall = [&](int layers, int decoys) {
    return value(results, fmt::format("d 256, l {}, {} decoys, product", layers, decoys), 1024);
  };
  EXPECT_GT(recall(1, 0), 0.95);
  EXPECT_LT(recall(1, 60), 0.8);
  EXPECT_GT(recall(3, 60), recall(1, 60));
  expect_captions("multi-layer");
}

TEST_F(MemoStudies, EachBatchOfSeveralLayersIsAPart) {
  const Json settings = small_layers({0}, 1, 3);
  const std::string whole = run("multi-layer", settings).summary();
  // The memory that is kept beside its parts has gone with the last one.
  EXPECT_FALSE(std::filesystem::exists(folder_ / "multi-layer/memory.safetensors"));
  const std::string parts = written("multi-layer", "parts.jsonl");
  EXPECT_EQ(std::count(parts.begin(), parts.end(), '\n'), 5);  // revision, keys, three batches
  forget_last_part("multi-layer");
  EXPECT_EQ(run("multi-layer", settings).summary(), whole);
}

TEST_F(MemoStudies, FinishedMemoriesLeaveTheFileOfTheOneAtWork) {
  const Json settings = small_layers({0, 1}, 1, 3);
  run("multi-layer", settings);
  // As if the second memory had been stopped at its last batch, and its file damaged.
  forget_last_part("multi-layer");
  save_tensors(folder_ / "multi-layer/memory.safetensors", {{"w", at::zeros(1)}},
               {{"name", "d 64, l 1, 1 decoys, jlt"}, {"batches", "many"}});
  EXPECT_THAT(test::message_of<DataError>([&] { run("multi-layer", settings); }),
              HasSubstr("'many' for 'batches'"));
}

TEST_F(MemoStudies, SeveralLayersSayWhichTextsTheyReadWhereTheAuthorsReadMore) {
  const auto differences = [&](int64_t texts) {
    return run("multi-layer", small_layers({1}, texts, 1)).summary();
  };
  const std::string of_two = differences(2);
  EXPECT_THAT(of_two, HasSubstr("2 texts of the first and of the last batch are read"));
  EXPECT_THAT(of_two, HasSubstr("section 3.2 memorizes blocks without overlap"));
  std::filesystem::remove_all(folder_.path() / "multi-layer");
  EXPECT_THAT(differences(30), testing::Not(HasSubstr("where the authors read all")));
}

TEST_F(MemoStudies, RandomVectorsComeCloseWhereTheirLawSays) {
  const StudyResults results = run(
      "nearly-orthogonal", {{"dimensions", {64}}, {"closeness", {0.3, 0.3000001}}, {"most", 256}});
  EXPECT_NEAR(value(results, "ε = 0.3", 64), 9.6, 2.5);
  EXPECT_NEAR(value(results, "ε = 0.3000001", 64), 9.6, 2.5);
  expect_captions("nearly-orthogonal");
}

TEST_F(MemoStudies, TheBoundCodeRecallsText) {
  const StudyResults results = run("natural-text", {{"data", text(2000)},
                                                    {"dimension", 256},
                                                    {"tokens", {700}},
                                                    {"probes", 200},
                                                    {"planned_tokens", 900}});
  EXPECT_GT(value(results, "bound code", 700), 0.97);
  EXPECT_LT(value(results, "authors' way", 700), 0.8);
  EXPECT_NEAR(value(results, "bound code, predicted", 700), value(results, "bound code", 700),
              0.02);
  expect_captions("natural-text");
}

TEST_F(MemoStudies, AForgottenDocumentIsAsOneNeverSeen) {
  const StudyResults results = run("forget", small_forgetting());
  EXPECT_THAT(results.summary(), ContainsRegex("one that never saw the document +yes"));
  EXPECT_THAT(results.summary(), testing::Not(HasSubstr("Published")));  // there is none
  expect_captions("forget");
}

TEST_F(MemoStudies, ForgettingGoesOnFromTheAnswersItHas) {
  const Json settings = small_forgetting();
  const std::string whole = run("forget", settings).summary();
  const auto file = folder_.path() / "forget" / "parts.jsonl";
  const std::string parts = read_file(file);
  std::vector<std::string> lines;
  std::istringstream stream(parts);
  for (std::string line; std::getline(stream, line);) lines.push_back(line + "\n");
  ASSERT_EQ(lines.size(), 7u);  // the revision, the memory, five kinds of contexts
  // Stopped after two kinds: the others are asked now, with equal answers, also where the text has
  // changed since.
  write_file(file, lines[0] + lines[1] + lines[2] + lines[3]);
  write_file(folder_ / "text.txt", "other words " + words(3000));
  EXPECT_EQ(run("forget", settings).summary(), whole);
  EXPECT_EQ(read_file(file), parts);
  // What is there is not computed again.
  Json memory = Json::parse(lines[1]);
  ASSERT_EQ(memory.at("numbers").at(0), 1.0);  // as one that never saw the document
  memory["numbers"][0] = 0.0;
  write_file(file, lines[0] + memory.dump() + "\n" + lines[2] + lines[3]);
  EXPECT_THAT(run("forget", settings).summary(),
              ContainsRegex("one that never saw the document +no"));
}

TEST_F(MemoStudies, APartWithANumberMoreIsDamaged) {
  const auto refusal = [&](const std::string& id, const std::string& part, const Json& settings) {
    run(id, settings);
    const auto file = folder_.path() / id / "parts.jsonl";
    std::string parts = read_file(file);
    const std::string before = R"({"part":")" + part + R"(","numbers":[)";
    parts.insert(parts.find(before) + before.size(), "1,");
    write_file(file, parts);
    return test::message_of<DataError>([&] { run(id, settings); });
  };
  EXPECT_THAT(refusal("forget", "kept", small_forgetting()),
              HasSubstr("the part 'kept' has 104 numbers, expected 103"));
  EXPECT_THAT(refusal("natural-text", "planned memory",
                      {{"data", text(2000)},
                       {"dimension", 256},
                       {"tokens", {200}},
                       {"probes", 50},
                       {"planned_tokens", 300}}),
              HasSubstr("the part 'planned memory' has 15 numbers, expected 14"));
}

TEST_F(MemoStudies, RefuseSettingsThatMakeNoExperiment) {
  EXPECT_THAT(refusal("single-layer", {{"heads", {0}}}), HasSubstr("heads[0] is 0"));
  EXPECT_THAT(refusal("single-layer", {{"accuracy", 1}}), HasSubstr("accuracy is 1"));
  EXPECT_THAT(refusal("multi-layer", {{"texts_read", 3}}), HasSubstr("texts_read is 3"));
  EXPECT_THAT(refusal("multi-layer", {{"encodings", {"sum"}}}), HasSubstr("encodings is 'sum'"));
  EXPECT_THAT(refusal("multi-layer", {{"dimensions", {256, 255}}}), HasSubstr("255"));
  EXPECT_THAT(refusal("multi-layer", {{"dimensions", {256, 256}}}), HasSubstr("'256' twice"));
  EXPECT_THAT(refusal("nearly-orthogonal", {{"closeness", {1.5}}}),
              HasSubstr("closeness[0] is 1.5, expected a number above 0, below 1"));
  EXPECT_THAT(refusal("natural-text", {{"tokens", {64}}}), HasSubstr("tokens[0] is 64"));
  EXPECT_THROW(run("natural-text", {{"data", text(100)}, {"tokens", {5000}}}), UsageError);
  EXPECT_THAT(refusal("forget", {{"document_tokens", 10}}), HasSubstr("document_tokens is 10"));
  for (const char* id : {"forget", "natural-text"}) {
    EXPECT_THAT(refusal(id, {{"error_rate", 2}}), HasSubstr("error rate is 2"));
    EXPECT_THAT(refusal(id, {{"dimension", 100}}), HasSubstr("dimension is 100"));
  }
}

TEST(KeptMemo, GoesOnWithTheNextBatch) {
  const test::TemporaryFolder folder;
  std::vector<int64_t> asked;
  const auto texts = [&](int64_t batch) {
    asked.push_back(batch);
    return memo_study::random_tokens({7, 30}, 50, 1, batch);
  };
  const auto memo = [&](const char* file, const char* name) {
    const MemoConfig config = {.vocabulary = 50, .dimension = 32, .layers = 2};
    return memo_study::KeptMemo(config, 1, folder.path() / file, name, texts);
  };
  const at::Tensor whole = memo("whole", "a").after(3).last_memory().matrix();
  EXPECT_EQ(std::exchange(asked, {}), (std::vector<int64_t>{1, 2, 3}));
  memo("file", "a").after(2);  // stopped here
  EXPECT_EQ(std::exchange(asked, {}), (std::vector<int64_t>{1, 2}));
  auto again = memo("file", "a");
  EXPECT_TRUE(at::equal(again.after(3).last_memory().matrix(), whole));
  EXPECT_EQ(std::exchange(asked, {}), (std::vector<int64_t>{3}));
  // Another memory, or fewer batches than the file holds: from the beginning.
  memo("file", "b").after(2);
  EXPECT_EQ(std::exchange(asked, {}), (std::vector<int64_t>{1, 2}));
  memo("whole", "a").after(2);
  EXPECT_EQ(std::exchange(asked, {}), (std::vector<int64_t>{1, 2}));
  for (const char* batches : {"many", "-1", ""}) {
    save_tensors(folder.path() / "file", {{"w", at::zeros(1)}},
                 {{"name", "a"}, {"batches", batches}});
    EXPECT_THROW(memo("file", "a").after(2), DataError) << batches;
  }
}

TEST(MemoStudy, AccuracyCountsTheBestTokens) {
  const at::Tensor embeddings = at::eye(3);
  const at::Tensor outputs = at::tensor({0.f, 2.f, 1.f, 3.f, 2.f, 1.f}).view({2, 3});
  EXPECT_EQ(memo_study::accuracy(outputs, embeddings, at::tensor({1, 0}, at::kLong)), 1);
  EXPECT_EQ(memo_study::accuracy(outputs, embeddings, at::tensor({1, 2}, at::kLong)), 0.5);
}

TEST(MemoStudy, KeysOfAGaussianProjectionVaryByAQuarterMore) {
  const MemoConfig config = {.vocabulary = 5000, .dimension = 512, .layers = 1};
  EXPECT_NEAR(memo_study::key_variance(Memo(config, 1), 1), 1.25, 0.05);
  MemoConfig orthonormal = config;
  orthonormal.projection = SlotProjection::kOrthonormal;
  EXPECT_NEAR(memo_study::key_variance(Memo(orthonormal, 1), 1), 1.0, 0.05);
}

TEST(MemoStudy, PlacesAndContexts) {
  std::vector<int32_t> tokens(100);
  for (int32_t i = 0; i < 100; ++i) tokens[i] = i;
  EXPECT_EQ(memo_study::random_places(64, 67, 10, 1), (std::vector<int64_t>{64, 65, 66}));
  const auto places = memo_study::random_places(64, 100, 5, 1);
  EXPECT_EQ(places.size(), 5u);
  const auto contexts = memo_study::contexts_before(tokens, places);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(contexts[i].size(), 64u);
    EXPECT_EQ(contexts[i].back() + 1, tokens[places[i]]);
  }
  EXPECT_EQ(memo_study::counts_of(std::vector<int32_t>{1, 1, 0}, 3),
            (std::vector<double>{2, 3, 1}));
}

}  // namespace
}  // namespace tessera
