#include "program/jobs/store_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <optional>

#include "program/jobs/audit_job.h"
#include "program/jobs/erase_job.h"
#include "program/jobs/file_jobs.h"
#include "program/jobs/store_files.h"
#include "tessera/base/file.h"
#include "tests/store/small_stores.h"

namespace tessera::jobs {
namespace {

using config::Json;
using store::MemoStore;
using store::MemoWriter;
using test::message_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const OnProgress kSilent = [](int64_t, int64_t) {};
const OnProgress kLeave = [](int64_t, int64_t) { throw Interrupted("gone"); };

const std::string kRaven = "The raven sat\nabove the Door.\n",
                  kLamp = "The lamp was lit\nbeside the door.\n";

/// A store with two documents of a few lines.
class StoreJobs : public ::testing::Test {
 protected:
  StoreJobs() {
    MemoStore::create(store(), store::small_memory(), store::byte_tokenizer());
    MemoWriter writer(store());
    Memorize{"raven", kRaven, false, {"author=Poe"}}.run(writer, kSilent);
    Memorize{"lamp", kLamp}.run(writer, kSilent);
    writer.checkpoint();
  }
  std::filesystem::path store() const { return folder_ / "store"; }
  /// A store of one document, whose tokens begin with a space that the text does not have.
  std::filesystem::path spacing_store(const std::string& text) const {
    const auto path = folder_ / "spacing";
    MemoStore::create(path, store::small_memory(), store::spacing_tokenizer(text));
    store::memorize(path, "raven", text);
    return path;
  }
  /// Forgets "raven" and certifies it in certificate_.
  Erase certified() const { return {.ids = {"raven"}, .certificate = certificate_.native()}; }

  template <typename Job>
  auto run(const Job& job, const OnProgress& on_progress = kSilent) {
    store_.emplace(store());
    return job.run(*store_, on_progress);
  }

