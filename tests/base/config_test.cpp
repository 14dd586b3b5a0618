#include "tessera/base/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tests/support/temporary_folder.h"

namespace tessera::config {
namespace {

using test::message_of;
using test::TemporaryFolder;
using testing::HasSubstr;

enum class Colour { kRed, kDarkBlue };
constexpr std::array<std::string_view, 2> enum_names(Colour) {
  return {"red", "dark_blue"};
}

struct Inner {
  double rate = 0.5;
  bool tied = true;
  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("rate", rate, "how fast");
    field("tied", tied, "whether tied");
  }
};

struct Outer {
  int64_t heads = 4;
  uint64_t seed = 7;
  int32_t small = 1;
  std::string name = "mosaic";
  Colour colour = Colour::kRed;
  std::vector<int64_t> sizes = {1, 2};
  Inner inner;
  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("heads", heads, "per layer");
    field("seed", seed, "of everything");
    field("small", small, "a small number");
    field("name", name, "of the model");
    field("colour", colour, "of the tile");
    field("sizes", sizes, "some sizes");
    field("inner", inner, "the inner part");
  }
};

Json parse(std::string_view text) {
  return parse_json(text, "text");
}

std::string refusal(std::string_view text) {
  return message_of<UsageError>([&] {
    Outer value;
    from_json(parse(text), value, "file");
  });
}

TEST(Config, GoesThroughJsonInTheOrderOfItsFields) {
  EXPECT_EQ(to_json(Outer{}).dump(),
            R"({"heads":4,"seed":7,"small":1,"name":"mosaic","colour":"red","sizes":[1,2],)"
            R"("inner":{"rate":0.5,"tied":true}})");
  Outer value;
  from_json(parse(R"({"colour":"dark_blue","inner":{"rate":2},"sizes":[],"heads":-3})"), value,
            "file");
  EXPECT_EQ(value.colour, Colour::kDarkBlue);
  EXPECT_EQ(value.inner.rate, 2.0);
  EXPECT_TRUE(value.inner.tied);
  EXPECT_TRUE(value.sizes.empty());
  EXPECT_EQ(value.heads, -3);
  EXPECT_EQ(value.name, "mosaic");
}

TEST(Config, NamesUnknownKeysAndTheNearestKnownOne) {
  EXPECT_EQ(refusal(R"({"haeds":3})"), "file: unknown key 'haeds'; did you mean 'heads'?");
  EXPECT_EQ(refusal(R"({"inner":{"tide":true}})"),
            "file.inner: unknown key 'tide'; did you mean 'tied'?");
  EXPECT_EQ(
      refusal(R"({"zzzzzzzzz":1})"),
      "file: unknown key 'zzzzzzzzz'; there are heads, seed, small, name, colour, sizes, inner");
}

TEST(Config, NamesUnknownTablesAndTheNearestTableOrKeyOfOne) {
  Inner inner;
  Json model;
  const auto refusal_of = [&](std::string_view text, const std::string& where) {
    return message_of<UsageError>([&] {
      read_tables(parse(text), {{"model", &model}, {"inner", fields_of(inner)}}, where);
    });
  };
  EXPECT_EQ(refusal_of(R"({"modl":{}})", "file"),
            "file: unknown table 'modl'; did you mean 'model'?");
  EXPECT_EQ(refusal_of(R"({"tide":true})", "file"),
            "file: unknown table 'tide'; did you mean 'inner.tied'?");
  EXPECT_EQ(refusal_of(R"({"zzzzzzzzz":{}})", ""),
            "configuration: unknown table 'zzzzzzzzz'; there are model, inner");
}

TEST(Config, SaysInWhichFileAMistakeIs) {
  const auto refusal_in = [](const std::string& where) {
    return message_of<UsageError>(
        [&] { saying_where(where, [] { throw UsageError("heads is 0"); }); });
  };
  EXPECT_EQ(refusal_in("run.toml"), "run.toml: heads is 0");
  EXPECT_EQ(refusal_in(""), "heads is 0");
  EXPECT_EQ(saying_where("run.toml", [] { return 3; }), 3);
}

