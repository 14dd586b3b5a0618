// tessera memo, as a user drives it.

#include <signal.h>

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <thread>

#include "tessera/base/config.h"
#include "tests/program/cli/tessera_program.h"
#include "tests/support/folders.h"

namespace tessera::cli {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const char* kRaven =
    "Once upon a midnight dreary, while I pondered, weak and weary,\n"
    "Over many a quaint and curious volume of forgotten lore.\n";
const char* kLamb = "Little Lamb who made thee\nDost thou know who made thee\n";

class Memo : public Workplace {
 protected:
  Memo() {
    std::filesystem::create_directories(path("poems/old"));
    write_text(path("poems/raven"), kRaven);
    write_text(path("poems/old/lamb"), kLamb);
  }

  static Outcome memo(const Arguments& arguments, const ProcessOptions& options = {}) {
    return tessera(joined({"memo"}, arguments), options);
  }
  static std::string done(const Arguments& arguments, const ProcessOptions& options = {}) {
    return cli::done(joined({"memo"}, arguments), options);
  }
  static config::Json json(const Arguments& arguments) {
    return config::Json::parse(done(joined(arguments, {"--json"})));
  }

  std::string create(const std::string& name = "store", const Arguments& more = {}) const {
    done(joined({"create", path(name), "--dimension", "512"}, more));
    return path(name);
  }
  static std::string digest(const std::string& store) { return json({"stat", store})["digest"]; }
  static void expect_refusals(const std::vector<Refusal>& refusals, int status) {
    for (const auto& refusal : refusals)
      expect_refused(memo(refusal.arguments), status, refusal.message);
  }
};

TEST_F(Memo, RecitesNamesItsSourceAndForgets) {
  const std::string store = create();
  const std::string empty = digest(store);
  EXPECT_EQ(done({"memorize", store, path("poems")}),
            "old/lamb: 56 tokens, 122 pairs\nraven: 121 tokens, 333 pairs\n");
  const Outcome recall =
      memo({"recall", store, "--prompt", "Once upon a midnight", "--tokens", "20"});
  EXPECT_EQ(recall.status, 0);
  EXPECT_THAT(recall.out, StartsWith("Once upon a midnight dreary, while I pon\n"));
  EXPECT_THAT(recall.out, HasSubstr("1-20    raven        1        20"));
  EXPECT_THAT(recall.err, HasSubstr("20 tokens, "));

  const auto all = json({"recall", store, "--prompt", "Little Lamb who", "--tokens", "500"});
  EXPECT_EQ(std::string("Little Lamb who") + all["text"].get<std::string>(), kLamb);
  EXPECT_EQ(all["finish"], "end_of_text");
  const auto& token = all["tokens"][10];
  EXPECT_EQ(token["sources"][0]["document"], "old/lamb");
  EXPECT_EQ(token["sources"][0]["position"], 25);
  EXPECT_EQ(token["window_scores"].size(), 3u);
  EXPECT_EQ(token["matched_length"], 16);

  EXPECT_EQ(done({"find", store, "who made"}),
            "old/lamb:1: Little Lamb who made thee\nold/lamb:2: Dost thou know who made thee\n");
  EXPECT_EQ(done({"forget", store, "raven", "old/lamb"}),
            "old/lamb: forgotten, 56 tokens\nraven: forgotten, 121 tokens\n");
  EXPECT_EQ(digest(store), empty);
  const Outcome nothing = memo({"recall", store, "--prompt", "Once upon a midnight"});
  EXPECT_EQ(nothing.out, "Once upon a midnight\n");
  EXPECT_THAT(nothing.err, HasSubstr("no stored document continues this"));
}

TEST_F(Memo, UpdateMemorizesWhatHasChanged) {
  const std::string store = create();
  EXPECT_EQ(done({"update", store, path("poems"), "--meta", "kind=poem"}),
            "old/lamb: 56 tokens, 122 pairs\nraven: 121 tokens, 333 pairs\n")
      << "new documents, too";
  write_text(path("poems/old/lamb"), "Little Lamb I'll tell thee\n");
  const Outcome again = memo({"update", store, path("poems"), "--meta", "by=Blake"});
  EXPECT_EQ(again.out, "old/lamb: 28 tokens, 56 pairs, replaced\n");
  EXPECT_THAT(again.err, HasSubstr("0 new, 1 replaced, 1 unchanged"));
  const auto documents = json({"documents", store})["data"];
  for (const auto& document : documents)
    EXPECT_EQ(document["metadata"], (config::Json{{"by", "Blake"}, {"kind", "poem"}}));
  done({"memorize", path("store"), path("text.txt"), "--meta", "kind=prose"});
  EXPECT_EQ(json({"documents", store, "--meta", "kind=poem", "--meta", "by=Blake"})["data"].size(),
            2u);
  EXPECT_EQ(json({"documents", store, "--meta", "kind=prose"})["data"][0]["id"], "text.txt");
  EXPECT_EQ(json({"documents", store, "--meta", "kind=letter"})["data"].size(), 0u);
  EXPECT_EQ(json({"documents", store, "--since", "2020-01-01"})["data"].size(), 3u);
  EXPECT_EQ(json({"documents", store, "--before", "2020-01-01"})["data"].size(), 0u);
  EXPECT_THAT(done({"documents", store}), HasSubstr("by=Blake, kind=poem"));
  EXPECT_EQ(json({"documents", store, "--meta", "kind=prose"})["data"][0]["bytes"],
            std::filesystem::file_size(path("text.txt")));
  expect_refusals({{{"documents", store, "--meta", "kind"}, "expected KEY=VALUE"},
                   {{"documents", store, "--meta", "=poem"}, "expected KEY=VALUE"},
                   {{"documents", store, "--meta", "a=1", "--meta", "a=2"}, "gives 'a' twice"},
                   {{"memorize", store, path("text.txt"), "--meta", "a\n=1"}, "'a\\x0a=1'"},
                   {{"documents", store, "--since", "2026-02-30"}, "expected a day"},
                   {{"documents", store, "--before", "soon"}, "before is 'soon'"}},
                  2);
}

TEST_F(Memo, SearchRanksPassages) {
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

TEST_F(Memo, AnswersQuestionsAsPeopleTypeThem) {
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
            "raven:1: Once upon a midnight dreary, while I pondered, weak and weary,\nOver many a "
            "quaint and curious volume of forgotten lore.\n");
  EXPECT_EQ(done({"find", store, "WEARY, over many", "--case"}), "");
  EXPECT_EQ(done({"find", store, "weary, Over", "--exact"}), "");
  const auto found = json({"find", store, "dost thou"});
  EXPECT_EQ(found["places"], 1);
  EXPECT_EQ(found["data"][0]["text"], "Dost thou");
  EXPECT_EQ(found["data"][0]["character"], 26);
}

TEST_F(Memo, SaysWhereASourceStands) {
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
  EXPECT_EQ(json({"show", store, "ä", "--range", "1-1"})["text"], "Ärger!\n");
  expect_refusals({{{"show", store, "raven", "--range", "7-"}, "'raven' has 3 lines"},
                   {{"show", store, "raven", "--range", "2-1"}, "expected lines such as"},
                   {{"show", store, "ravn"}, "did you mean 'raven'?"}},
                  2);
}

TEST_F(Memo, AsksLineByLine) {
  const std::string store = create();
  done({"memorize", store, path("poems")});
  const Outcome run = memo({"ask", store, "--tokens", "5"},
                           {.input = "Once upon a midnight\nx\n\nlittle lamb who\n"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("Once upon a midnight drea\n"));
  EXPECT_THAT(run.out, HasSubstr("Little Lamb who made\n"));
  EXPECT_THAT(run.err, HasSubstr("the prompt has 1 tokens"));
}

TEST_F(Memo, CanFailWhereNothingIsRecited) {
  const std::string store = create();
  const Outcome nothing = memo({"recall", store, "--prompt", "Once upon a", "--fail"});
  EXPECT_EQ(nothing.status, 1);
  EXPECT_THAT(nothing.err, HasSubstr("no stored document continues this prompt"));
  EXPECT_EQ(memo({"recall", store, "--prompt", "Once upon a"}).status, 0);
  done({"memorize", store, path("poems")});
  EXPECT_EQ(memo({"recall", store, "--prompt", "Once upon a", "--fail"}).status, 0);
}

TEST_F(Memo, AtTemperatureZeroItCompletesWithWhatItRecites) {
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

TEST_F(Memo, GoesOnWithoutTheDocumentsThatAreBad) {
  const std::string store = create();
  write_text(path("poems/zip"), std::string("PK\0\1", 4));
  write_text(path("poems/latin"), "caf\xE9");
  const Outcome run = memo({"memorize", store, path("poems"), "--keep-going"});
  EXPECT_EQ(run.status, 1);
  EXPECT_EQ(run.out, "old/lamb: 56 tokens, 122 pairs\nraven: 121 tokens, 333 pairs\n");
  EXPECT_THAT(run.err, HasSubstr("zip: byte 2 is zero"));
  EXPECT_THAT(run.err, HasSubstr("latin: byte 3 is not valid UTF-8"));
  EXPECT_THAT(run.err, HasSubstr("2 of 4 documents were not memorized"));
  EXPECT_EQ(json({"documents", store})["data"].size(), 2u);
}

TEST_F(Memo, AnEmptyOrMissingFileIsLeftOutAndNamed) {
  const std::string store = create();
  write_text(path("poems/empty"), "");
  const Outcome run = memo({"memorize", store, path("poems"), path("missing"), "--keep-going"});
  EXPECT_EQ(run.status, 1);
  EXPECT_EQ(run.out, "old/lamb: 56 tokens, 122 pairs\nraven: 121 tokens, 333 pairs\n");
  EXPECT_THAT(run.err, HasSubstr("not memorized: " + path("poems/empty") + ": is empty"));
  EXPECT_THAT(run.err, HasSubstr("not memorized: " + path("missing") + ": cannot open"));
  EXPECT_THAT(run.err, HasSubstr("2 of 4 documents were not memorized"));
  expect_refused(memo({"memorize", create("other"), path("poems")}), 3, "poems/empty: is empty");
}

TEST_F(Memo, ReadsPagesAndLinesAndForgetsALineAlone) {
  std::filesystem::create_directories(path("in"));
  const std::string store = create();
  const std::string page = std::string("<h1>Lines</h1><pre>") + kLamb + "</pre>";
  write_text(path("in/a.html"), page);
  write_text(path("in/b.jsonl"),
             "{\"id\": \"raven\", \"text\": \"Once upon a midnight dreary\"}\n"
             "{\"text\": \"Little Lamb who made thee\"}\n");
  done({"memorize", store, path("in")});
  done({"export", store, "--texts", path("out")});
  EXPECT_EQ(read_text(path("out/a.html")), std::string("Lines\n") + kLamb);
  EXPECT_EQ(read_text(path("out/b.jsonl:2")), "Little Lamb who made thee");
  EXPECT_EQ(done({"forget", store, "b.jsonl:raven"}), "b.jsonl:raven: forgotten, 28 tokens\n");
  EXPECT_EQ(done({"update", store, path("in")}), "b.jsonl:raven: 28 tokens, 56 pairs\n");

  // A file that is damaged loses no line; one that has lost a line does.
  const std::string lines = read_text(path("in/b.jsonl"));
  write_text(path("in/b.jsonl"), lines + "damaged\n");
  EXPECT_EQ(memo({"update", store, path("in"), "--keep-going", "--prune"}).status, 1);
  EXPECT_EQ(json({"documents", store})["data"].size(), 3u);
  write_text(path("in/b.jsonl"), lines.substr(0, lines.find('\n')));
  EXPECT_EQ(done({"update", store, path("in"), "--prune"}), "b.jsonl:2: forgotten, 26 tokens\n");

  const std::string plain = create("plain");
  done({"memorize", plain, path("in"), "--plain"});
  done({"export", plain, "--texts", path("plain-out")});
  EXPECT_EQ(read_text(path("plain-out/a.html")), page);
  EXPECT_EQ(json({"documents", plain})["data"].size(), 2u);

  write_text(path("in/c.jsonl"), "{\"text\": \"a\"}\n{\"txt\": \"b\"}\n");
  expect_refusals({{{"memorize", create("third"), path("in")}, "c.jsonl: line 2"}}, 3);
}

TEST_F(Memo, UpdateLeavesOutAndPrunes) {
  const std::string store = create();
  write_text(path("poems/notes.bak"), "scratch\n");
  write_text(path("poems/.tesseraignore"), "# backups\n*.bak\n");
  EXPECT_EQ(done({"update", store, path("poems"), "--exclude", "old/"}),
            "raven: 121 tokens, 333 pairs\n");
  EXPECT_EQ(done({"update", store, path("poems")}), "old/lamb: 56 tokens, 122 pairs\n");
  std::filesystem::remove(path("poems/raven"));
  EXPECT_EQ(done({"update", store, path("poems")}), "") << "only --prune forgets";
  const Outcome pruned = memo({"update", store, path("poems"), "--prune"});
  EXPECT_EQ(pruned.out, "raven: forgotten, 121 tokens\n");
  EXPECT_THAT(pruned.err, HasSubstr("0 new, 0 replaced, 1 unchanged, 1 forgotten"));
  EXPECT_EQ(json({"documents", store})["data"].size(), 1u);
  write_text(path("poems/.tesseraignore"), "!lamb\n");
  expect_refused(memo({"update", store, path("poems")}), 3, "begins with !");
}

TEST_F(Memo, ForgetsWhatIsAskedForAndWarnsOfWhatStays) {
  const std::string store = create();
  write_text(path("poems/copy"), std::string("A preface.\n") + kRaven);
  done({"memorize", store, path("poems"), "--meta", "kind=poem"});
  done({"memorize", store, path("text.txt")});
  const Outcome list = memo({"forget", store, "ra*", "--dry-run"});
  EXPECT_EQ(list.out, "raven: would be forgotten, 121 tokens\n");
  EXPECT_THAT(list.err, HasSubstr("'copy' stays and has 21 words in the same passages"));
  EXPECT_EQ(json({"forget", store, "--containing", "MIDNIGHT dreary", "--dry-run"})["data"].size(),
            2u);
  EXPECT_EQ(json({"forget", store, "--meta", "kind=poem", "--dry-run"})["data"].size(), 3u);
  EXPECT_EQ(json({"documents", store})["data"].size(), 4u);
  EXPECT_EQ(done({"forget", store, "--containing", "midnight dreary", "--meta", "kind=poem"}),
            "copy: forgotten, 132 tokens\nraven: forgotten, 121 tokens\n");
  expect_refusals({{{"forget", store}, "say what to forget"},
                   {{"forget", store, "ravn"}, "there is no document 'ravn'"},
                   {{"forget", store, "--containing", "nevermore"}, "no document fits"},
                   {{"forget", store, "text.txt", "--key", "k"}, "key signs a certificate"}},
                  2);
  EXPECT_EQ(json({"documents", store})["data"].size(), 2u);
}

TEST_F(Memo, ACertificateShowsWhatWasErased) {
  const std::string store = create();
  done({"memorize", store, path("poems")});
  done({"history", store, "--begin"});
  const std::string before = digest(store), file = path("erasure.json");
  const Outcome run = memo({"forget", store, "raven", "--certificate", file});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("certificate; nothing found in "));
  const auto certificate = config::Json::parse(read_text(file));
  EXPECT_EQ(certificate["digest_before"], before);
  EXPECT_EQ(certificate["digest_after"], digest(store));
  EXPECT_EQ(certificate["digest_of_remaining_documents"], digest(store));
  EXPECT_EQ(certificate["erased"][0]["bytes"], std::string(kRaven).size());
  EXPECT_THAT(read_text(path("erasure.html")), HasSubstr("One document was erased"));
  for (const std::string& name : {file, path("erasure.html"), store + "/history.jsonl"})
    EXPECT_THAT(read_text(name), Not(HasSubstr("midnight"))) << name;
  EXPECT_THAT(done({"history", store}), HasSubstr("forgotten: 120 bytes, 121 tokens"));
  EXPECT_THAT(done({"verify", store, "--certificate", file}),
              HasSubstr("not signed; the store is as it was after the erasure"));
  done({"memorize", store, path("poems/raven")});
  const Outcome again = memo({"verify", store, "--certificate", file});
  EXPECT_EQ(again.status, 1);
  EXPECT_THAT(again.out, HasSubstr("'raven' has the text of an erased document again"));
  expect_refused(memo({"forget", store, "raven", "--certificate", path("none/file")}), 1, "write");
  EXPECT_EQ(memo({"verify", store, "--certificate", path("text.txt")}).status, 3);
}

TEST_F(Memo, ASignedCertificateShowsWhoseItIs) {
  const std::string store = create();
  done({"memorize", store, path("poems")});
  write_text(path("key"),
             "-----BEGIN PRIVATE KEY-----\n"
             "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
             "-----END PRIVATE KEY-----\n");
  // RFC 8032, section 7.1, test 1.
  const std::string file = path("erasure.json");
  done({"forget", store, "raven", "--certificate", file, "--key", path("key")});
  auto certificate = config::Json::parse(read_text(file));
  EXPECT_EQ(certificate["signature"]["public_key"],
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
  EXPECT_THAT(done({"verify", store, "--certificate", file}), HasSubstr("signed by d75a9801"));
  certificate["time"] = "2020-01-01T00:00:00Z";
  write_text(file, certificate.dump());
  EXPECT_EQ(memo({"verify", store, "--certificate", file}).status, 1);
  expect_refused(
      memo({"forget", store, "old/lamb", "--certificate", file, "--key", path("text.txt")}), 3,
      "holds no private Ed25519 key");
  EXPECT_EQ(json({"documents", store})["data"].size(), 1u) << "nothing was forgotten";
}

TEST_F(Memo, AnAuditTellsWhatIsHeld) {
  const std::string store = create();
  done({"memorize", store, path("poems")});
  std::filesystem::create_directory(path("controls"));
  for (int number = 0; number < 4; ++number)
    write_text(path("controls/" + std::to_string(number)), small_text(3 + number));
  write_text(path("half"), std::string(kRaven).substr(0, 60) + small_text(2));
  const auto audit = json({"audit", store, path("poems/raven"), path("half"), path("text.txt"),
                           "--controls", path("controls")})["data"];
  EXPECT_EQ(audit[0]["held"], "yes");
  EXPECT_EQ(audit[0]["document"], "raven");
  EXPECT_EQ(audit[0]["extraction_strength"], 1);
  EXPECT_NEAR(audit[0]["exposure_bits"].get<double>(), std::log2(5), 1e-9);
  EXPECT_EQ(audit[1]["held"], "partly");
  EXPECT_EQ(audit[2]["held"], "no");
  EXPECT_GT(audit[0]["log_likelihood"], audit[2]["log_likelihood"]);
  EXPECT_THAT(done({"audit", store, path("poems"), "--controls", path("controls")}),
              HasSubstr("AUC 1.000 by log-likelihood, 1.000 by min-k"));
  // Without tolerance nothing similar is recited.
  const std::string similar = "Once upon a nightmare dreary, while I pondered";
  EXPECT_EQ(memo({"recall", store, "--prompt", similar, "--fail"}).status, 0);
  const auto exact = json({"recall", store, "--prompt", similar, "--exact"});
  EXPECT_EQ(exact["read_as"], similar);
}

TEST_F(Memo, DocumentsAreExportedAsTexts) {
  const std::string store = create();
  done({"memorize", store, path("poems")});
  EXPECT_THAT(done({"export", store, "--texts", path("back")}), HasSubstr("2 documents, "));
  EXPECT_EQ(read_text(path("back/raven")), kRaven);
  EXPECT_EQ(read_text(path("back/old/lamb")), kLamb);
  EXPECT_FALSE(json({"export", store, "--texts", path("json")}).contains("renamed"));
  expect_refused(memo({"export", store, "--texts", path("back")}), 2, "already exists");
  expect_refused(memo({"export", store}), 2, "either a file for the memory (out) or a folder");
}

TEST_F(Memo, AnIdThatIsNoPathBelowAFolderIsExportedUnderAnotherName) {
  const std::string store = create();
  const std::map<std::string, std::string> names = {
      {"../../x", "%2E%2E%2F%2E%2E%2Fx"},
      {"/etc/x", "%2Fetc%2Fx"},
      {".", "%2E"},
      {"x/", "x%2F"},
      {"old", "old"},
      {"old/lamb", "old%2Flamb"},     // old is a file
      {"./old", "%2E%2Fold"},         // the same path
      {"old%2Flamb", "old%2Flamb~"},  // a name that was given to another one
      {std::string(300, 'n'), std::string(200, 'n')},
      {"a/b/../c", "a/c"}};
  for (const char* id :
       {"../../x", "/etc/x", ".", "x/", "old", "old/lamb", "./old", "old%2Flamb", "a/b/../c"})
    done({"memorize", store, path("poems/raven"), "--id", id});
  done({"memorize", store, path("poems/raven"), "--id", std::string(300, 'n')});
  const Outcome run = memo({"export", store, "--texts", path("below/out")});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("10 documents, "));
  EXPECT_THAT(run.err, HasSubstr("'../../x' is written to %2E%2E%2F%2E%2E%2Fx: its id cannot"));
  EXPECT_THAT(run.err, Not(HasSubstr("'old' is written")));
  for (const auto& [id, name] : names)
    EXPECT_EQ(read_text(path("below/out/" + name)), kRaven) << id;
  EXPECT_FALSE(std::filesystem::exists(path("x")));
  const auto made = json({"export", store, "--texts", path("json")});
  EXPECT_EQ(made["renamed"].size(), 8u);
  EXPECT_EQ(made["renamed"][0], config::Json({{"id", "../../x"}, {"file", names.at("../../x")}}));
}

TEST_F(Memo, EveryVerbPrintsJson) {
  const auto made = json({"create", path("store"), "--plan-from", path("text.txt"), "--error",
                          "0.3", "--tokenizer", "byte"});
  EXPECT_GT(made["plan"]["pairs"], 0);
  EXPECT_EQ(made["dimension"].get<int>() % 64, 0);
  const std::string store = path("store");
  EXPECT_EQ(json({"memorize", store, path("poems/raven")})["outcome"], "new");
  EXPECT_EQ(json({"memorize", store, path("poems/raven"), "--replace"})["outcome"], "unchanged");
  EXPECT_EQ(json({"verify", store})["verified"], true);
  EXPECT_EQ(json({"merge", path("merged"), store})["documents"], 1);
  EXPECT_GT(json({"export", store, "--out", path("m")})["bytes"], 1000);
  EXPECT_EQ(json({"forget", store, "raven"})["deleted"], true);
  EXPECT_EQ(json({"stat", store})["erasure_pending"], false);
}

TEST_F(Memo, OnlyAShardThatIsAskedForIsTakenFromTheEnvironment) {
  const ProcessOptions one_of_two{.environment = {{"RANK", "0"}, {"WORLD_SIZE", "2"}}};
  const std::string all = done({"memorize", create("store"), path("poems")}, one_of_two);
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 2);
  expect_refused(memo({"memorize", path("store"), path("poems"), "--shard", "auto"},
                      {.environment = {{"SLURM_ARRAY_TASK_ID", "1"}, {"SLURM_NTASKS", "1"}}}),
                 2, "--shard $SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT");
}

TEST_F(Memo, ShardsMergeIntoTheWhole) {
  for (int number = 0; number < 5; ++number)
    write_text(path("poems/" + std::to_string(number)), small_text(3 + number));
  const std::string whole = create("whole"), one = create("one"), two = create("two");
  done({"memorize", whole, path("poems")});
  const std::string first = done({"memorize", one, path("poems"), "--shard", "1/2"}),
                    second = done({"memorize", two, path("poems"), "--shard", "2/2"});
  EXPECT_EQ(std::count(first.begin(), first.end(), '\n'), 3);
  EXPECT_EQ(std::count(second.begin(), second.end(), '\n'), 4);
  EXPECT_EQ(done({"memorize", create("zero"), path("poems"), "--shard", "0/2"}), second);
  create("part-1");
  const Outcome launched =
      memo({"memorize", path("part-{rank}"), path("poems"), "--shard", "auto"},
           {.environment = {{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}}});
  EXPECT_EQ(launched.out, first);
  EXPECT_THAT(launched.err, HasSubstr("part-1: shard 1 of 2"));
  EXPECT_THAT(done({"merge", path("merged"), one, two}), HasSubstr("7 documents of 2 stores"));
  EXPECT_EQ(digest(path("merged")), digest(whole));
  EXPECT_THAT(done({"verify", path("merged")}),
              HasSubstr("verified, 7 documents, " +
                        std::to_string(json({"stat", whole})["tokens"].get<int>()) + " tokens"));
  EXPECT_THAT(done({"merge", path("again"), whole, one}), HasSubstr("7 documents of 2 stores"));
  EXPECT_EQ(digest(path("again")), digest(whole)) << "both hold the same documents";
  write_text(path("poems/0"), kRaven);
  done({"update", one, path("poems/0")});
  expect_refused(memo({"merge", path("more"), whole, one}), 2, "of different texts");
  expect_refused(memo({"merge", path("more"), whole, create("seed", {"--seed", "1"})}), 2,
                 "only stores of equal configuration can be merged");
}

TEST_F(Memo, SaysHowFullItIs) {
  const std::string store = create();
  done({"memorize", store, path("text.txt")});
  const auto stat = json({"stat", store, "--measure", "300"});
  EXPECT_EQ(stat["documents"], 1);
  EXPECT_EQ(stat["tokens"].get<size_t>(), small_text(400).size() + 1);
  EXPECT_GT(stat["pairs"], 0);
  EXPECT_NEAR(stat["load"].get<double>(),
              stat["pairs"].get<double>() / stat["capacity_pairs"].get<double>(), 1e-3);
  EXPECT_EQ(stat["digest"].get<std::string>().size(), 64u);
  EXPECT_EQ(stat["measured_recall"]["positions"], 300);
  EXPECT_LE(stat["expected_recall"], 1.0);
  EXPECT_THAT(done({"stat", store}), HasSubstr("expected recall"));
  const auto documents = json({"documents", store})["data"];
  ASSERT_EQ(documents.size(), 1u);
  EXPECT_EQ(documents[0]["id"], "text.txt");
  EXPECT_EQ(documents[0]["tokens"], stat["tokens"]);
  EXPECT_THAT(done({"documents", store}), HasSubstr("text.txt"));
}

TEST_F(Memo, WarnsOfAStoreThatIsOverfull) {
  const std::string store = path("small");
  done({"create", store, "--dimension", "64"});
  const Outcome run = memo({"memorize", store, path("text.txt")});
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.err, HasSubstr("warning: with these documents the store will hold"));
  const std::string warning = run.err.substr(0, run.err.find('\n'));
  EXPECT_THAT(memo({"update", store, path("text.txt")}).err, HasSubstr(warning));  // not twice
  EXPECT_THAT(memo({"memorize", create(), path("text.txt")}).err, Not(HasSubstr("warning")));
}