  test::TemporaryFolder folder_;
  const std::filesystem::path certificate_ = folder_ / "raven.json";
  std::optional<MemoStore> store_;  // that was asked last
};

TEST_F(StoreJobs, RecallRecitesWithItsSources) {
  Recall recall;
  recall.prompt = "The raven ";
  recall.tokens = 4;
  int64_t seen = 0;
  const auto answer = run(recall, [&](int64_t done, int64_t of) {
    EXPECT_EQ(done, ++seen);
    EXPECT_EQ(of, 4);
  });
  EXPECT_EQ(seen, 4);
  const Json json = answer.json();
  EXPECT_EQ(json["prompt"], "The raven ");
  EXPECT_EQ(json["text"], "sat\n");
  EXPECT_EQ(json["tokens"][0]["sources"][0]["document"], "raven");
  EXPECT_EQ(json["finish"], "max_tokens");
}

TEST_F(StoreJobs, AskAnswersEachPromptAsRecallDoes) {
  Ask ask;
  ask.tokens = 4;
  ask.prompts = {"The raven ", "The lamp w"};
  const Json data = run(ask).json()["data"];
  ASSERT_EQ(data.size(), 2u);
  EXPECT_EQ(data[0]["text"], "sat\n");
  EXPECT_EQ(data[1]["prompt"], "The lamp w");
  ask.prompts.assign(Ask::kMost + 1, "The raven ");
  EXPECT_THAT(message_of<UsageError>([&] { run(ask); }), HasSubstr("1001 prompts; at most 1000"));
}

TEST_F(StoreJobs, TextsAreExportedAsTheyWereThoughTheirTokensBeginWithASpace) {
  const std::string text = "The raven sat above the Door.";
  Export{.texts = folder_ / "texts"}.run(spacing_store(text), kSilent);
  EXPECT_EQ(read_file(folder_ / "texts/raven"), text);
}

TEST_F(StoreJobs, UpdateIsAJobOnAnOpenWriter) {
  std::filesystem::create_directory(folder_ / "texts");
  std::ofstream(folder_ / "texts/lamp") << "The lamp is out.\n";
  Update update;
  update.files = {(folder_ / "texts").native()};
  update.prune = true;
  MemoWriter writer(store());
  const Json json = update.run(writer, kSilent).json();
  EXPECT_EQ(json["data"][0]["outcome"], "replaced");
  EXPECT_EQ(json["pruned"][0]["id"], "raven");
  EXPECT_EQ(writer.ledger().totals().documents, 1);
  update.meta = {"author"};  // a field, whoever asks
  EXPECT_THAT(message_of<UsageError>([&] { update.run(writer, kSilent); }),
              StartsWith("meta is 'author'"));
}

TEST_F(StoreJobs, AnUpdateOfWhatHasNotChangedTellsHowFarItIsAndCanBeStopped) {
  write_file(folder_ / "texts/raven", kRaven);
  write_file(folder_ / "texts/lamp", kLamp);
  Update update;
  update.files = {(folder_ / "texts").native()};
  MemoWriter writer(store());
  std::vector<std::pair<int64_t, int64_t>> told;
  update.run(writer, [&](int64_t done, int64_t of) { told.emplace_back(done, of); });
  EXPECT_THAT(told, ElementsAre(std::pair(34, 64), std::pair(64, 64)));
  EXPECT_THROW(update.run(writer, kLeave), Interrupted);
}

TEST_F(StoreJobs, AFileThatHasGoneMeanwhileIsLeftOutWhereAsked) {
  for (const char* name : {"texts/a", "texts/b", "texts/c"}) write_file(folder_ / name, kRaven);
  MemorizeFiles job;
  job.files = {(folder_ / "texts").native()};
  job.keep_going = job.replace = true;
  MemoWriter writer(store());
  const Admitted admitted = job.admitted(writer);
  std::filesystem::remove(folder_ / "texts/b");
  const Files::Answer answer = job.memorize(writer, admitted, Files::OnNews(), kSilent);
  EXPECT_EQ(answer.documents.size(), 2u);
  EXPECT_THAT(answer.refusals, ElementsAre(HasSubstr("texts/b")));
  job.keep_going = false;
  EXPECT_THROW(job.memorize(writer, admitted, Files::OnNews(), kSilent), std::runtime_error);
}

/// Before the first document is stored, only the beginning of each is looked at.
TEST_F(StoreJobs, ATextThatCannotBeEncodedAtItsEndIsLeftOutWhereAsked) {
  const std::string line = "The raven sat.\n";
  std::string text = line;
  while (text.size() < 70000) text += line;
  write_file(folder_ / "texts/a", text + "?");
  write_file(folder_ / "texts/b", line);
  write_file(folder_ / "texts/c", "?");
  MemoStore::create(folder_ / "letters", store::small_memory(),
                    Tokenizer::characters(line, EndOfText::kPresent));
  MemoWriter writer(folder_ / "letters");
  MemorizeFiles job;
  job.files = {(folder_ / "texts").native()};
  job.keep_going = true;
  const Files::Answer answer = job.memorize(writer, job.admitted(writer), Files::OnNews(), kSilent);
  EXPECT_EQ(answer.documents.size(), 1u);
  EXPECT_THAT(answer.refusals, ElementsAre(HasSubstr("texts/c: byte 0: the character"),
                                           StartsWith("a: byte 70005: the character")));
}

TEST_F(StoreJobs, CtrlCWhileAFileIsReadEndsAlsoWhatKeepsGoing) {
  const auto interrupted = [](size_t) -> std::string { throw Interrupted("interrupted"); };
  Admitted admitted;
  admitted.documents.push_back(
      {.id = "a",
       .name = "a",
       .source = std::make_shared<TextSource>(TextSource::generated("a text", 1, interrupted))});
  MemorizeFiles job;
  job.keep_going = true;
  MemoWriter writer(store());
  EXPECT_THROW(job.memorize(writer, admitted, Files::OnNews(), kSilent), Interrupted);
}

/// While it lives, files are opened as by a user who owns none; root may read everything.
struct AsNobody {
  AsNobody() { EXPECT_EQ(::getuid() == 0 ? ::seteuid(65534) : 0, 0); }
  ~AsNobody() { EXPECT_EQ(::seteuid(::getuid()), 0); }
};

TEST_F(StoreJobs, AFolderThatMayNotBeReadIsLeftOutWhereAskedButNotWhereOthersAreForgotten) {
  namespace fs = std::filesystem;
  write_file(folder_ / "texts/a", kRaven);
  write_file(folder_ / "texts/closed/b", kLamp);
  fs::permissions(folder_.path(), fs::perms::all);
  fs::permissions(folder_ / "texts/closed", fs::perms::none);
  MemoWriter writer(store());
  Update job;
  job.files = {(folder_ / "texts").native()};
  const auto admitted = [&] {
    const AsNobody nobody;
    return job.admitted(writer);
  };
  EXPECT_THAT(message_of<SystemError>(admitted), HasSubstr("texts/closed: cannot read"));
  job.keep_going = true;
  const Admitted list = admitted();
  EXPECT_THAT(list.named, ElementsAre("a"));
  EXPECT_THAT(list.refusals, ElementsAre(HasSubstr("texts/closed: cannot read")));
  job.prune = true;
  EXPECT_THAT(message_of<SystemError>(admitted), HasSubstr("texts/closed: cannot read"));
  job.prune = false;
  job.files = {(folder_ / "texts/a").native(), (folder_ / "texts/closed").native(),
               (folder_ / "texts/closed/b").native()};
  EXPECT_THAT(admitted().refusals, ElementsAre(HasSubstr("texts/closed: cannot read"),
                                               HasSubstr("texts/closed/b: cannot open")));
  fs::permissions(folder_ / "texts/closed", fs::perms::owner_all);
}

TEST_F(StoreJobs, FindCountsAllPlacesAndShowsTheFirst) {
  const auto find = [&](Find find) { return run(find).json(); };
  const Json all = find({.text = "the door"});
  EXPECT_EQ(all["places"], 2);
  EXPECT_EQ(all["documents"], 2);
  EXPECT_EQ(all["data"][0]["document"], "raven");
  EXPECT_EQ(all["data"][0]["text"], "the Door");
  EXPECT_EQ(find({.text = "the door", .letter_case = true})["data"][0]["document"], "lamp");
  EXPECT_EQ(find({.text = "sat above", .exact = true})["places"], 0);
  EXPECT_EQ(find({.text = "sat above"})["places"], 1);
  const Json first = find({.text = "the", .limit = 1});
  EXPECT_EQ(first["places"], 4);
  EXPECT_EQ(first["data"].size(), 1u);
  EXPECT_EQ(find({.text = "the", .limit = 0})["data"].size(), 4u);
  EXPECT_THAT(message_of<UsageError>([&] { find({}); }), HasSubstr("is empty"));
}

TEST_F(StoreJobs, SearchRanksPassages) {
  const Json found = run(Search{.words = "lit lamps"}).json();
  ASSERT_EQ(found["data"].size(), 1u);
  EXPECT_EQ(found["data"][0]["document"], "lamp");
  EXPECT_EQ(found["data"][0]["line"], 1);
  EXPECT_THAT(found["data"][0]["text"].get<std::string>(), HasSubstr("lamp "));
  EXPECT_EQ(run(Search{.words = "door", .limit = 1}).passages.size(), 1u);
}

TEST_F(StoreJobs, DocumentsAreListedByWhatIsKnownOfThem) {
  const auto ids = [&](Documents job) {
    std::vector<std::string> ids;
    for (const auto& listed : run(job).documents) ids.push_back(listed.document.id);
    return ids;
  };
  EXPECT_THAT(ids({}), ElementsAre("lamp", "raven"));
  EXPECT_THAT(ids({.meta = {"author=Poe"}}), ElementsAre("raven"));
  EXPECT_THAT(ids({.meta = {"author=Blake"}}), ElementsAre());
  EXPECT_THAT(ids({.since = "2020-01-01"}), ElementsAre("lamp", "raven"));
  EXPECT_THAT(ids({.before = "2020-01-01"}), ElementsAre());
  EXPECT_THAT(ids({.after = "lamp"}), ElementsAre("raven"));
  EXPECT_THAT(ids({.after = "lantern"}), ElementsAre("raven")) << "forgotten meanwhile";
  EXPECT_THAT(ids({.limit = 1}), ElementsAre("lamp"));
  const auto last = run(Documents{.after = "lamp", .limit = 1});
  EXPECT_EQ(last.total, 2);
  EXPECT_FALSE(last.has_more);
  EXPECT_TRUE(run(Documents{.limit = 1}).has_more);
  EXPECT_FALSE(run(Documents{.meta = {"author=Poe"}, .limit = 1}).has_more);
  EXPECT_EQ(run(Documents{.meta = {"author=Poe"}, .after = "raven"}).total, 1);
  EXPECT_THAT(message_of<UsageError>([&] { ids({.since = "2020-13-01"}); }), HasSubstr("since is"));
  EXPECT_THAT(message_of<UsageError>([&] { ids({.meta = {"author"}}); }),
              HasSubstr("meta is 'author', expected KEY=VALUE"));
  const Json json = run(Documents{}).json();
  EXPECT_EQ(json["object"], "list");
  EXPECT_EQ(json["data"][1]["object"], "document");
  EXPECT_EQ(json["data"][1]["metadata"]["author"], "Poe");
  EXPECT_EQ(json["erasure_pending"], false);
  store_.reset();  // a reader would keep the forgotten text
  {
    MemoWriter writer(store());
    Memorize{"lamp", "Another text.\n", true}.run(writer, kSilent);
    writer.checkpoint();
  }
  EXPECT_THAT(ids({.after = "lamp"}), ElementsAre("raven")) << "though 'lamp' is newer";
}

TEST_F(StoreJobs, ShowGivesLinesOfADocument) {
  const auto text = [&](const std::string& range) { return run(Show{"raven", range}).text; };
  EXPECT_EQ(text(""), kRaven);
  EXPECT_EQ(text("1"), "The raven sat\n");
  EXPECT_EQ(text("2-"), "above the Door.\n");
  EXPECT_EQ(text("1-2"), text(""));
  const Json json = run(Show{"raven", "2"}).json();
  EXPECT_EQ(json["first_line"], 2);
  EXPECT_EQ(json["id"], "raven");
  for (const char* range : {"0", "2-1", "x", "1-x", "1-2-3", "1-2-", "9", "-1"})
    EXPECT_THAT(message_of<UsageError>([&] { text(range); }), HasSubstr("range is")) << range;
  EXPECT_EQ(message_of<UsageError>([&] { text("3-"); }),
            "range is '3-', but 'raven' ends with line 2");
  EXPECT_THAT(message_of<store::UnknownDocument>([&] {
                run(Show{"ravem", ""});
              }),
              HasSubstr("did you mean 'raven'?"));
}

TEST_F(StoreJobs, StatMeasuresWhatItIsAsked) {
  EXPECT_FALSE(run(Stat{}).measured);
  EXPECT_FALSE(run(Stat{}).json().contains("measured_recall"));
  int64_t done = 0;
  const auto answer = run(Stat{.measure = 5}, [&](int64_t now, int64_t) { done = now; });
  EXPECT_EQ(answer.measured->positions, 5);
  EXPECT_EQ(done, 5);
  EXPECT_EQ(answer.json()["documents"], 2);
}

TEST_F(StoreJobs, VerifyComparesWithAMemoryMadeAnew) {
  EXPECT_EQ(run(Verify{}).json()["verified"], true);
  EXPECT_EQ(run(Verify{}).result.digest, run(Stat{}).statistics.digest);
}

TEST_F(StoreJobs, EditsSayWhatTheyDid) {
  MemoWriter writer(store());
  const std::string text = "A violin.";
  EXPECT_EQ((Memorize{"violin", text}.run(writer, kSilent).json()["outcome"]), "new");
  EXPECT_EQ((Memorize{"violin", text, true, {}}.run(writer, kSilent).json()["outcome"]),
            "unchanged");
  const Json replaced =
      Memorize{"violin", "Two violins.", true, {"by=me"}}.run(writer, kSilent).json();
  EXPECT_EQ(replaced["outcome"], "replaced");
  EXPECT_EQ(replaced["bytes"], 12);
  EXPECT_EQ(replaced["metadata"]["by"], "me");
  EXPECT_THROW((Memorize{"violin", text}.run(writer, kSilent)), UsageError);
  const Json forgotten = Forget{"violin"}.run(writer, kSilent).json();
  EXPECT_EQ(forgotten["deleted"], true);
  EXPECT_EQ(forgotten["tokens"], replaced["tokens"]);
  EXPECT_THROW(Forget{"violin"}.run(writer, kSilent), store::UnknownDocument);
}

TEST_F(StoreJobs, AnInterruptedJobEnds) {
  Recall recall;
  recall.prompt = "The raven ";
  EXPECT_THROW(run(recall, kLeave), Interrupted);
  EXPECT_THROW(run(Find{.text = "door"}, kLeave), Interrupted);
  EXPECT_THROW(run(Documents{}, kLeave), Interrupted);
  EXPECT_THROW(run(Show{"raven", ""}, kLeave), Interrupted);
  EXPECT_THROW(run(Stat{.measure = 5}, kLeave), Interrupted);
  EXPECT_THROW(run(Verify{}, kLeave), Interrupted);
}

/// What is forgotten before the signal comes is gone, so the history has to say so.
TEST_F(StoreJobs, AnInterruptedErasureIsInTheHistory) {
  History{.begin = true}.run(store(), kSilent);
  bool one_is_gone = false;
  const Erase::OnNews on_news = {[](const Erase::Answer&) {},
                                 [&](const Forget::Answer&) { one_is_gone = true; }};
  EXPECT_THROW((Erase{.ids = {"raven", "lamp"}}.run(store(), on_news,
                                                    [&](int64_t, int64_t) {
                                                      if (one_is_gone) throw Interrupted("enough");
                                                    })),
               Interrupted);
  const auto events = History().run(store(), kSilent).events;
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0]["bytes"], kRaven.size());
  EXPECT_EQ(events[0]["digest_after"], MemoStore(store()).digest());
}

