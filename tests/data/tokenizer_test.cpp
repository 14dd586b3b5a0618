#include "tessera/data/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tessera/base/error.h"
#include "tessera/base/interrupt.h"
#include "tessera/data/bpe_trainer.h"
#include "tessera/data/text_encoder.h"
#include "tests/data/small_tokenizer.h"
#include "tests/support/folders.h"
#include "tests/support/mutated.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using test::message_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Json = nlohmann::json;
using test::llama_style_json;
using test::small_bpe_json;

Tokenizer parsed(const Json& json) {
  return Tokenizer::parse(json.dump(), "file");
}

/// The small tokenizer and added tokens, of which the first has the id 300.
Json with_added(const std::vector<std::string>& names, bool special = false) {
  Json json = small_bpe_json(), added = Json::array();
  for (const std::string& name : names)
    added.push_back({{"id", 300 + added.size()}, {"content", name}, {"special", special}});
  json["added_tokens"] = std::move(added);
  return json;
}

std::string refusal(const Json& json) {
  return message_of<DataError>([&] { parsed(json); });
}

TEST(Tokenizer, BytesAreTheirOwnIds) {
  const auto tokenizer = Tokenizer::bytes(EndOfText::kPresent);
  EXPECT_THAT(tokenizer.encode("a\xFF"), ElementsAre(97, 255));
  EXPECT_THAT(tokenizer.encode(""), IsEmpty());
  EXPECT_EQ(tokenizer.vocabulary_size(), 257);
  EXPECT_EQ(tokenizer.end_of_text(), 256);
  EXPECT_EQ(Tokenizer::bytes(EndOfText::kAbsent).end_of_text(), std::nullopt);
}

TEST(Tokenizer, SpecialTokensAreFoundOnlyWhenAsked) {
  const auto tokenizer = Tokenizer::bytes(EndOfText::kPresent);
  EXPECT_EQ(tokenizer.encode("a<|endoftext|>").size(), 14u);
  const auto ids = tokenizer.encode("a<|endoftext|>b", SpecialTokens::kRecognised);
  EXPECT_THAT(ids, ElementsAre(97, 256, 98));
  EXPECT_EQ(tokenizer.decode(ids), "a<|endoftext|>b");
}

TEST(Tokenizer, CharactersAreNumberedInOrder) {
  const auto tokenizer = Tokenizer::characters("béaé", EndOfText::kPresent);
  EXPECT_THAT(tokenizer.encode("aébé"), ElementsAre(0, 2, 1, 2));
  EXPECT_EQ(tokenizer.end_of_text(), 3);
  EXPECT_EQ(tokenizer.token_bytes(2), "é");
}

TEST(Tokenizer, CharactersRefuseWhatTheyDoNotKnow) {
  const auto tokenizer = Tokenizer::characters("ab", EndOfText::kAbsent);
  EXPECT_THAT(message_of<DataError>([&] { tokenizer.encode("abé"); }),
              HasSubstr("byte 2: the character U+00E9"));
  EXPECT_THAT(message_of<DataError>([&] { tokenizer.encode("a\xFF"); }),
              HasSubstr("byte 1 is not valid UTF-8"));
  EXPECT_THROW(Tokenizer::characters("", EndOfText::kAbsent), DataError);
  EXPECT_THROW(Tokenizer::characters("\xFF", EndOfText::kAbsent), DataError);
}

TEST(Tokenizer, DecodeRefusesIdsWithoutToken) {
  const auto tokenizer = Tokenizer::bytes(EndOfText::kAbsent);
  EXPECT_THROW(tokenizer.decode(std::vector<int32_t>{256}), UsageError);
  EXPECT_THROW(tokenizer.decode(std::vector<int32_t>{-1}), UsageError);
}

