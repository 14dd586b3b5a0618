// tessera memo: how documents come, go and are given back.

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tests/program/cli/memo_workplace.h"

namespace tessera::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class MemoDocuments : public MemoWorkplace {};

TEST_F(MemoDocuments, UpdateMemorizesWhatHasChanged) {
  const std::string store = create();
  EXPECT_EQ(done({"update", store, path("poems"), "--meta", "kind=poem"}),
            "old/lamb: 56 tokens, 122 pairs\nraven: 121 tokens, 333 pairs\n")
      << "new documents, too";
  write_text(path("poems/old/lamb"), "Little Lamb I'll tell thee\n");
  const Outcome again = memo({"update", store, path("poems"), "--meta", "by=Blake"});
  EXPECT_EQ(again.out, "old/lamb: 28 tokens, 56 pairs, replaced\nraven: has other metadata\n");
  EXPECT_THAT(again.err, HasSubstr("0 new, 1 replaced, 0 unchanged, 1 with other metadata"));
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

TEST_F(MemoDocuments, GoesOnWithoutTheFilesThatAreBadEmptyOrMissing) {
  const std::string store = create();
  write_text(path("poems/zip"), std::string("PK\0\1", 4));
  write_text(path("poems/latin"), "caf\xE9");
  write_text(path("poems/empty"), "");
  const Outcome run = memo({"memorize", store, path("poems"), path("missing"), "--keep-going"});
  EXPECT_EQ(run.status, 1);
  EXPECT_EQ(run.out, "old/lamb: 56 tokens, 122 pairs\nraven: 121 tokens, 333 pairs\n");
  EXPECT_THAT(run.err, HasSubstr("zip: byte 2 is zero"));
  EXPECT_THAT(run.err, HasSubstr("latin: byte 3 is not valid UTF-8"));
  EXPECT_THAT(run.err, HasSubstr("not memorized: " + path("poems/empty") + ": is empty"));
  EXPECT_THAT(run.err, HasSubstr("not memorized: " + path("missing") + ": cannot open"));
  EXPECT_THAT(run.err, HasSubstr("4 of 6 documents were not memorized"));
  EXPECT_EQ(json({"documents", store})["data"].size(), 2u);
  for (const char* bad : {"poems/zip", "poems/latin"}) std::filesystem::remove(path(bad));
  expect_refused(memo({"memorize", create("other"), path("poems")}), 3,
                 "poems/empty: is empty; --keep-going leaves it out");
  // What a missing folder held may not be gone: its disk may be away.
  EXPECT_EQ(memo({"update", store, path("poems"), "--keep-going"}).status, 1);
  expect_refused(memo({"update", store, path("missing"), "--keep-going", "--prune"}), 1,
                 "missing: cannot open");
  EXPECT_EQ(json({"documents", store})["data"].size(), 2u);
  const Outcome alone = memo({"memorize", create("third"), path("poems/empty")});
  expect_refused(alone, 3, "poems/empty: is empty");
  EXPECT_THAT(alone.err, Not(HasSubstr("--keep-going")));
}

TEST_F(MemoDocuments, ReadsPagesAndLinesAndForgetsALineAlone) {
  std::filesystem::create_directories(path("in"));
  const std::string store = create();
  const std::string page = std::string("<h1>Lines</h1><pre>") + kLamb + "</pre>";
  write_text(path("in/a.html"), page);
  write_text(path("in/b.jsonl"),
             "{\"id\": \"raven\", \"text\": \"Once upon a midnight dreary\"}\n"
             "{\"text\": \"Little Lamb who made thee\"}\n");
  done({"memorize", store, path("in")});
  done({"export", store, "--texts", path("out")});
  EXPECT_EQ(read_file(path("out/a.html")), std::string("Lines\n") + kLamb);
  EXPECT_EQ(read_file(path("out/b.jsonl:2")), "Little Lamb who made thee");
  EXPECT_EQ(done({"forget", store, "b.jsonl:raven"}), "b.jsonl:raven: forgotten, 28 tokens\n");
  EXPECT_EQ(done({"update", store, path("in")}), "b.jsonl:raven: 28 tokens, 56 pairs\n");

  // A file that is damaged loses no line; one that has lost a line does.
  const std::string lines = read_file(path("in/b.jsonl"));
  write_text(path("in/b.jsonl"), lines + "damaged\n");
  EXPECT_EQ(memo({"update", store, path("in"), "--keep-going", "--prune"}).status, 1);
  EXPECT_EQ(json({"documents", store})["data"].size(), 3u);
  write_text(path("in/b.jsonl"), lines.substr(0, lines.find('\n')));
  EXPECT_EQ(done({"update", store, path("in"), "--prune"}), "b.jsonl:2: forgotten, 26 tokens\n");

  const std::string plain = create("plain");
  done({"memorize", plain, path("in"), "--plain"});
  done({"export", plain, "--texts", path("plain-out")});
  EXPECT_EQ(read_file(path("plain-out/a.html")), page);
  EXPECT_EQ(json({"documents", plain})["data"].size(), 2u);

  write_text(path("in/c.jsonl"), "{\"text\": \"a\"}\n{\"id\": 1, \"text\": \"b\"}\n");
  const std::string twice = create("twice");
  expect_refusals({{{"memorize", twice, path("in")}, "c.jsonl:1; give each an \"id\""}}, 2);
  const Outcome left_out = memo({"memorize", twice, path("in/c.jsonl"), "--keep-going"});
  EXPECT_EQ(left_out.status, 1);
  EXPECT_THAT(left_out.err, HasSubstr("1 of 2 documents were not memorized"));
  EXPECT_EQ(json({"documents", twice})["data"].size(), 1u);
  write_text(path("in/c.jsonl"), "{\"text\": \"a\"}\n{\"txt\": \"b\"}\n");
  expect_refusals({{{"memorize", create("third"), path("in")}, "c.jsonl: line 2"}}, 3);
}

TEST_F(MemoDocuments, UpdateLeavesOutAndPrunes) {
  const std::string store = create();
  write_text(path("poems/notes.bak"), "scratch\n");
  write_text(path("poems/.tesseraignore"), "\uFEFF*.bak\r\n# backups\r\n");
  EXPECT_EQ(done({"update", store, path("poems"), "--exclude", "old/"}),
            "raven: 121 tokens, 333 pairs\n");
  EXPECT_EQ(done({"update", store, "--exclude", "*.txt", path("poems")}),
            "old/lamb: 56 tokens, 122 pairs\n")
      << "the folder is no second value of --exclude";
  done({"history", store, "--begin"});
  const Outcome begun = memo({"history", store});
  EXPECT_EQ(begun.out, "");
  EXPECT_EQ(begun.err, "nothing was forgotten since the history was begun\n");
  std::filesystem::remove(path("poems/raven"));
  EXPECT_EQ(done({"update", store, path("poems")}), "") << "only --prune forgets";
  const Outcome pruned = memo({"update", store, path("poems"), "--prune"});
  EXPECT_EQ(pruned.out, "raven: forgotten, 121 tokens\n");
  EXPECT_THAT(pruned.err, HasSubstr("0 new, 0 replaced, 1 unchanged, 1 forgotten"));
  EXPECT_EQ(json({"documents", store})["data"].size(), 1u);
  EXPECT_THAT(done({"history", store}), HasSubstr("forgotten: 120 bytes, 121 tokens"));
  write_text(path("poems/.tesseraignore"), "!lamb\n");
  expect_refused(memo({"update", store, path("poems")}), 3, "begins with !");
}

/// A disk that is away, and one that the folder was moved to.
TEST_F(MemoDocuments, PruneForgetsNothingOfAFolderThatIsEmptyOrALink) {
  namespace fs = std::filesystem;
  const std::string store = create();
  done({"update", store, path("poems")});
  fs::rename(path("poems/old"), path("away"));
  fs::create_directory(path("poems/old"));
  expect_refused(memo({"update", store, path("poems"), "--prune"}), 3,
                 "old: is no file, or an empty folder, and the store holds 'old/lamb'");
  fs::remove(path("poems/old"));
  fs::create_directory_symlink(path("away"), path("poems/old"));
  expect_refused(memo({"update", store, path("poems"), "--prune"}), 3, "is no file");
  fs::rename(path("poems/raven"), path("raven"));
  fs::create_symlink(path("raven"), path("poems/raven"));
  write_text(path("poems/new"), "new");
  expect_refused(memo({"update", store, path("poems"), "--prune", "--exclude", "old"}), 3,
                 "raven: is no file");
  EXPECT_EQ(json({"documents", store})["data"].size(), 2u);
  fs::create_directory(path("poems/empty"));  // of which the store holds nothing
  EXPECT_EQ(
      done({"update", store, path("poems"), "--prune", "--exclude", "old", "--exclude", "raven"}),
      "new: 4 tokens, 0 pairs\nold/lamb: forgotten, 56 tokens\n"
      "raven: forgotten, 121 tokens\n");
  const std::string of_lines = create("lines");
  fs::create_directory(path("in"));
  write_text(path("in/a.jsonl"), "{\"text\": \"a line\"}\n");
  write_text(path("in/other"), "a text");
  done({"update", of_lines, path("in")});
  fs::rename(path("in/a.jsonl"), path("a.jsonl"));
  fs::create_symlink(path("a.jsonl"), path("in/a.jsonl"));
  expect_refused(memo({"update", of_lines, path("in"), "--prune"}), 3,
                 "the store holds 'a.jsonl:1'");
}

TEST_F(MemoDocuments, BracketsInNamesAreNoWildcards) {
  const std::string store = create();
  std::filesystem::create_directories(path("in"));
  write_text(path("in/report1.txt"), kRaven);
  write_text(path("in/report[1].txt"), kLamb);
  write_text(path("in/.tesseraignore"), "report[2].txt\n");
  write_text(path("in/report2.txt"), "a second report");
  write_text(path("in/report[2].txt"), "not this one");
  done({"memorize", store, path("in")});
  EXPECT_EQ(json({"documents", store})["data"].size(), 3u);
  done({"forget", store, "report[1].txt"});
  expect_refused(memo({"forget", store, "report[1].txt"}), 2, "there is no document");
  EXPECT_EQ(done({"forget", store, "report?.txt", "--dry-run"}),
            "report1.txt: would be forgotten, 121 tokens\n"
            "report2.txt: would be forgotten, 16 tokens\n");
}

TEST_F(MemoDocuments, NoTextOfTheStoreAndNoIgnoredOneIsMemorizedByMistake) {
  namespace fs = std::filesystem;
  const std::string store = create("poems/store");
  fs::create_symlink(path("away"), path("poems/.tesseraignore"));
  expect_refused(memo({"memorize", store, path("poems")}), 1, ".tesseraignore: cannot open");
  fs::remove(path("poems/.tesseraignore"));
  EXPECT_EQ(done({"memorize", store, path("poems")}),
            "old/lamb: 56 tokens, 122 pairs\nraven: 121 tokens, 333 pairs\n");
}

TEST_F(MemoDocuments, PlansAndAuditsLeaveOutWhatIsNotMemorized) {
  std::string names;
  for (int line = 0; line < 50; ++line) names += "Grzegorz writes to Grzegorz.\n";
  std::filesystem::create_directory(path("poems/private"));
  write_text(path("poems/private/names"), names);
  write_text(path("poems/empty"), "");
  const auto tokens_planned_from_poems = [&](const std::string& store) {
    done({"create", path(store), "--plan-from", path("poems"), "--error", "0.9", "--exclude",
          "*.png"});
    return read_file(path(store + "/tokenizer.json"));
  };
  EXPECT_THAT(tokens_planned_from_poems("with"), HasSubstr("Grzegorz"));
  write_text(path("poems/.tesseraignore"), "private/\n");
  write_text(path("poems/logo.png"), std::string("\x89PNG\0", 5));
  EXPECT_THAT(tokens_planned_from_poems("without"), Not(HasSubstr("zeg")));
  const Arguments plan = {"plan", "--text", path("poems"), "--error", "0.9"};
  expect_refused(tessera(plan), 3, "logo.png: byte");
  const auto plan_of_rest = [&] {
    return config::Json::parse(cli::done(joined(plan, {"--exclude", "*.png", "--json"})))["plan"];
  };
  const auto pairs = plan_of_rest()["pairs"];
  std::filesystem::remove_all(path("poems/private"));
  EXPECT_EQ(plan_of_rest()["pairs"], pairs);
  expect_refused(memo({"create", path("x"), "--exclude", "*.png"}), 2, "plan_from is missing");

  const std::string store = path("without");
  expect_refused(memo({"audit", store, path("poems")}), 3, "logo.png: byte");
  EXPECT_EQ(json({"audit", store, path("poems"), "--exclude", "*.png"})["data"].size(), 2u);
}

TEST_F(MemoDocuments, AHistoryThatIsDamagedIsBadData) {
  const std::string store = create();
  const std::vector<std::string> damaged = {"5",
                                            "[]",
                                            R"({"time": 5})",
                                            R"({"bytes": "many"})",
                                            R"({"time": "\u001b[31m"})",  // commands the terminal
                                            R"({"sha256": "\u001b]0;"})"};
  for (const std::string& line : damaged) {
    write_text(store + "/history.jsonl", "{\"tokens\": 3}\n" + line + "\n");
    expect_refused(memo({"history", store}), 3, "history.jsonl: line 2 does not say");
  }
}

/// CLI11 would take it for a list.
TEST_F(MemoDocuments, AnIdInBracketsNamesNoOtherDocument) {
  const std::string store = create();
  done({"memorize", store, path("text.txt"), "--id=raven"});
  done({"memorize", store, path("poems/raven"), "--id=[raven]"});
  EXPECT_THAT(done({"forget", store, "[raven]"}), HasSubstr("[raven]: forgotten"));
  const auto left = json({"documents", store})["data"];
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0]["id"], "raven");
  expect_refused(memo({"forget", store, "[lamb,raven]"}), 2, "no document '[lamb,raven]'");
  expect_refused(memo({"forget", store, "--ids=[raven]"}), 2, "--ids=[raven]");
}