TEST_F(StoreJobs, AnErasureSaysWhatEachPartOfItDoes) {
  std::vector<std::string> parts;
  const Erase::OnNews on_news{.begins = [&](std::string_view doing) { parts.emplace_back(doing); }};
  int64_t told = 0;
  const OnProgress in_a_part = [&](int64_t, int64_t) {
    ++told;
    EXPECT_FALSE(parts.empty());
  };
  certified().run(store(), on_news, in_a_part);
  EXPECT_GE(told, 4);
  EXPECT_THAT(parts,
              ElementsAre("Comparing documents", "Forgetting", "Verifying", "Scanning files"));
}

TEST(CertificatePage, WarnsOfAnErasureThatIsNotComplete) {
  store::Certificate certificate;
  certificate.digest_after = certificate.digest_without = "d";
  const config::Json json = {{"looked_for", "words"}};
  EXPECT_THAT(certificate_page(certificate, json), Not(HasSubstr("is not complete")));
  certificate.digest_without = "e";
  EXPECT_THAT(certificate_page(certificate, json),
              HasSubstr("<p class=\"conclusion warning\">The erasure is not complete"));
}

TEST_F(StoreJobs, ACertificateIsRefusedWhereTheSameTextStays) {
  store::memorize(store(), "twin", kRaven);
  Erase erase = certified();
  EXPECT_THAT(message_of<UsageError>([&] { erase.run(store(), kSilent); }),
              StartsWith("'twin' has the same text as 'raven' and would stay"));
  EXPECT_EQ(MemoStore(store()).ledger().totals().documents, 3);
  erase.ids.push_back("twin");
  EXPECT_TRUE(erase.run(store(), kSilent).certificate);
}