TEST_F(Memo, PlansItsSizeFromASample) {
  const std::string out =
      done({"create", path("store"), "--plan-from", path("text.txt"), "--error", "0.3"});
  EXPECT_THAT(out, HasSubstr("recalls it with a predicted error of"));
  EXPECT_THAT(out, HasSubstr("byte-level BPE"));
  const auto stat = json({"stat", path("store")});
  EXPECT_EQ(stat["dimension"].get<int>() % 64, 0);
  EXPECT_THAT(done({"create", path("poet"), "--plan-from", path("poems"), "--error", "0.3"}),
              HasSubstr("pairs of a window"));
  expect_refused(
      memo({"create", path("other"), "--plan-from", path("text.txt"), "--error", "0.00001"}), 2,
      "no dimension recalls");
  EXPECT_FALSE(std::filesystem::exists(path("other")));
}

TEST_F(Memo, CompletesByDrawing) {
  const std::string store = create();
  done({"memorize", store, path("poems/raven")});
  const Arguments complete = {"complete", store, "--prompt", "Over many a",
                              "--tokens", "12",  "--seed",   "5"};
  EXPECT_EQ(done(complete), "Over many a quaint and \n");
  EXPECT_EQ(json(complete)["text"], " quaint and ");
  EXPECT_EQ(json(complete)["finish"], "max_tokens");
}