TEST(Config, RefusesTheWrongTypeAndSaysWhatIsExpected) {
  EXPECT_EQ(refusal(R"({"heads":"four"})"), R"(file.heads is "four", expected a whole number)");
  EXPECT_EQ(refusal(R"({"heads":1.5})"), "file.heads is 1.5, expected a whole number");
  EXPECT_EQ(refusal(R"({"heads":true})"), "file.heads is true, expected a whole number");
  EXPECT_EQ(refusal(R"({"inner":{"tied":1}})"), "file.inner.tied is 1, expected true or false");
  EXPECT_EQ(refusal(R"({"inner":3})"), "file.inner is 3, expected a table");
  EXPECT_EQ(refusal(R"({"inner":{"rate":"x"}})"), R"(file.inner.rate is "x", expected a number)");
  EXPECT_EQ(refusal(R"({"name":1})"), "file.name is 1, expected a text");
  EXPECT_EQ(refusal(R"({"colour":1})"), "file.colour is 1, expected one of: red, dark_blue");
  EXPECT_EQ(refusal(R"({"colour":"blue"})"),
            R"(file.colour is "blue", expected one of: red, dark_blue)");
  EXPECT_EQ(refusal(R"({"sizes":3})"), "file.sizes is 3, expected a list");
  EXPECT_EQ(refusal("[]"), "file is [], expected a table");
}

TEST(Config, RefusesNumbersThatWouldWrapRoundOrLoseAFraction) {
  EXPECT_EQ(refusal(R"({"seed":-1})"), "file.seed is -1, expected a whole number from 0 on");
  EXPECT_EQ(refusal(R"({"heads":9223372036854775808})"),
            "file.heads is 9223372036854775808, expected a whole number");
  EXPECT_EQ(refusal(R"({"small":2147483648})"),
            "file.small is 2147483648, expected a whole number");
  EXPECT_EQ(refusal(R"({"sizes":[1,2.5]})"), "file.sizes[1] is 2.5, expected a whole number");
  Outer value;
  from_json(parse(R"({"seed":18446744073709551615,"small":-2147483648})"), value, "file");
  EXPECT_EQ(value.seed, UINT64_MAX);
  EXPECT_EQ(value.small, INT32_MIN);
}

struct Demanding {
  std::string text;
  int64_t tokens = 50;
  double rate = 0.5;
  uint64_t seed = 1;
  std::optional<int64_t> limit;
  std::optional<std::string> stop;
  std::vector<int64_t> sizes;
  double factor = 2, share = 0.9, decay = 0, half = 0.5;
  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("text", text, "what is read", required());
    field("tokens", tokens, "how many", between(0, 100));
    field("rate", rate, "how fast", between(1e-300, 0.75));
    field("seed", seed, "of everything", at_least(1));
    field("limit", limit, "at most so many", at_least(2));
    field("stop", stop, "where it ends");
    field("sizes", sizes, "some sizes", at_least(1));
    field("factor", factor, "times as much", above(0));
    field("share", share, "of all", above(0, 1));
    field("decay", decay, "by step", below(1));
    field("half", half, "of all", inner_share());
  }
};

TEST(Config, DemandsWhatAFieldSays) {
  const auto refusal = [](std::string_view text) {
    return message_of<FieldError>([&] {
      Demanding value;
      from_json(parse(text), value, "");
    });
  };
  EXPECT_EQ(refusal("{}"), "text is missing");
  EXPECT_EQ(refusal(R"({"text":"a","tokens":101})"),
            "tokens is 101, expected a whole number from 0 to 100");
  EXPECT_EQ(refusal(R"({"text":"a","tokens":1.5})"),
            "tokens is 1.5, expected a whole number from 0 to 100");
  EXPECT_EQ(refusal(R"({"text":"a","rate":0})"),
            "rate is 0, expected a number from 1e-300 to 0.75");
  EXPECT_EQ(refusal(R"({"text":"a","rate":null})"),
            "rate is null, expected a number from 1e-300 to 0.75");
  EXPECT_EQ(refusal(R"({"text":"a","seed":0})"), "seed is 0, expected a whole number from 1 on");
  EXPECT_EQ(refusal(R"({"text":"a","limit":1})"), "limit is 1, expected a whole number from 2 on");
  EXPECT_EQ(refusal(R"({"text":"a","sizes":[1,0]})"),
            "sizes[1] is 0, expected a whole number from 1 on");
  EXPECT_EQ(refusal(R"({"text":"a","tokenz":1})"), "unknown key 'tokenz'; did you mean 'tokens'?");
  EXPECT_EQ(refusal(R"({"text":")" + std::string(100, 'x') + R"(","stop":["a)" +
                    std::string(100, 'y') + R"("]})"),
            R"(stop is ["a)" + std::string(57, 'y') + "…, expected a text");
  EXPECT_EQ(refusal(R"({"text":"a","factor":0})"), "factor is 0, expected a number above 0");
  EXPECT_EQ(refusal(R"({"text":"a","share":0})"), "share is 0, expected a number above 0, up to 1");
  EXPECT_EQ(refusal(R"({"text":"a","decay":1})"),
            "decay is 1, expected a number from 0 to below 1");
  for (const char* half : {"0", "1"})
    EXPECT_EQ(refusal(fmt::format(R"({{"text":"a","half":{}}})", half)),
              fmt::format("half is {}, expected a number above 0, below 1", half));
  Demanding value;
  from_json(parse(R"({"text":"a","tokens":100,"rate":0.75,"limit":2,"stop":null,)"
                  R"("factor":5e-324,"share":1,"decay":0})"),
            value, "");
  EXPECT_EQ(value.tokens, 100);
  EXPECT_EQ(value.limit, 2);
  EXPECT_EQ(to_json(value).dump(),
            R"({"text":"a","tokens":100,"rate":0.75,"seed":1,"limit":2,"stop":null,"sizes":[],)"
            R"("factor":5e-324,"share":1.0,"decay":0.0,"half":0.5})");
}