TEST_F(StoreJobs, NoCertificateIsWrittenWhereTheTextComesAgainMeanwhile) {
  const Erase erase = certified();
  const Erase::OnNews on_news{
      [&](const Erase::Answer&) { store::memorize(store(), "twin", kRaven); }};
  EXPECT_THAT(message_of<std::runtime_error>([&] { erase.run(store(), on_news, kSilent); }),
              AllOf(HasSubstr("the text of 'raven' meanwhile, as 'twin'"),
                    HasSubstr("forgotten, but no certificate was written")));
  EXPECT_FALSE(std::filesystem::exists(erase.certificate));
}

TEST_F(StoreJobs, NothingIsForgottenWhereAReaderIsInTheWayOfACertificate) {
  Erase erase = certified();
  erase.readers = store::Readers::kPass;
  {
    const MemoStore reader(store());
    EXPECT_THAT(message_of<std::runtime_error>([&] { erase.run(store(), kSilent); }),
                AllOf(HasSubstr("another process has the store open for reading"),
                      HasSubstr("nothing is forgotten and no certificate is written")));
    EXPECT_EQ(MemoStore(store()).ledger().totals().documents, 2);
  }
  EXPECT_TRUE(erase.run(store(), kSilent).certificate);
}

TEST_F(StoreJobs, ACertificateWaitsForReadersToEnd) {
  std::optional<MemoStore> reader(store());
  bool is_forgetting = false;
  const Erase::OnNews on_news{
      .begins = [&](std::string_view doing) { is_forgetting |= doing == Erase::kDoing; }};
  const auto answer = certified().run(store(), on_news, [&](int64_t, int64_t) {
    if (is_forgetting) reader.reset();
  });
  EXPECT_TRUE(answer.certificate);
}