TEST_F(Memo, CompletesNothingWhereNothingIsStored) {
  const std::string store = create();
  done({"memorize", store, path("poems/raven")});
  const Outcome run = memo({"complete", store, "--prompt", "Quoth Lucy", "--json"});
  EXPECT_EQ(run.status, 0);
  const auto json = config::Json::parse(run.out);
  EXPECT_EQ(json["text"], "");
  EXPECT_EQ(json["finish"], "not_stored");
  EXPECT_THAT(run.err, HasSubstr("no stored document continues this"));
}

TEST_F(Memo, ExportsTheMatrix) {
  const std::string store = create();
  done({"memorize", store, path("poems")});
  EXPECT_EQ(done({"export", store, "--out", path("m.safetensors")}),
            path("m.safetensors") + ": 1.0 MB\n");
  EXPECT_THAT(read_text(path("m.safetensors")).substr(0, 4000), HasSubstr(digest(store)));
  EXPECT_THAT(read_text(path("m.safetensors")), Not(HasSubstr("midnight")));
}

TEST_F(Memo, ReplacesWhenAskedAndGoesOnWhereItStopped) {
  const std::string store = create();
  done({"memorize", store, path("poems/raven")});
  const std::string before = digest(store);
  expect_refused(memo({"memorize", store, path("poems")}), 2,
                 "'raven' is stored already; replace it with --replace");
  EXPECT_EQ(digest(store), before);
  EXPECT_EQ(done({"memorize", store, path("poems"), "--replace"}),
            "old/lamb: 56 tokens, 122 pairs\n");
  write_text(path("poems/raven"), kLamb);
  EXPECT_THAT(done({"memorize", store, path("poems/raven"), "--replace"}),
              HasSubstr("raven: 56 tokens, 122 pairs, replaced"));
}