TEST_F(MemoDocuments, LongListsAreCutAndSaySo) {
  const std::string store = path("store");
  done({"create", store, "--dimension", "1536"});
  for (int number = 10; number < 23; ++number)
    write_text(path("poems/" + std::to_string(number)), kRaven);
  done({"memorize", store, path("poems")});
  const Outcome first = memo({"documents", store, "--limit", "2"});
  EXPECT_EQ(std::ranges::count(first.out, '\n'), 4);
  EXPECT_EQ(first.err, "2 of 15 documents; to go on: --after '11'\n");
  EXPECT_EQ(memo({"documents", store, "--limit", "20", "--after", "11"}).err, "");
  EXPECT_THAT(memo({"forget", store, "raven", "--dry-run"}).err,
              HasSubstr("so do 3 more documents (--json names all)\n"));
  // The matrix of 2 MB cannot be written, so that their texts stay in the ledger for now.
  EXPECT_EQ(memo({"forget", store, "1*", "2*"}, {.largest_file = 1'500'000}).status, 1);
  EXPECT_THAT(memo({"documents", store}).err,
              HasSubstr("'18', '19' and 3 more documents (--json names all) is forgotten"));
}

TEST_F(MemoDocuments, WhatIsDoneAndLeftOutIsSaidThoughTheMatrixCannotBeWritten) {
  const std::string store = path("store");
  done({"create", store, "--dimension", "1536"});
  done({"memorize", store, path("poems")});
  write_text(path("poems/raven"), kLamb);
  const Outcome run = memo({"update", store, path("poems"), path("missing"), "--keep-going"},
                           {.largest_file = 600'000});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err, HasSubstr("0 new, 1 replaced, 1 unchanged\n"));
  EXPECT_THAT(run.err, HasSubstr("not memorized: " + path("missing") + ": cannot open"));
  EXPECT_THAT(run.err, HasSubstr("File too large; the documents printed above are kept"));
  EXPECT_THAT(memo({"documents", store}).err,
              HasSubstr("the text of 'raven' (an earlier one) is forgotten, but not erased"));
}

TEST_F(MemoDocuments, ForgetsWhatIsAskedForAndWarnsOfWhatStays) {
  const std::string store = create();
  write_text(path("poems/copy"), std::string("A preface.\n") + kRaven);
  done({"memorize", store, path("poems"), "--meta", "kind=poem"});
  done({"memorize", store, path("text.txt")});
  const Outcome list = memo({"forget", store, "ra*", "--dry-run"});
  EXPECT_EQ(list.out, "raven: would be forgotten, 121 tokens\n");
  EXPECT_THAT(list.err, HasSubstr("'copy' stays and has 21 words in the same passages"));
  const std::vector<Arguments> overlapping = {{"ra*", "r*"}, {"raven", "r*"}, {"r*", "raven"}};
  for (const Arguments& ids : overlapping)
    EXPECT_EQ(json({"forget", store, ids[0], ids[1], "--dry-run"})["data"].size(), 1u) << ids[0];
  EXPECT_EQ(json({"forget", store, "--containing", "MIDNIGHT dreary", "--dry-run"})["data"].size(),
            2u);
  EXPECT_EQ(json({"forget", store, "--meta", "kind=poem", "--dry-run"})["data"].size(), 3u);
  EXPECT_EQ(json({"documents", store})["data"].size(), 4u);
  expect_refused(memo({"forget", store, "--containing", " \n"}), 2, "is white space");
  EXPECT_EQ(done({"forget", store, "--containing", "midnight dreary", "--meta", "kind=poem"}),
            "copy: forgotten, 132 tokens\nraven: forgotten, 121 tokens\n");
  expect_refusals({{{"forget", store}, "--containing TEXT or --meta KEY=VALUE"},
                   {{"forget", store, "ravn"}, "there is no document 'ravn'"},
                   {{"forget", store, "--containing", "nevermore"}, "no document matches"},
                   {{"forget", store, "text.txt", "--key", "k"}, "--key signs a certificate"}},
                  2);
  EXPECT_EQ(json({"documents", store})["data"].size(), 2u);
}

TEST_F(MemoDocuments, ACertificateShowsWhatWasErased) {
  const std::string store = create();
  done({"memorize", store, path("poems")});
  done({"history", store, "--begin"});
  const std::string before = digest(store), file = path("erasure.json");
  const Outcome run = memo({"forget", store, "raven", "--certificate", file});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("certificate; nothing found in "));
  const auto certificate = config::Json::parse(read_file(file));
  EXPECT_EQ(certificate["digest_before"], before);
  EXPECT_EQ(certificate["digest_after"], digest(store));
  EXPECT_EQ(certificate["digest_of_remaining_documents"], digest(store));
  EXPECT_EQ(certificate["erased"][0]["bytes"], std::string(kRaven).size());
  const std::string page = read_file(path("erasure.html"));
  EXPECT_THAT(page, HasSubstr("One document was erased"));
  EXPECT_THAT(page, HasSubstr("<dd>1 document, 56 tokens</dd>"));
  EXPECT_THAT(page, HasSubstr(digest(store) + ": the same as after the erasure"));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  for (const std::string& name : {file, path("erasure.html"), store + "/history.jsonl"})
    EXPECT_THAT(read_file(name), Not(HasSubstr("midnight"))) << name;
  EXPECT_THAT(done({"history", store}), HasSubstr("forgotten: 120 bytes, 121 tokens"));
  EXPECT_THAT(done({"verify", store, "--certificate", file}),
              HasSubstr("not signed; the store is as it was after the erasure"));
  done({"memorize", store, path("poems/raven")});
  const Outcome again = memo({"verify", store, "--certificate", file});
  EXPECT_EQ(again.status, 1);
  EXPECT_THAT(again.out, HasSubstr("'raven' has the text of an erased document again"));
  const Outcome as_json = memo({"verify", store, "--certificate", file, "--json"});
  EXPECT_EQ(as_json.status, 1);
  const auto check = config::Json::parse(as_json.out)["certificate"];
  EXPECT_EQ(check["holds"], false);
  EXPECT_EQ(check["held"], config::Json({"raven"}));
  expect_refused(memo({"forget", store, "raven", "--certificate", path("none/file")}), 1, "write");
  std::filesystem::create_directory(path("folder"));
  expect_refused(memo({"forget", store, "raven", "--certificate", path("folder")}), 2,
                 "is there already; a certificate cannot be made again");
  expect_refused(memo({"forget", store, "raven", "--certificate", path("page.html")}), 2,
                 "the name of the page beside it");
  expect_refused(memo({"forget", store, "raven", "--certificate", store + "/ledger.sqlite"}), 2,
                 "among the store's own files");
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  for (const auto& taken : {path("pipe"), file, path("erasure.other")})  // the last by its page
    expect_refused(memo({"forget", store, "raven", "--certificate", taken}), 2, "is there already");
  EXPECT_EQ(json({"documents", store})["data"].size(), 2u) << "nothing was forgotten";
  EXPECT_EQ(memo({"verify", store, "--certificate", path("text.txt")}).status, 3);
}

TEST_F(MemoDocuments, ASignedCertificateShowsWhoseItIs) {
  const std::string store = create();
  done({"memorize", store, path("poems")});
  write_text(path("key"),
             "-----BEGIN PRIVATE KEY-----\n"
             "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
             "-----END PRIVATE KEY-----\n");
  // RFC 8032, section 7.1, test 1.
  const std::string file = path("erasure.json");
  done({"forget", store, "raven", "--certificate", file, "--key", path("key")});
  auto certificate = config::Json::parse(read_file(file));
  EXPECT_EQ(certificate["signature"]["public_key"],
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
  EXPECT_THAT(done({"verify", store, "--certificate", file}), HasSubstr("signed by d75a9801"));
  certificate["time"] = "2020-01-01T00:00:00Z";
  write_text(file, certificate.dump());
  EXPECT_EQ(memo({"verify", store, "--certificate", file}).status, 1);
  certificate["time"] = "\x1b[2J";
  write_text(file, certificate.dump());
  EXPECT_EQ(memo({"verify", store, "--certificate", file}).status, 3) << "a terminal would obey it";
  expect_refused(
      memo({"forget", store, "old/lamb", "--certificate", path("key"), "--key", path("key")}), 2,
      "is there already");
  const std::string next = path("next.json");
  expect_refused(
      memo({"forget", store, "old/lamb", "--certificate", next, "--key", path("text.txt")}), 3,
      "holds no private Ed25519 key");
  std::filesystem::create_directory(store + "/copies");
  expect_refused(memo({"forget", store, "old/lamb", "--certificate", next}), 3,
                 "store/copies: is not a file");
  EXPECT_EQ(json({"documents", store})["data"].size(), 1u) << "nothing was forgotten";
}

TEST_F(MemoDocuments, AnAuditTellsWhatIsHeld) {
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

TEST_F(MemoDocuments, DocumentsAreExportedAsTexts) {
  const std::string store = create();
  done({"export", store, "--texts", path("nothing")});
  EXPECT_TRUE(std::filesystem::is_empty(path("nothing")));
  done({"memorize", store, path("poems")});
  EXPECT_THAT(done({"export", store, "--texts", path("back")}), HasSubstr("2 documents, "));
  EXPECT_EQ(read_file(path("back/raven")), kRaven);
  EXPECT_EQ(read_file(path("back/old/lamb")), kLamb);
  EXPECT_FALSE(json({"export", store, "--texts", path("json")}).contains("renamed"));
  expect_refused(memo({"export", store, "--texts", path("back")}), 2, "already exists");
  expect_refused(memo({"export", store}), 2, "either a file for the memory (out) or a folder");
  expect_refused(memo({"export", store, "--out", store + "/ledger.sqlite"}), 2,
                 "among the store's own files");
  expect_refused(memo({"export", store, "--texts", store + "/texts/"}), 2,
                 "among the store's own files");
}

TEST_F(MemoDocuments, AnIdThatIsNoPathBelowAFolderIsExportedUnderAnotherName) {
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
      {".tesseraignore", "%2Etesseraignore"},  // hidden files are not read
      {"a/.b/c", "a%2F%2Eb%2Fc"},
      {"a/b/../c", "a/c"}};
  for (const char* id : {"../../x", "/etc/x", ".", "x/", "old", "old/lamb", "./old", "old%2Flamb",
                         ".tesseraignore", "a/.b/c", "a/b/../c"})
    done({"memorize", store, path("poems/raven"), "--id", id});
  done({"memorize", store, path("poems/raven"), "--id", std::string(300, 'n')});
  const Outcome run = memo({"export", store, "--texts", path("below/out")});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("12 documents, "));
  EXPECT_THAT(run.err, HasSubstr("'../../x' is written to %2E%2E%2F%2E%2E%2Fx: its id cannot"));
  EXPECT_THAT(run.err, Not(HasSubstr("'old' is written")));
  for (const auto& [id, name] : names)
    EXPECT_EQ(read_file(path("below/out/" + name)), kRaven) << id;
  EXPECT_FALSE(std::filesystem::exists(path("x")));
  const auto made = json({"export", store, "--texts", path("json")});
  EXPECT_EQ(made["renamed"].size(), 10u);
  EXPECT_EQ(made["renamed"][0], config::Json({{"id", "../../x"}, {"file", names.at("../../x")}}));
}

TEST_F(MemoDocuments, ManyLongIdsThatBeginAlikeAreExported) {
  const std::string store = create();
  std::string lines;
  for (int number = 0; number < 45; ++number)
    lines += config::Json{{"id", std::string(250, 'n') + std::to_string(number)}, {"text", kRaven}}
                 .dump() +
             "\n";
  write_text(path("long.jsonl"), lines);
  done({"memorize", store, path("long.jsonl")});
  std::string deep = "e";
  for (int folder = 0; folder < 1500; ++folder) deep.insert(0, "d/");
  done({"memorize", store, path("poems/raven"), "--id", deep});
  EXPECT_THAT(done({"export", store, "--texts", path("out")}), HasSubstr("46 documents, "));
  const std::string name = "long%2Ejsonl:" + std::string(187, 'n');
  for (const char* end : {"", "~", "~2", "~44"})
    EXPECT_EQ(read_file(path("out/" + name + end)), kRaven) << end;
}

TEST_F(MemoDocuments, ReplacesWhenAskedAndGoesOnWhereItStopped) {
  const std::string store = create();
  done({"memorize", store, path("poems/raven")});
  const std::string before = digest(store);
  expect_refused(memo({"memorize", store, path("poems")}), 2,
                 "'raven' is stored already; replace it, or forget it first");
  EXPECT_EQ(digest(store), before);
  EXPECT_EQ(done({"memorize", store, path("poems"), "--replace"}),
            "old/lamb: 56 tokens, 122 pairs\n");
  write_text(path("poems/raven"), kLamb);
  EXPECT_THAT(done({"memorize", store, path("poems/raven"), "--replace"}),
              HasSubstr("raven: 56 tokens, 122 pairs, replaced"));
}

TEST_F(MemoDocuments, TakesStandardInputAndIds) {
  const std::string store = create();
  EXPECT_EQ(done({"memorize", store, "-", "--id", "piped"}, {.input = kLamb}),
            "piped: 56 tokens, 122 pairs\n");
  const Outcome bad = memo({"memorize", store, "-", "--id", "bad", "--keep-going"},
                           {.input = std::string(70000, '\x80')});
  EXPECT_EQ(bad.status, 1);
  EXPECT_EQ(bad.err,
            "not memorized: standard input: byte 0 is not valid UTF-8; convert it, for example "
            "with iconv\ntessera: 1 of 1 documents were not memorized\n");
  done({"memorize", store, path("poems/raven"), "--id", "Poe, 1845"});
  EXPECT_EQ(json({"documents", store})["data"][0]["id"], "Poe, 1845");
}

TEST_F(MemoDocuments, RefusesWhatIsNoTextAndStaysAsItWas) {
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

}  // namespace
}  // namespace tessera::cli