TEST_F(StoreJobs, AnErasureThatIsDelayedBeforeItsCertificateSaysWhatIsForgotten) {
  Erase erase = certified();
  erase.readers = store::Readers::kPass;
  std::optional<MemoStore> reader;
  const Erase::OnNews on_news{.forgotten = [&](const Forget::Answer&) { reader.emplace(store()); }};
  EXPECT_THAT(message_of<store::ErasureDelayed>([&] { erase.run(store(), on_news, kSilent); }),
              AllOf(HasSubstr("stays in the file for now"),
                    HasSubstr("the documents are forgotten, but no certificate was written")));
  EXPECT_FALSE(std::filesystem::exists(certificate_));
}

TEST_F(StoreJobs, NoCertificateIsMadeOfWhatWasForgottenEarlier) {
  { MemoWriter(store()).forget("raven"); }
  Erase erase = certified();
  EXPECT_THAT(message_of<UsageError>([&] { erase.run(store(), kSilent); }),
              HasSubstr("no certificate can be made"));
  EXPECT_FALSE(std::filesystem::exists(certificate_));
  EXPECT_EQ(MemoStore(store()).ledger().unerased(), std::vector<std::string>{"raven"});
  erase.certificate.clear();
  EXPECT_EQ(erase.run(store(), kSilent).forgotten_earlier, std::vector<std::string>{"raven"});
  EXPECT_FALSE(MemoStore(store()).ledger().erasure_pending());
}