TEST_F(Memo, TakesStandardInputAndIds) {
  const std::string store = create();
  EXPECT_EQ(done({"memorize", store, "-", "--id", "piped"}, {.input = kLamb}),
            "piped: 56 tokens, 122 pairs\n");
  done({"memorize", store, path("poems/raven"), "--id", "Poe, 1845"});
  EXPECT_EQ(json({"documents", store})["data"][1]["id"], "Poe, 1845");
}

TEST_F(Memo, RefusesWhatIsNoTextAndStaysAsItWas) {
  const std::string store = create();
  done({"memorize", store, path("poems/raven")});
  const std::string before = digest(store);
  write_text(path("binary"), std::string("PK\0\1", 4));
  write_text(path("latin"), "caf\xE9");
  write_text(path("empty"), "");
  write_text(path("poems/zip"), std::string("PK\0\1", 4));
  expect_refusals({{{"memorize", store, path("binary")}, "binary: byte 2 is zero"},
                   {{"memorize", store, path("latin")}, "latin: byte 3 is not valid UTF-8"},
                   {{"memorize", store, path("empty")}, "empty: is empty"},
                   {{"memorize", store, "-", "--id", "x"}, "x: is empty"},
                   {{"memorize", store, path("poems/old"), path("poems/zip")}, "zip: byte 2"}},
                  3);
  EXPECT_EQ(digest(store), before);
  EXPECT_EQ(json({"documents", store})["data"].size(), 1u) << "a bad document must stop all";
}