TEST(Config, DemandsTheSameOfAValueThatNoJsonGave) {
  const auto refusal = [](auto change) {
    Demanding value;
    change(value);
    return message_of<FieldError>([&] { check_demands(value, "job"); });
  };
  EXPECT_EQ(refusal([](Demanding&) {}), "");
  EXPECT_EQ(refusal([](Demanding& value) { value.tokens = -1; }),
            "job.tokens is -1, expected a whole number from 0 to 100");
  EXPECT_EQ(refusal([](Demanding& value) { value.rate = NAN; }),
            "job.rate is nan, expected a number from 1e-300 to 0.75");
  EXPECT_EQ(refusal([](Demanding& value) { value.limit = 1; }),
            "job.limit is 1, expected a whole number from 2 on");
  EXPECT_EQ(refusal([](Demanding& value) {
              value.sizes = {1, 0};
            }),
            "job.sizes[1] is 0, expected a whole number from 1 on");
}

TEST(Config, NamesTheFieldOfARefusal) {
  Outer value;
  try {
    from_json(parse(R"({"inner":{"rate":"x"}})"), value, "");
    FAIL();
  } catch (const FieldError& error) {
    EXPECT_EQ(error.path(), "inner.rate");
  }
}

TEST(Config, ARefusalChangesNothing) {
  Outer value;
  EXPECT_THROW(from_json(parse(R"({"heads":8,"inner":{"rate":9,"x":1}})"), value, "file"),
               UsageError);
  EXPECT_EQ(to_json(value), to_json(Outer{}));
}

TEST(Config, DescribesEveryField) {
  const std::string text = describe_fields<Outer>();
  EXPECT_THAT(text, HasSubstr("heads = 4                      per layer\n"));
  EXPECT_THAT(text, HasSubstr("of the tile (red | dark_blue)\n"));
  EXPECT_THAT(text, HasSubstr("[inner] the inner part\n  rate = 0.5"));
  const std::string bounds = describe_fields<Demanding>();
  EXPECT_THAT(bounds, HasSubstr(" how many (from 0 to 100)\n"));
  EXPECT_THAT(bounds, HasSubstr(" of everything\n"));
  EXPECT_THAT(bounds, HasSubstr(" at most so many (from 2 on)\n"));
}

TEST(Config, ListsTheLeavesOfNestedTablesInTheirOrder) {
  const auto leaves = config::leaves(
      parse(R"({"train":{"steps":5,"empty":{},"adam":{"betas":[0.9,1]}},"data":null,"a":"text"})"));
  const std::vector<std::pair<std::string, Json>> expected = {
      {"train.steps", 5}, {"train.adam.betas", {0.9, 1}}, {"data", nullptr}, {"a", "text"}};
  EXPECT_EQ(leaves, expected);
  EXPECT_TRUE(config::leaves(Json::object()).empty());
}

