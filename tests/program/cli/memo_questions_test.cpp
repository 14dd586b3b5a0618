// tessera memo: what a store is asked.

#include "tests/program/cli/memo_workplace.h"
#include "tests/support/folders.h"

namespace tessera::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class MemoQuestions : public MemoWorkplace {};

TEST_F(MemoQuestions, SearchRanksPassages) {
  const std::string store = create();
  done({"memorize", store, path("poems")});
  EXPECT_THAT(done({"search", store, "dreary volumes"}), StartsWith("raven:1: "));
  EXPECT_THAT(done({"search", store, "dreary volumes"}), HasSubstr("midnight [dreary], while"));
  const auto lamb = json({"search", store, "lambs", "--limit", "1"})["data"][0];
  EXPECT_EQ(lamb["document"], "old/lamb");
  EXPECT_GT(lamb["score"], 0);
  EXPECT_EQ(done({"search", store, "nevermore"}), "");
  done({"forget", store, "raven"});
  EXPECT_EQ(done({"search", store, "dreary volumes"}), "");
  std::filesystem::copy(test::source_folder() / "tests/store/format_1", path("earlier"));
  EXPECT_THAT(done({"search", path("earlier"), "burn"}), StartsWith("tyger.txt:1: "))
      << "a store of an earlier version is indexed when it is asked";
}

TEST_F(MemoQuestions, AnswersQuestionsAsPeopleTypeThem) {
  const std::string store = create();
  done({"memorize", store, path("poems")});
  const Outcome spaces =
      memo({"recall", store, "--prompt", "weak and weary, over many a quaint", "--tokens", "12"});
  EXPECT_THAT(spaces.out, StartsWith("weak and weary,\nOver many a quaint and curious\n"));
  EXPECT_THAT(spaces.err, Not(HasSubstr("differs")));
  const Outcome wrong =
      memo({"recall", store, "--prompt", "while I pondered meek and weary", "--tokens", "5"});
  EXPECT_THAT(wrong.out, StartsWith("while I pondered, weak and weary,\nOve\n"));
  EXPECT_THAT(wrong.err, HasSubstr("read as the stored text that differs in 1 word"));
  const auto answer = json({"recall", store, "--prompt", "I wandered meek and weary"});
  EXPECT_EQ(answer["read_as"], "I wandered meek and weary") << "two of five words differ";
  const auto typed = json({"recall", store, "--prompt", "Once upon a midnite dreary, whi"});
  EXPECT_EQ(typed["prompt"], "Once upon a midnite dreary, whi");
  EXPECT_EQ(typed["read_as"], "Once upon a midnight dreary, whi");
  EXPECT_EQ(typed["differing_words"], 1);
  EXPECT_EQ(typed["text"].get<std::string>().substr(0, 10), "le I ponde");

  EXPECT_EQ(done({"find", store, "WEARY, over many"}),
            "raven:1: Once upon a midnight dreary, while I pondered, weak and weary, Over many a "
            "quaint and curious volume of forgotten lore.\n");
  EXPECT_EQ(done({"find", store, "WEARY, over many", "--case"}), "");
  EXPECT_EQ(done({"find", store, "weary, Over", "--exact"}), "");
  const auto found = json({"find", store, "dost thou"});
  EXPECT_EQ(found["places"], 1);
  EXPECT_EQ(found["data"][0]["text"], "Dost thou");
  EXPECT_EQ(found["data"][0]["character"], 26);
}

TEST_F(MemoQuestions, TabsAndLineEndsOfWindowsAreWhiteSpaceInAPassage) {
  const std::string store = create();
  write_text(path("poems/owl"), "the owl\tand the\r\npussycat went");
  done({"memorize", store, path("poems")});
  EXPECT_EQ(done({"find", store, "owl and the pussycat"}),
            "owl:1: the owl and the pussycat went\n");
  EXPECT_THAT(done({"search", store, "owl"}), HasSubstr("  the [owl] and the pussycat went\n"));
  EXPECT_EQ(json({"search", store, "owl"})["data"][0]["text"], "the owl\tand the\r\npussycat went");
}