TEST_F(Memo, RefusesWrongUsage) {
  const std::string store = create();
  std::filesystem::create_directories(path("twice/raven"));
  write_text(path("twice/raven/raven"), kLamb);
  expect_refusals(
      {{{}, "which verb? There are create, memorize, update, recall"},
       {{"memorise", store}, "did you mean 'memorize'?"},
       {{"create", store}, "already exists"},
       {{"create", path("x"), "--dimension", "100"}, "expected a multiple of 64"},
       {{"create", path("x"), "--code", "bond"}, "expected one of: bound, paper"},
       {{"create", path("x"), "--error", "0.1"}, "both a text to plan from and an allowed error"},
       {{"create", path("x"), "--plan-from", path("text.txt")},
        "both a text to plan from and an allowed error"},
       {{"create", path("x"), "--dimension", "64", "--plan-from", path("text.txt"), "--error",
         "0.1"},
        "either a text to plan from or a dimension"},
       {{"create", path("x"), "--tokenizer", "bpe"},
        "learned from the text that a store is planned for"},
       {{"memorize", store, "-"}, "give it one with --id"},
       {{"memorize", store, path("poems/raven"), "--id", ""}, "the id of a document is empty"},
       {{"memorize", store, path("poems/raven"), "--id", "a\nb"}, "'a\\x0ab', is not UTF-8"},
       {{"forget", store, "a\nb"}, "there is no document 'a\\x0ab'"},
       {{"memorize", store, path("poems"), "--id", "x"},
        "--id names one document, but there are 2"},
       {{"memorize", store, path("poems/raven"), path("twice/raven/raven")},
        "would both be 'raven'"},
       {{"memorize", store, path("poems"), "--shard", "3/2"}, "expected I/N"},
       {{"memorize", store, path("poems"), "--shard", "1"}, "expected I/N"},
       {{"memorize", store, path("poems"), "--shard", "1/0"}, "expected I/N"},
       {{"memorize", store, path("poems"), "--shard", "1/-4"}, "expected I/N"},
       {{"memorize", store, path("poems"), "--shard", "-1/4"}, "expected I/N"},
       {{"memorize", store, path("poems"), "--shard", "1/4x"}, "expected I/N"},
       {{"memorize", store, path("poems"), "--shard", "1/99999999999999999999"}, "expected I/N"},
       {{"memorize", store, path("poems"), "--shard", "auto"}, "no launcher says"},
       {{"recall", store, "--prompt", "abc"}, "the prompt has 3 tokens"},
       {{"recall", store}, "--prompt is required"},
       {{"find", store, ""}, "the text to find is empty"},
       {{"forget", store, "raven"}, "there is no document 'raven'"}},
      2);
  EXPECT_FALSE(std::filesystem::exists(path("x")));
  expect_refusals({{{"memorize", store, path("none.txt")}, "none.txt: cannot open"}}, 1);
  expect_refusals({{{"stat", path("none")}, "none: is not a memo store"},
                   {{"memorize", path("poems"), path("text.txt")}, "poems: is not a memo store"}},
                  3);
}