// Ids by hand: bytes are 0 to 255 in the order of the byte values, then the merges' results.
TEST(Tokenizer, MergesTheLowestRankFirst) {
  const auto tokenizer = parsed(small_bpe_json());
  const int32_t ab = 256, abc = 257, bc = 258;
  EXPECT_THAT(tokenizer.encode("ab"), ElementsAre(ab));
  EXPECT_THAT(tokenizer.encode("abc"), ElementsAre(abc));
  EXPECT_THAT(tokenizer.encode("bc"), ElementsAre(bc));
  EXPECT_THAT(tokenizer.encode("bcabcab"), ElementsAre(bc, abc, ab));
  EXPECT_THAT(tokenizer.encode("xabcbc"), ElementsAre('x', abc, bc));
}

TEST(Tokenizer, AddedTokensFollowTheirFlags) {
  Json json = small_bpe_json();
  json["added_tokens"] = {{{"id", 300}, {"content", "<s>"}, {"special", true}, {"rstrip", true}},
                          {{"id", 301}, {"content", "ab<s"}, {"special", false}},
                          {{"id", 302}, {"content", "<m>"}, {"special", true}, {"lstrip", true}}};
  const auto tokenizer = parsed(json);
  EXPECT_EQ(tokenizer.vocabulary_size(), 303);
  EXPECT_THAT(tokenizer.encode("ab<s>"), ElementsAre(301, '>'));
  EXPECT_THAT(tokenizer.encode("ab<s>  x", SpecialTokens::kRecognised), ElementsAre(256, 300, 'x'));
  EXPECT_THAT(tokenizer.encode("x \xC2\xA0<m>", SpecialTokens::kRecognised), ElementsAre('x', 302));
  EXPECT_THROW(tokenizer.token_bytes(299), UsageError);
}

TEST(Tokenizer, TheLongestAddedTokenAtAPlaceIsFound) {
  const auto tokenizer =
      parsed(with_added({"<a", "<a><b>", "<ab", "<b", "éé", "ééé", "éé!", "\x7F"}));
  EXPECT_THAT(tokenizer.encode("<<a<a><b<a><b><abc"),
              ElementsAre('<', 300, 300, '>', 303, 301, 302, 'c'));
  EXPECT_THAT(tokenizer.encode("ééééé!éé\x7F\xC3"), ElementsAre(305, 306, 304, 307, 0xC3));
}