TEST_F(StoreJobs, AnErasureThatIsStoppedBeforeItsCertificateIsInTheHistory) {
  History{.begin = true}.run(store(), kSilent);
  const Erase erase = certified();
  bool forgotten = false;
  const Erase::OnNews on_news{[](const Erase::Answer&) {},
                              [&](const Forget::Answer&) { forgotten = true; }};
  EXPECT_THAT(message_of<Interrupted>([&] {
                erase.run(store(), on_news, [&](int64_t, int64_t) {
                  if (forgotten) throw Interrupted("gone");
                });
              }),
              HasSubstr("forgotten, but no certificate was written"));
  EXPECT_FALSE(std::filesystem::exists(certificate_));
  EXPECT_EQ(History{}.run(store(), kSilent).events.size(), 1u);
  EXPECT_EQ(MemoStore(store()).ledger().totals().documents, 1);
}

TEST_F(StoreJobs, AnErasureWhoseCertificateCannotBeWrittenSaysWhatIsForgotten) {
  const Erase erase = certified();
  const Erase::OnNews on_news{
      .forgotten = [&](const Forget::Answer&) { std::filesystem::create_directory(certificate_); }};
  EXPECT_THAT([&] { erase.run(store(), on_news, kSilent); },
              ::testing::Throws<SystemError>(::testing::AllOf(
                  ::testing::Property(&SystemError::code, EISDIR),
                  ::testing::Property(&SystemError::what,
                                      HasSubstr("cannot be replaced; name a file; the documents "
                                                "are forgotten, but ")))));
  EXPECT_EQ(MemoStore(store()).ledger().totals().documents, 1);
}