TEST(Toml, IsReadWithLineAndColumnOfAFault) {
  const TemporaryFolder folder;
  write_file(folder / "good.toml", "heads = 8\nsizes = [3]\n[inner]\nrate = 0.25\n");
  Outer value;
  from_json(read_toml(folder / "good.toml"), value, "good.toml");
  EXPECT_EQ(value.heads, 8);
  EXPECT_EQ(value.sizes, std::vector<int64_t>{3});
  EXPECT_EQ(value.inner.rate, 0.25);

  write_file(folder / "bad.toml", "heads = 8\nseed = \n");
  EXPECT_THAT(message_of<UsageError>([&] { read_toml(folder / "bad.toml"); }),
              HasSubstr("bad.toml: line 2, column"));
  write_file(folder / "date.toml", "a = 1\nday = 1979-05-27\n");
  EXPECT_THAT(message_of<UsageError>([&] { read_toml(folder / "date.toml"); }),
              HasSubstr("date.toml: line 2: dates"));
  write_file(folder / "deep.toml", "a = " + std::string(100000, '['));
  EXPECT_THROW(read_toml(folder / "deep.toml"), UsageError);
  EXPECT_THROW(read_toml(folder / "missing.toml"), SystemError);
}

TEST(Toml, LimitsThePartsOfAKeyAndTheKeysOfATable) {
  const TemporaryFolder folder;
  const auto refusal_of = [&](const std::string& text) {
    write_file(folder / "config.toml", text);
    return message_of<UsageError>([&] { read_toml(folder / "config.toml"); });
  };
  const auto parts = [](int count) {
    std::string text;
    for (int part = 1; part < count; ++part) text += "a.";
    return text + "a";
  };
  std::string keys;
  for (int key = 0; key < 1001; ++key) keys += fmt::format("k{} = {}\n", key, key);
  for (const char* text : {"[{}]\n", "{} = 1\n", "b = {{{} = 1}}\n"}) {
    EXPECT_THAT(refusal_of(fmt::format(fmt::runtime(text), parts(200000))),
                HasSubstr("config.toml: more than 5000 dots"));
    EXPECT_THAT(refusal_of(fmt::format(fmt::runtime(text), parts(5001))),
                HasSubstr("nested deeper than 100 levels"));
  }
  EXPECT_THAT(refusal_of("b = " + std::string(150, '[') + std::string(150, ']')),
              HasSubstr("nested deeper than 100 levels"));
  EXPECT_THAT(refusal_of("\n[data]\n" + keys), HasSubstr("line 2: a table has more than 1000"));
}

TEST(Toml, IsWrittenAsAPersonWould) {
  EXPECT_EQ(
      to_toml(parse(R"({"seed": 7, "train": {"rate": 0.003, "odd key": "a\"b\u007f", "deep": )"
                    R"({"on": true}, "list": [1, {"x": 2.5}]}, "last": "end"})")),
      "seed = 7\nlast = \"end\"\n\n[train]\nrate = 0.003\n\"odd key\" = \"a\\\"b\\u007F\"\n"
      "list = [1, {x = 2.5}]\n\n[train.deep]\non = true\n");
}

TEST(Toml, RefusesWhatItCannotSay) {
  EXPECT_THROW(to_toml(Json::array()), UsageError);
  EXPECT_THROW(to_toml(parse(R"({"a":null})")), UsageError);
  EXPECT_THROW(to_toml(Json{{"seed", UINT64_MAX}}), UsageError);
  EXPECT_NO_THROW(to_toml(Json{{"text", std::string(5000, '.')}}));
  EXPECT_THROW(to_toml(Json{{"text", std::string(5001, '.')}}), UsageError);
  EXPECT_THAT(message_of<UsageError>([] {
                to_toml(Json{{"path", "caf\xe9"}});
              }),
              HasSubstr("'caf\\xe9' is not UTF-8, which TOML needs"));
}

RC_GTEST_PROP(Toml, WritesWhatItReads, (int64_t whole, double real, std::string text, bool flag)) {
  RC_PRE(std::isfinite(real));
  for (char& letter : text) letter = static_cast<char>(letter & 0x7f);  // so that it is UTF-8
  const Json json = {{"whole", whole},
                     {"real", real},
                     {"list", {text, text}},
                     {"table", {{"flag", flag}, {"empty", Json::array()}}}};
  const TemporaryFolder folder;
  write_file(folder / "config.toml", to_toml(json));
  const Json back = read_toml(folder / "config.toml");
  // TOML tables come back sorted.
  RC_ASSERT(nlohmann::json(back).dump() == nlohmann::json(json).dump());
}

