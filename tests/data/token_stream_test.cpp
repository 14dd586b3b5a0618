#include "tessera/data/token_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <filesystem>

#include "tessera/base/error.h"
#include "tessera/base/safetensors.h"
#include "tessera/base/utf8.h"
#include "tests/support/mutated.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/token_stream.h"

namespace tessera {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class TokenStreamFile : public testing::Test {
 protected:
  std::filesystem::path file() const { return folder_ / "tokens.safetensors"; }

  TokenStream write(const std::vector<std::string>& documents, const Tokenizer& tokenizer) const {
    TokenStreamWriter writer(file(), tokenizer);
    for (const auto& document : documents) writer.add_document(document);
    writer.finish();
    return TokenStream::open(file());
  }

  const test::TemporaryFolder folder_;
};

std::vector<int64_t> all(const TokenStream& stream) {
  std::vector<int64_t> ids(stream.size());
  stream.read(0, ids);
  return ids;
}

/// 0, 1, …, size - 1.
TokenStream counting(int32_t size) {
  std::string text;
  for (int32_t id = 0; id < size; ++id) utf8::append(text, U'\u0100' + id);
  return test::stream_of(text, Tokenizer::characters(text, EndOfText::kAbsent));
}

TEST_F(TokenStreamFile, JoinsDocumentsByTheEndOfText) {
  const auto tokenizer = Tokenizer::bytes(EndOfText::kPresent);
  const auto stream = write({"ab", "", "c"}, tokenizer);
  EXPECT_THAT(all(stream), ElementsAre('a', 'b', 256, 256, 'c', 256));
  EXPECT_EQ(stream.info().documents, 3);
  EXPECT_EQ(stream.info().text_bytes, 3);
  EXPECT_EQ(stream.vocabulary_size(), 257);
  EXPECT_EQ(stream.info().tokenizer_digest, tokenizer.digest());
  EXPECT_EQ(stream.text_bytes(tokenizer), 3);
  EXPECT_EQ(stream.slice(1, 4).text_bytes(tokenizer), 1);
  EXPECT_EQ(safetensors::File::open(file()).at("tokens").dtype, safetensors::DType::kU16);
}

TEST_F(TokenStreamFile, WithoutAnEndOfTextDocumentsTouch) {
  EXPECT_THAT(all(write({"ab", "c"}, Tokenizer::bytes(EndOfText::kAbsent))),
              ElementsAre('a', 'b', 'c'));
}

TEST_F(TokenStreamFile, LargeVocabulariesTakeFourBytes) {
  std::string many;
  for (char32_t c = 0; c < 70000; ++c) utf8::append(many, 0x10000 + c);
  const auto tokenizer = Tokenizer::characters(many, EndOfText::kAbsent);
  const auto stream = write({many}, tokenizer);
  EXPECT_EQ(stream.size(), 70000);
  EXPECT_EQ(all(stream)[69999], 69999);
  EXPECT_EQ(safetensors::File::open(file()).at("tokens").dtype, safetensors::DType::kI32);
}

TEST_F(TokenStreamFile, AppearsWholeOrNotAtAll) {
  const auto tokenizer = Tokenizer::bytes(EndOfText::kAbsent);
  { TokenStreamWriter(file(), tokenizer).add_document("abc"); }
  EXPECT_FALSE(std::filesystem::exists(file()));
  EXPECT_THROW(TokenStreamWriter(file(), tokenizer).finish(), DataError);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(TokenStreamFile, RefusesIdsOutsideTheVocabulary) {
  write({"abz"}, Tokenizer::bytes(EndOfText::kAbsent));
  std::string bytes = read_file(file());
  bytes[bytes.size() - 1] = 1;  // the last id becomes 256 + 'z'
  write_file(file(), bytes);
  const auto stream = TokenStream::open(file());
  std::vector<int64_t> ids(2);
  EXPECT_NO_THROW(stream.read(0, ids));
  EXPECT_THAT(test::message_of<DataError>([&] { WindowSampler(stream, 1, 2, 0).batch(0); }),
              HasSubstr("token 2 is 378, outside the vocabulary of 256"));
}

TEST_F(TokenStreamFile, RefusesForeignFilesAndTokenizers) {
  const int32_t ids[] = {1, 2};
  const safetensors::NamedTensor tensor{
      "tokens", {safetensors::DType::kI32, {2}, std::as_bytes(std::span(ids))}};
  const std::map<std::string, std::string> metadata = {
      {"tokenizer", "1"}, {"vocabulary", "10"}, {"documents", "1"}, {"text_bytes", "2"}};
  safetensors::write(file(), {tensor});
  EXPECT_THROW(TokenStream::open(file()), DataError);
  safetensors::write(file(), {tensor}, metadata);  // I32, where U16 is expected
  EXPECT_THROW(TokenStream::open(file()), DataError);
  auto negative = metadata;
  negative["vocabulary"] = "-70000";
  safetensors::write(file(), {tensor}, negative);
  EXPECT_THROW(TokenStream::open(file()), DataError);
  EXPECT_THROW(write({"a"}, Tokenizer::bytes(EndOfText::kAbsent))
                   .text_bytes(Tokenizer::bytes(EndOfText::kPresent)),
               DataError);
}

TEST_F(TokenStreamFile, SurvivesMutatedFiles) {
  write({"abcdef", "gh"}, Tokenizer::bytes(EndOfText::kPresent));
  const std::string valid = read_file(file());
  const bool held = rc::check("load or DataError", [&] {
    write_file(file(), test::mutated(valid));
    try {
      all(TokenStream::open(file()));
    } catch (const DataError&) {
    }
  });
  EXPECT_TRUE(held);
}

TEST(TokenStream, SplitsTheTailOff) {
  const auto [train, validation] = counting(25).split_tail(0.1);
  EXPECT_EQ(train.size(), 22);
  EXPECT_THAT(all(validation), ElementsAre(22, 23, 24));
  EXPECT_THROW(counting(2).split_tail(1.0), UsageError);
  EXPECT_THROW(counting(2).slice(1, 3), UsageError);
  std::vector<int64_t> ids(2);
  EXPECT_THROW(counting(3).read(2, ids), UsageError);
}

TEST(WindowSampler, TargetsAreTheNextTokens) {
  const WindowSampler sampler(counting(100), 8, 5, 1);
  const auto batch = sampler.batch(3);
  ASSERT_EQ(batch.inputs.size(), 40u);
  for (size_t row = 0; row < 8; ++row)
    for (size_t t = 0; t < 5; ++t) {
      EXPECT_EQ(batch.inputs[row * 5 + t], batch.inputs[row * 5] + static_cast<int64_t>(t));
      EXPECT_EQ(batch.targets[row * 5 + t], batch.inputs[row * 5 + t] + 1);
    }
}

TEST(WindowSampler, BatchesDependOnSeedStepAndRowOnly) {
  const WindowSampler sampler(counting(1000), 4, 3, 1), wider(counting(1000), 6, 3, 1),
      other(counting(1000), 4, 3, 2);
  const auto batch = sampler.batch(7);
  sampler.batch(8);
  EXPECT_EQ(sampler.batch(7).inputs, batch.inputs);
  EXPECT_NE(sampler.batch(8).inputs, batch.inputs);
  EXPECT_NE(other.batch(7).inputs, batch.inputs);
  const auto wide = wider.batch(7).inputs;
  EXPECT_TRUE(std::equal(batch.inputs.begin(), batch.inputs.end(), wide.begin()));
}

// 4 places, 4000 draws: each is drawn 1000 times, give or take five standard deviations (27 each).
TEST(WindowSampler, EveryPlaceIsEquallyLikely) {
  const WindowSampler sampler(counting(6), 10, 2, 5);
  std::array<int, 4> counts{};
  for (int64_t step = 0; step < 400; ++step) {
    const auto batch = sampler.batch(step);
    for (size_t row = 0; row < 10; ++row) ++counts.at(batch.inputs[row * 2]);
  }
  for (int count : counts) EXPECT_NEAR(count, 1000, 137);
}

TEST(WindowSampler, EvaluationWindowsSpreadEvenly) {
  const WindowSampler sampler(counting(12), 1, 2, 0);
  const auto batch = sampler.evaluation_windows(4);
  EXPECT_THAT(batch.inputs, ElementsAre(0, 1, 3, 4, 6, 7, 9, 10));
  EXPECT_EQ(batch.targets.back(), 11);
  EXPECT_EQ(sampler.evaluation_windows(1).inputs[0], 0);
  EXPECT_EQ(sampler.evaluation_windows(99).rows, 10);
}

TEST(WindowSampler, RefusesShortStreams) {
  EXPECT_EQ(WindowSampler(counting(4), 1, 3, 0).batch(0).inputs[0], 0);
  EXPECT_THAT(test::message_of<DataError>([&] { WindowSampler(counting(3), 1, 3, 0); }),
              HasSubstr("has 3 tokens, but a window of 3 and its targets need 4"));
  EXPECT_THROW(WindowSampler(counting(4), 0, 3, 0), UsageError);
  EXPECT_THROW(WindowSampler(counting(4), 1, 3, 0).batch(-1), UsageError);
}

}  // namespace
}  // namespace tessera