TEST_F(StoreJobs, AnErasureThatIsFinishedLaterIsInTheAnswer) {
  { MemoWriter(store()).forget("raven"); }
  const Erase erase{.ids = {"raven"}};
  EXPECT_EQ(erase.run(store(), kSilent).json()["data"],
            Json::array({{{"id", "raven"}, {"object", "document"}, {"deleted", true}}}));
  EXPECT_FALSE(MemoStore(store()).ledger().erasure_pending());
}

TEST_F(StoreJobs, AnAuditTellsItsProgressToTheEndOfEachText) {
  write_file(folder_ / "text", kLamp);
  std::vector<std::pair<int64_t, int64_t>> told;
  const auto audit = run(Audit{.files = {(folder_ / "text").native()}},
                         [&](int64_t done, int64_t of) { told.emplace_back(done, of); });
  ASSERT_FALSE(told.empty());
  const int64_t tokens = audit.texts.at(0).audit->tokens;
  EXPECT_EQ(told.back(), std::pair(tokens, tokens));
}

TEST_F(StoreJobs, AnAuditLooksAtEveryTextBeforeItAsksForTheFirst) {
  write_file(folder_ / "text", kLamp);
  write_file(folder_ / "bad", "caf\xE9");
  const std::string text = folder_ / "text", bad = folder_ / "bad";
  std::vector<std::pair<int64_t, int64_t>> told;
  const OnProgress on_progress = [&](int64_t done, int64_t of) { told.emplace_back(done, of); };
  EXPECT_THROW(run(Audit{.files = {text, bad}}, on_progress), DataError);
  EXPECT_THAT(told, ElementsAre(std::pair(0, 2), std::pair(1, 2)));
  told.clear();
  EXPECT_THROW(run(Audit{.files = {text}, .controls = bad}, on_progress), DataError);
  EXPECT_THAT(told, ElementsAre(std::pair(0, 1), std::pair(0, 1)));
}

TEST_F(StoreJobs, AnAuditLeavesOpenWhatIsTooShortToBeAskedFor) {
  write_file(folder_ / "texts" / "short", "a");
  write_file(folder_ / "texts" / "whole", kLamp);
  const auto texts = run(Audit{.files = {(folder_ / "texts").native()}}).json()["data"];
  EXPECT_TRUE(texts[0]["held"].is_null());
  EXPECT_EQ(texts[1]["document"], "lamp");
  EXPECT_FALSE(texts[1]["held"].is_null());
  const Audit audit = {.files = {(folder_ / "texts/whole").native()},
                       .controls = (folder_ / "texts/short").native()};
  EXPECT_THAT(message_of<UsageError>([&] { run(audit); }),
              HasSubstr("none of its texts is long enough"));
}

/// As one that an earlier version stored.
TEST_F(StoreJobs, AnAuditKnowsADocumentWhoseDigestTheStoreDoesNotKeep) {
  MemoWriter(store()).describe("lamp", {});
  write_file(folder_ / "text", kLamp);
  EXPECT_EQ(run(Audit{.files = {(folder_ / "text").native()}}).texts.at(0).document, "lamp");
}