TEST(ParseJson, NamesTheByteOfTheFault) {
  EXPECT_EQ(message_of<DataError>([] { parse("{\"a\": x}"); }), "text: byte 7: not valid JSON");
  EXPECT_THROW(parse(""), DataError);
  EXPECT_THROW(parse("{} {}"), DataError);
  EXPECT_THROW(parse("\"\xff\""), DataError);
  EXPECT_THROW(parse("[1e999]"), DataError);
}

TEST(ParseJson, LimitsTheDepth) {
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_NO_THROW(parse(nested(100)));
  EXPECT_THAT(message_of<DataError>([&] { parse(nested(101)); }), HasSubstr("nested deeper"));
  EXPECT_NO_THROW(parse('"' + std::string(200, '[') + "\\\"[\""));  // brackets of a text
  EXPECT_THROW(parse(std::string(1 << 20, '[')), DataError);
  EXPECT_THROW(parse_sorted_json(std::string(1 << 20, '['), "text"), DataError);
}

TEST(ParseJson, LimitsTheKeysOfAnObject) {
  const auto object = [](int keys) {
    std::string text = "{\"a:b\":[{}]";
    for (int i = 1; i < keys; ++i) text += fmt::format(",\"{}\":{{\"key\":{}}}", i, i);
    return text + "}";
  };
  EXPECT_EQ(parse(object(1000)).size(), 1000u);
  EXPECT_THAT(message_of<DataError>([&] { parse(object(1001)); }),
              HasSubstr("has an object of more than 1000 keys"));
  EXPECT_THROW(parse("]]]" + object(1001)), DataError);
}

TEST(ParseSortedJson, IsQuickOnManyKeys) {
  std::string text = "{";
  for (int i = 0; i < 200000; ++i) text += fmt::format("\"{}\":{},", i, i);
  text.back() = '}';
  EXPECT_EQ(parse_sorted_json(text, "text").size(), 200000u);  // n^2 would take minutes
}

RC_GTEST_PROP(ParseJson, DamagedTextIsADataErrorOrJson,
              (std::vector<std::pair<uint16_t, char>> damage)) {
  std::string text = to_json(Outer{}).dump();
  for (const auto& [place, letter] : damage) text[place % text.size()] = letter;
  try {
    Outer value;
    from_json(parse(text), value, "text");
  } catch (const DataError&) {
  } catch (const UsageError&) {
  }
}

RC_GTEST_PROP(ReadToml, DamagedTextIsAUsageErrorOrToml,
              (std::vector<std::pair<uint16_t, char>> damage)) {
  std::string text = to_toml(to_json(Outer{}));
  for (const auto& [place, letter] : damage) text[place % text.size()] = letter;
  const TemporaryFolder folder;
  write_file(folder / "config.toml", text);
  try {
    Outer value;
    from_json(read_toml(folder / "config.toml"), value, "text");
  } catch (const UsageError&) {
  }
}

TEST(SetFromText, ReadsTheValueAsTomlAndElseAsText) {
  Json json = {{"model", {{"heads", 4}}}};
  set_from_text(json, "model.heads=8");
  set_from_text(json, "model.rate=1e-3");
  set_from_text(json, "model.sizes=[1, 2]");
  set_from_text(json, "train.name=plain words");
  set_from_text(json, "train.quoted=\"x=y\"");
  set_from_text(json, "train.empty=");
  set_from_text(json, "train.day=2026-03-01");
  set_from_text(json, "train.lines=1\nsecond = 2");
  set_from_text(json, "flag=true");
  EXPECT_EQ(json.dump(),
            R"({"model":{"heads":8,"rate":0.001,"sizes":[1,2]},)"
            R"("train":{"name":"plain words","quoted":"x=y","empty":"","day":"2026-03-01",)"
            R"("lines":"1\nsecond = 2"},"flag":true})");
}

TEST(SetFromText, RefusesWhatSetsNothing) {
  Json json = {{"heads", 4}};
  const Json before = json;
  for (const char* text :
       {"heads", "=3", "", "a..b=1", ".a=1", "a.=1", "new.heads.=1", "text=caf\xe9", "caf\xe9=1"})
    EXPECT_THROW(set_from_text(json, text), UsageError) << text;
  EXPECT_THAT(message_of<UsageError>([&] { set_from_text(json, "heads.size=1"); }),
              HasSubstr("'size' stands below a plain value"));
  EXPECT_EQ(json, before);
}

}  // namespace
}  // namespace tessera::config