// Speech models have a token for each sound. Time that grows with their number would take minutes.
TEST(Tokenizer, ManyAddedTokensAreNoTrouble) {
  std::vector<std::string> sounds;
  for (int sound = 0; sound < 50'000; ++sound)
    sounds.push_back("<sound_" + std::to_string(sound) + ">");
  const auto tokenizer = parsed(with_added(sounds));
  const std::string text(1'000'000, '<');
  EXPECT_EQ(tokenizer.encode(text + "<sound_49999>").back(), 50'299);
}

TEST(Tokenizer, HuggingFaceOptionsChangeIds) {
  Json json = small_bpe_json();
  json["pre_tokenizer"]["add_prefix_space"] = true;
  EXPECT_THAT(parsed(json).encode("x"), ElementsAre(' ', 'x'));
  EXPECT_THAT(parsed(json).encode(" x"), ElementsAre(' ', 'x'));

  json = small_bpe_json();
  json["model"]["vocab"]["cab"] = 259;
  EXPECT_THAT(parsed(json).encode("cab"), ElementsAre('c', 256));
  json["model"]["ignore_merges"] = true;
  EXPECT_THAT(parsed(json).encode("cab"), ElementsAre(259));

  json = small_bpe_json();
  json["model"]["vocab"]["aĠ"] = 259;
  json["model"]["merges"].push_back({"a", "Ġ"});
  EXPECT_THAT(parsed(json).encode("a b"), ElementsAre('a', ' ', 'b'));
  json["pre_tokenizer"]["use_regex"] = false;
  EXPECT_THAT(parsed(json).encode("a b"), ElementsAre(259, 'b'));
}

// Ids by hand: " 12" would be one pre-token with GPT-2's pattern, "?\n" would be two.
TEST(Tokenizer, SplitsByTheFilesOwnPattern) {
  Json json = llama_style_json();
  json["model"]["vocab"]["Ġ1"] = 259;
  json["model"]["merges"].push_back({"Ġ", "1"});
  json["model"]["vocab"]["?Ċ"] = 260;
  json["model"]["merges"].push_back({"?", "Ċ"});
  const auto tokenizer = parsed(json);
  EXPECT_THAT(tokenizer.encode("abc 12?\n"), ElementsAre(257, ' ', '1', '2', 260));
  json["pre_tokenizer"] = small_bpe_json()["pre_tokenizer"];
  const auto gpt2 = parsed(json);
  EXPECT_THAT(gpt2.encode("abc 12?\n"), ElementsAre(257, 259, '2', '?', '\n'));
  EXPECT_NE(gpt2.digest(), tokenizer.digest());
  const auto again = Tokenizer::parse(tokenizer.to_json(), "file");
  EXPECT_EQ(again.digest(), tokenizer.digest());
  EXPECT_EQ(again.encode("abc 12?\n"), tokenizer.encode("abc 12?\n"));
}

TEST(Tokenizer, RefusesOtherSequencesByName) {
  const auto changed = [](const char* place, const Json& value) {
    Json json = llama_style_json();
    json["pre_tokenizer"][Json::json_pointer(place)] = value;
    return refusal(json);
  };
  const Json digits = {{"type", "Digits"}, {"individual_digits", true}};
  EXPECT_THAT(changed("/pretokenizers/0", digits), HasSubstr("Digits, only Split is supported"));
  EXPECT_THAT(changed("/pretokenizers/1", digits), HasSubstr("Digits, only ByteLevel"));
  EXPECT_THAT(changed("/pretokenizers/2", digits), HasSubstr("a Sequence of 3 parts"));
  EXPECT_THAT(changed("/pretokenizers", nullptr), HasSubstr("a Sequence of 0 parts"));
  EXPECT_THAT(changed("/pretokenizers/0/behavior", "Removed"), HasSubstr("behavior \"Removed\""));
  EXPECT_THAT(changed("/pretokenizers/0/invert", true), HasSubstr("Split with invert = true"));
  EXPECT_THAT(changed("/pretokenizers/0/pattern", {{"String", " "}}), HasSubstr("'Regex'"));
  EXPECT_THAT(changed("/pretokenizers/0/pattern/Regex", R"(\w+)"), HasSubstr(R"('\w' is not)"));
  EXPECT_THAT(changed("/pretokenizers/1/add_prefix_space", true),
              HasSubstr("add_prefix_space = true is not supported"));
  EXPECT_THAT(changed("/pretokenizers/1/use_regex", true),
              HasSubstr("use_regex = true is not supported"));
}

TEST(Tokenizer, TakesBothWaysToWriteMerges) {
  Json json = small_bpe_json();
  json["model"]["merges"] = {"a b", {"ab", "c"}, "b c"};
  EXPECT_EQ(parsed(json).digest(), parsed(small_bpe_json()).digest());
}

/// The refusal of the small tokenizer with another value at a place of its file.
std::string changed(const char* place, const Json& value) {
  Json json = small_bpe_json();
  json[Json::json_pointer(place)] = value;
  return refusal(json);
}

TEST(Tokenizer, RefusesWhatItDoesNotImplement) {
  EXPECT_THAT(changed("/model/type", "Unigram"), HasSubstr("its model is Unigram, only BPE"));
  EXPECT_THAT(changed("/model/type", "WordPiece"), HasSubstr("WordPiece"));
  EXPECT_THAT(changed("/normalizer", {{"type", "NFC"}}), HasSubstr("its normalizer is NFC"));
  EXPECT_THAT(changed("/pre_tokenizer", {{"type", "Metaspace"}}), HasSubstr("Metaspace"));
  EXPECT_THAT(changed("/pre_tokenizer", nullptr), HasSubstr("pre_tokenizer is none"));
  EXPECT_THAT(changed("/decoder", {{"type", "WordPiece"}}), HasSubstr("its decoder is WordPiece"));
  EXPECT_THAT(changed("/model/dropout", 0.1), HasSubstr("dropout"));
  EXPECT_THAT(changed("/model/byte_fallback", true), HasSubstr("byte_fallback"));
  EXPECT_THAT(changed("/model/end_of_word_suffix", "</w>"), HasSubstr("end_of_word_suffix"));
  EXPECT_THAT(changed("/added_tokens", {{{"id", 300}, {"content", "x1"}, {"single_word", true}}}),
              HasSubstr("single_word"));
}

TEST(Tokenizer, RefusesDamage) {
  EXPECT_THAT(changed("/model/vocab/ab", 97), HasSubstr("the id 97 belongs to"));
  EXPECT_THAT(changed("/model/vocab/ab", -1), HasSubstr("has the id -1"));
  EXPECT_THAT(changed("/model/vocab/ab", 1.5), HasSubstr("has the id 1.5"));
  EXPECT_THAT(changed("/model/vocab/ab", 2000000000), HasSubstr("ids up to 2000000000"));
  EXPECT_THAT(changed("/model/vocab/ab", 1e30), HasSubstr("expected an integer"));
  EXPECT_THAT(message_of<DataError>([] { Tokenizer::parse(R"({"model": 1e999})", "file"); }),
              testing::AllOf(testing::StartsWith("file: "), HasSubstr("a number is beyond")));
  EXPECT_THAT(changed("/model/vocab", Json::object()), HasSubstr("byte 0x00"));
  EXPECT_THAT(changed("/model/merges/3", "a c"), HasSubstr("merge 3 needs the token 'ac'"));
  EXPECT_THAT(changed("/model/merges/3", "a b c"), HasSubstr("one space between"));
  EXPECT_THAT(changed("/model/merges/3", {"a"}), HasSubstr("merge 3 is neither"));
  EXPECT_THAT(changed("/model/vocab/a b", 259), HasSubstr("byte-level alphabet"));
  EXPECT_THAT(changed("/model/vocab/", 259), HasSubstr("is empty"));
  EXPECT_THAT(changed("/added_tokens", {{{"id", 7}, {"content", "new"}}}), HasSubstr("the id 7"));
  EXPECT_THAT(changed("/added_tokens", {{{"id", 259}, {"content", "é"}}}),
              HasSubstr("and another token too"));
  EXPECT_THAT(changed("/added_tokens", {{{"id", 0xE9}, {"content", "é"}}}),
              HasSubstr("no token for the byte 0xE9"));
  EXPECT_THAT(changed("/added_tokens", {{{"id", 259}, {"content", ""}}}), HasSubstr("no content"));
  EXPECT_THAT(message_of<DataError>([] { Tokenizer::parse(std::string(200, '['), "file"); }),
              HasSubstr("nested deeper"));
  EXPECT_THAT(message_of<DataError>([] { Tokenizer::parse("{\"a\": ", "file"); }),
              HasSubstr("not valid JSON"));
  EXPECT_THAT(refusal(Json::array()), HasSubstr("not a JSON object"));
  EXPECT_THAT(refusal({{"format", "tessera-bytes"}, {"version", 2}}), HasSubstr("version 2"));
  EXPECT_THAT(refusal({{"format", "other"}, {"version", 1}}), HasSubstr("neither a tessera-bytes"));
}

TEST(Tokenizer, SaysWhereItLookedForAVocabulary) {
  const test::TemporaryFolder folder;
  EXPECT_THAT(message_of<DataError>([&] { Tokenizer::load(folder.path()); }),
              HasSubstr("encoder.json"));
}

class RoundTrip : public testing::TestWithParam<int> {
 protected:
  static Tokenizer tokenizer() {
    BpeTrainer trainer({.vocabulary_size = 300});
    trainer.add_text("the cat sat on the mat, the rat sat on the cat 2024 2024 naïve naïve");
    switch (GetParam()) {
      case 0:
        return Tokenizer::bytes(EndOfText::kPresent);
      case 1:
        return parsed(small_bpe_json());
      case 2:
        return parsed(llama_style_json());
      default:
        return trainer.train();
    }
  }
};

TEST_P(RoundTrip, DecodesWhatItEncoded) {
  const auto tokenizer = this->tokenizer();
  const bool held = rc::check("any bytes come back", [&](const std::string& text) {
    RC_ASSERT(tokenizer.decode(tokenizer.encode(text)) == text);
  });
  EXPECT_TRUE(held);
}

TEST_P(RoundTrip, SavesAndLoads) {
  const auto tokenizer = this->tokenizer();
  const auto again = Tokenizer::parse(tokenizer.to_json(), "file");
  EXPECT_EQ(again.digest(), tokenizer.digest());
  EXPECT_EQ(again.end_of_text(), tokenizer.end_of_text());
  EXPECT_EQ(again.encode("the cat\xFF"), tokenizer.encode("the cat\xFF"));
}

INSTANTIATE_TEST_SUITE_P(Kinds, RoundTrip, testing::Values(0, 1, 2, 3));

TEST(Tokenizer, CharactersSaveAndLoad) {
  const std::string text("\0a\"é👍\n", 10);
  const auto tokenizer = Tokenizer::characters(text, EndOfText::kPresent);
  const auto again = Tokenizer::parse(tokenizer.to_json(), "file");
  EXPECT_EQ(again.digest(), tokenizer.digest());
  EXPECT_EQ(again.decode(again.encode(text)), text);
}

TEST(Tokenizer, SavesAddedTokensOfAnyName) {
  const auto tokenizer =
      parsed(with_added({"two words", "«sep»", "été", "\n\n", "<|plain|>", "🙂"}, true));
  const Json saved = Json::parse(tokenizer.to_json());
  for (const Json& token : saved["added_tokens"])  // where other programs look for its id
    EXPECT_EQ(saved["model"]["vocab"][token["content"].get<std::string>()], token["id"]) << token;
  const auto again = Tokenizer::parse(tokenizer.to_json(), "file");
  EXPECT_EQ(again.digest(), tokenizer.digest());
  const std::string text = "abc«sep»été \n\n<|plain|>two words🙂";
  const auto ids = tokenizer.encode(text, SpecialTokens::kRecognised);
  EXPECT_THAT(ids, ElementsAre(257, 301, 302, ' ', 303, 304, 300, 305));
  EXPECT_EQ(again.encode(text, SpecialTokens::kRecognised), ids);
  EXPECT_EQ(again.decode(ids), text);
}

TEST(Tokenizer, DigestTellsTokenizersApart) {
  Json json = small_bpe_json();
  json["model"]["merges"].erase(2);
  EXPECT_NE(parsed(json).digest(), parsed(small_bpe_json()).digest());
  EXPECT_NE(Tokenizer::bytes(EndOfText::kPresent).digest(),
            Tokenizer::bytes(EndOfText::kAbsent).digest());
}

// Damaged files load or are refused; they never do anything else.
TEST(Tokenizer, SurvivesMutatedFiles) {
  const std::string valid = small_bpe_json().dump();
  const bool held = rc::check("load or DataError", [&] {
    try {
      const auto tokenizer = Tokenizer::parse(test::mutated(valid), "file");
      tokenizer.decode(tokenizer.encode("abc bc", SpecialTokens::kRecognised));
    } catch (const DataError&) {
    }
  });
  EXPECT_TRUE(held);
}

TEST(TextEncoder, PiecesGiveTheIdsOfTheWhole) {
  const auto tokenizer = parsed(small_bpe_json());
  std::string text;
  while (text.size() < 3'000'000) text += "abc  bc.\n\n ab ?\nxab\n";
  std::vector<int32_t> ids;
  int count = 0;
  TextEncoder encoder(tokenizer);
  const auto pieces = encoder.pieces(text);
  for (auto piece = pieces(); !piece.empty(); piece = pieces(), ++count)
    ids.insert(ids.end(), piece.begin(), piece.end());
  EXPECT_GT(count, 1);
  EXPECT_TRUE(pieces().empty());
  EXPECT_EQ(ids, tokenizer.encode(text));

  // Pieces of any size, in any order.
  TextEncoder another(tokenizer);
  const std::string_view rest = text;
  const size_t half = another.cut(rest, 1'500'000), some = half + another.cut(rest.substr(half), 9);
  ASSERT_LT(some, half + 40);
  std::vector<int32_t> first, second, third;
  another.append_piece(text, some, text.size(), third);
  another.append_piece(text, half, some, second);
  another.append_piece(text, 0, half, first);
  first.insert(first.end(), second.begin(), second.end());
  first.insert(first.end(), third.begin(), third.end());
  EXPECT_EQ(first, ids);
}

TEST(TextEncoder, CutsNoAddedToken) {
  for (const char* name : {"two words", "end ", "a\nb"}) {
    const std::string text = std::string("two words end a\nb ") + name + "x y\nz";
    const TextEncoder encoder(parsed(with_added({name})));
    for (size_t least = 0; least < text.size(); ++least)
      EXPECT_EQ(encoder.cut(text, least), text.size()) << name << " " << least;
  }
  const Tokenizer tokenizer = parsed(with_added({"  ", "\n\n"}));
  TextEncoder encoder(tokenizer);
  const std::string_view text = "a  b\n\nc";
  EXPECT_EQ(encoder.cut(text, 0), 4u) << "no space between two";
  std::vector<int32_t> ids;
  encoder.append_piece(text, 0, 4, ids);
  encoder.append_piece(text, 4, text.size(), ids);
  EXPECT_EQ(ids, tokenizer.encode(text));
}

// Far more than linear time would make this test time out.
TEST(Tokenizer, LongRunsOfOneClassAreNoTrouble) {
  const auto tokenizer = parsed(small_bpe_json());
  for (const char* unit : {"abc", " ", "\n", "1", "!", "\xFF", "é", "'"}) {
    std::string text;
    while (text.size() < 1'000'000) text += unit;
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text) << unit;
  }
}

TEST(Tokenizer, EqualsGpt2OnAKnownSentence) {
  const auto folder = test::data_folder() / "gpt2-bpe";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no GPT-2 vocabulary at " << folder;
  const auto tokenizer = Tokenizer::load(folder);
  const std::string text = "Hello world, it's 2024!  ok\n\n  naïve café";
  EXPECT_THAT(tokenizer.encode(text),
              ElementsAre(15496, 995, 11, 340, 338, 48609, 0, 220, 12876, 628, 220, 41492, 40304));
  EXPECT_EQ(tokenizer.vocabulary_size(), 50257);
  EXPECT_EQ(tokenizer.end_of_text(), 50256);
  EXPECT_EQ(Tokenizer::parse(tokenizer.to_json(), "file").digest(), tokenizer.digest());
}

TEST(Bpe, HearsCtrlCInAWordThatTakesSeconds) {
  BpeTrainer trainer({.vocabulary_size = 300});
  trainer.add_text("aaaa aaaa bbbb");
  const Tokenizer tokenizer = trainer.train();
  const std::string word(3 << 20, 'a');
  const InterruptGuard guard;
  EXPECT_FALSE(tokenizer.encode(word).empty());
  std::raise(SIGINT);
  EXPECT_THROW(tokenizer.encode(word), Interrupted);
  EXPECT_EQ(tokenizer.encode("aaaa").size(), 1u);  // short ones are done first
}

TEST(TokenText, IsTheTextOrTheBytesOrTheId) {
  const Tokenizer tokenizer = Tokenizer::bytes(EndOfText::kPresent);
  EXPECT_EQ(bytes_of(tokenizer, 'a'), "a");
  EXPECT_EQ(bytes_of(tokenizer, 0xE2), "\xE2");
  EXPECT_EQ(bytes_of(tokenizer, 1000), "");
  EXPECT_EQ(shown_token(tokenizer, 'a'), "a");
  EXPECT_EQ(shown_token(tokenizer, 0xE2), "bytes:\\xe2");
  EXPECT_EQ(shown_token(tokenizer, 256), "<|endoftext|>");
  EXPECT_EQ(shown_token(tokenizer, 1000), "token:1000");
}

}  // namespace
}  // namespace tessera