TEST_F(StoreJobs, ACertificateHasTheSizeOfTheTextAsItWasMemorized) {
  const std::string text = "The raven sat above the door.";
  const Erase erase = certified();
  const auto certificate = erase.run(spacing_store(text), kSilent).certificate;
  ASSERT_TRUE(certificate);
  EXPECT_EQ(certificate->erased.at(0).bytes, std::ssize(text));
}

TEST_F(StoreJobs, AStoreThatIsThereIsNotPlanned) {
  write_file(folder_ / "text", store::document_text(3));
  const Create create{.plan_from = (folder_ / "text").native(), .error = 0.5};
  write_file(folder_ / "empty", "");
  bool planned = false;
  const OnProgress on_progress = [&](int64_t, int64_t) { planned = true; };
  for (const auto& taken : {store(), folder_ / "empty"})
    EXPECT_THAT(message_of<UsageError>([&] { create.run(taken, on_progress); }),
                HasSubstr("already exists"));
  EXPECT_THROW(create.run("/proc/store", on_progress), SystemError);  // where nobody may write
  EXPECT_FALSE(planned);
}

TEST_F(StoreJobs, NothingNewIsPutIntoAStore) {
  const auto expect_refused = [&](const auto& work) {
    EXPECT_THAT(message_of<UsageError>(work), HasSubstr("among the store's own files"));
  };
  const Create create{.dimension = 128};
  std::filesystem::create_directory_symlink(store(), folder_ / "link");
  for (const auto& inside : {store() / "inner", store() / "a" / "b/", folder_ / "link" / "inner"}) {
    expect_refused([&] { create.run(inside, kSilent); });
    expect_refused([&] { Merge{.stores = {store().native()}}.run(inside, kSilent); });
    expect_refused([&] { Export{.texts = inside.native()}.run(store(), kSilent); });
  }
  EXPECT_FALSE(std::filesystem::exists(store() / "a"));
  EXPECT_NO_THROW(create.run(store() / ".." / "beside", kSilent));
}

TEST_F(StoreJobs, AnExportThatIsInterruptedLeavesNothing) {
  const Export texts{.texts = folder_ / "out" / "texts"};
  EXPECT_THROW(texts.run(store(), kLeave), Interrupted);
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "out"));
  EXPECT_EQ(texts.run(store(), kSilent).documents, 2);
}

TEST_F(StoreJobs, APlanTellsHowFarItIsAndCanBeStopped) {
  write_file(folder_ / "text", store::document_text(3) + store::document_text(4));
  Create create{.plan_from = (folder_ / "text").native(), .tokenizer = "byte", .error = 0.5};
  EXPECT_THROW(create.run(folder_ / "planned", kLeave), Interrupted);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "planned"));
  std::vector<std::pair<int64_t, int64_t>> told;
  create.run(folder_ / "planned", [&](int64_t done, int64_t of) { told.emplace_back(done, of); });
  EXPECT_THAT(told, ElementsAre(std::pair(0, 7), std::pair(7, 7)));
}

TEST(Jobs, RefuseWhatTheirFieldsForbid) {
  const auto refusal = [](const Json& json) {
    return message_of<config::FieldError>([&] {
      Recall recall;
      config::from_json(json, recall, "");
    });
  };
  EXPECT_EQ(refusal(Json::object()), "prompt is missing");
  EXPECT_THAT(refusal({{"prompt", "a"}, {"tokens", -1}}), HasSubstr("from 0 on"));
  EXPECT_THAT(refusal({{"prompt", "a"}, {"error_rate", 1}}), HasSubstr("from 1e-300 to 0.999999"));
  EXPECT_THAT(refusal({{"prompt", "a"}, {"sources", 0}}), HasSubstr("from 1 to 1000"));
}

}  // namespace
}  // namespace tessera::jobs