TEST_F(Memo, NamesDamage) {
  const std::string store = create();
  done({"memorize", store, path("poems")});
  const std::string before = digest(store), matrix = store + "/memory.safetensors";
  const std::string whole = read_text(matrix);
  std::string damaged = whole;
  damaged[damaged.size() / 2] ^= 4;
  write_text(matrix, damaged);
  expect_refused(memo({"verify", store}), 3, "memory.safetensors: is damaged");
  EXPECT_THAT(done({"stat", store}), HasSubstr(before)) << "which does not read the matrix";
  const Outcome recall = memo({"recall", store, "--prompt", "Once upon"});
  EXPECT_EQ(recall.status, 3);
  EXPECT_EQ(recall.out, "Once upon") << "the prompt, and nothing from the matrix";
  EXPECT_THAT(recall.err, HasSubstr("memory.safetensors: is damaged"));
  EXPECT_THAT(done({"verify", store, "--repair"}), HasSubstr(before));
  write_text(store + "/tokenizer.json", read_text(store + "/tokenizer.json").substr(0, 20));
  expect_refused(memo({"verify", store}), 3, "tokenizer.json");
}

TEST_F(Memo, AFullDiskLeavesTheStoreAsItWas) {
  const std::string store = create();
  done({"memorize", store, path("poems")});
  const std::string before = digest(store);
  ProcessOptions small_disk;
  small_disk.largest_file = 60000;
  write_text(path("long"), small_text(3000));
  const Outcome run = tessera({"memo", "memorize", store, path("long")}, small_disk);
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err, HasSubstr("ledger.sqlite"));
  EXPECT_EQ(digest(store), before);
  EXPECT_EQ(tessera({"memo", "create", path("x")}, small_disk).status, 1);
  EXPECT_FALSE(std::filesystem::exists(path("x")));
  EXPECT_THAT(done({"verify", store}), HasSubstr("2 documents"));
}