TEST_F(MemoQuestions, SaysWhereASourceStands) {
  const std::string store = create();
  write_text(path("poems/ä"), "Ärger!\nThe owl and the pussycat went to sea\n");
  done({"memorize", store, path("poems")});
  const auto owl = json({"recall", store, "--prompt", "The owl and the"});
  const auto& source = owl["tokens"][0]["sources"][0];
  EXPECT_EQ(source["document"], "ä");
  EXPECT_EQ(source["line"], 2);
  EXPECT_EQ(source["byte"], 23);
  EXPECT_EQ(source["character"], 22);
  EXPECT_EQ(done({"show", store, "ä", "--range", "2"}), "The owl and the pussycat went to sea\n");
  EXPECT_EQ(done({"show", store, "raven"}), kRaven);
  done({"memorize", store, "-", "--id", "line"}, {.input = "An owl without an end of line"});
  EXPECT_EQ(done({"show", store, "line"}), "An owl without an end of line");
  EXPECT_EQ(json({"show", store, "ä", "--range", "1-1"})["text"], "Ärger!\n");
  expect_refusals({{{"show", store, "raven", "--range", "7-"}, "'raven' ends with line 2"},
                   {{"show", store, "raven", "--range", "2-1"}, "expected lines such as"},
                   {{"show", store, "ravn"}, "did you mean 'raven'?"}},
                  2);
}

TEST_F(MemoQuestions, AsksLineByLine) {
  const std::string store = create();
  done({"memorize", store, path("poems")});
  const Outcome run = memo({"ask", store, "--tokens", "5"},
                           {.input = "Once upon a midnight\r\nx\n\r\nlittle lamb who\n"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("Once upon a midnight drea\n"));
  EXPECT_THAT(run.out, HasSubstr("Little Lamb who made\n"));
  EXPECT_THAT(run.err, HasSubstr("the prompt has 1 token;"));
}

TEST_F(MemoQuestions, CanFailWhereNothingIsRecited) {
  const std::string store = create();
  const Outcome nothing = memo({"recall", store, "--prompt", "Once upon a", "--fail"});
  EXPECT_EQ(nothing.status, 1);
  EXPECT_THAT(nothing.err, HasSubstr("no stored document continues this prompt"));
  EXPECT_EQ(memo({"recall", store, "--prompt", "Once upon a"}).status, 0);
  done({"memorize", store, path("poems")});
  EXPECT_EQ(memo({"recall", store, "--prompt", "Once upon a", "--fail"}).status, 0);
}

TEST_F(MemoQuestions, AtTemperatureZeroItCompletesWithWhatItRecites) {
  const std::string store = create();
  done({"memorize", store, path("poems")});
  for (const char* prompt : {"Once upon a", "ary, over many a", "Dost thou know"}) {
    const auto recited = json({"recall", store, "--prompt", prompt, "--tokens", "30"});
    EXPECT_EQ(json({"complete", store, "--prompt", prompt, "--tokens", "30", "--temperature",
                    "0"})["text"],
              recited["text"]);
    EXPECT_GE(recited["tokens"].size(), 10u);
  }
}

TEST_F(MemoQuestions, CompletesByDrawing) {
  const std::string store = create();
  done({"memorize", store, path("poems/raven")});
  const Arguments complete = {"complete", store, "--prompt", "Over many a",
                              "--tokens", "12",  "--seed",   "5"};
  EXPECT_EQ(done(complete), "Over many a quaint and \n");
  EXPECT_EQ(json(complete)["text"], " quaint and ");
  EXPECT_EQ(json(complete)["finish"], "max_tokens");
}

TEST_F(MemoQuestions, CompletesNothingWhereNothingIsStored) {
  const std::string store = create();
  done({"memorize", store, path("poems/raven")});
  const Outcome run = memo({"complete", store, "--prompt", "Quoth Lucy", "--json"});
  EXPECT_EQ(run.status, 0);
  const auto json = config::Json::parse(run.out);
  EXPECT_EQ(json["text"], "");
  EXPECT_EQ(json["finish"], "not_stored");
  EXPECT_THAT(run.err, HasSubstr("no stored document continues this"));
}

TEST_F(MemoQuestions, StoresAtHostsAreNamedByTheirAddresses) {
  const std::string store = create(), dead = "http://127.0.0.1:1/v1/stores/dead";
  const auto ask = [](const Arguments& stores) {
    return memo(
        joined({"recall", "--prompt", "Once upon a midnight", "--host-seconds", "5"}, stores));
  };
  expect_refused(ask({store, store}), 2, "several stores can only answer together if each");
  expect_refused(ask({store, "while I"}), 2, "A text to continue is given with --prompt");
  expect_refused(memo({"ask", store, "while I"}), 2, "is given with --prompts");
  expect_refused(ask({dead, store}), 2, "is not an address of a store");
  expect_refused(ask({"ftp://a/v1/stores/s"}), 2, "expected http://HOST:PORT/v1/stores/NAME");
  expect_refused(ask({dead}), 1, "no store answers: " + dead + ": cannot connect: ");
}

}  // namespace
}  // namespace tessera::cli