TEST_F(Memo, StoresAtHostsAreNamedByTheirAddresses) {
  const std::string store = create(), dead = "http://127.0.0.1:1/v1/stores/dead";
  const auto ask = [](const Arguments& stores) {
    return memo(
        joined({"recall", "--prompt", "Once upon a midnight", "--host-seconds", "5"}, stores));
  };
  expect_refused(ask({store, store}), 2, "several stores answer together where each is served");
  expect_refused(ask({dead, store}), 2, "is not an address of a store");
  expect_refused(ask({"ftp://a/v1/stores/s"}), 2, "expected http://HOST:PORT/v1/stores/NAME");
  expect_refused(ask({dead}), 1, "no store answers: " + dead + ": cannot connect: ");
}

/// One program writes for a while; another may read, but not write, and Ctrl-C keeps what is done.
TEST_F(Memo, WritersTakeTurnsReadersDoNot) {
  for (int number = 0; number < 1000; ++number)
    write_text(path("poems/" + std::to_string(1000 + number)), small_text(60));
  const std::string store = create();
  const auto await_output = [](Process& process) {
    while (process.output().empty() && process.running())
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  Process writer = start({"memo", "memorize", store, path("poems")});
  await_output(writer);
  EXPECT_GE(json({"documents", store})["data"].size(), 1u);
  EXPECT_THAT(done({"verify", store}), HasSubstr("verified"));
  expect_refused(memo({"forget", store, "1000"}), 1, "another process is writing to this store");
  writer.send(SIGINT);
  const Outcome stopped = writer.wait();
  EXPECT_EQ(stopped.status, 130) << stopped.err;
  EXPECT_THAT(stopped.err, HasSubstr("are memorized and kept; continue with the same command and "
                                     "--replace"));
  const auto kept = static_cast<size_t>(std::count(stopped.out.begin(), stopped.out.end(), '\n'));
  EXPECT_EQ(json({"documents", store})["data"].size(), kept);
  EXPECT_THAT(done({"verify", store}), HasSubstr("verified"));

  Process update = start({"memo", "update", store, path("poems")});
  await_output(update);
  update.send(SIGINT);
  EXPECT_THAT(update.wait().err, EndsWith("continue with the same command\n"));
}

}  // namespace
}  // namespace tessera::cli
