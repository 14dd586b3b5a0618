// tessera memo, as a user drives it.

#include <signal.h>

#include "tests/program/cli/memo_workplace.h"

namespace tessera::cli {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class Memo : public MemoWorkplace {};

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
  const std::string forgotten = done({"forget", store, "raven", "--json"});
  const size_t line = forgotten.find('\n') + 1;
  const auto document = config::Json::parse(forgotten.substr(0, line));
  EXPECT_EQ(document["deleted"], true);
  const auto list = config::Json::parse(forgotten.substr(line));
  EXPECT_EQ(list["data"], config::Json::array({document}));
  EXPECT_EQ(list["shared"], config::Json::array());
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
  EXPECT_EQ(std::count(first.begin(), first.end(), '\n'), 4);
  EXPECT_EQ(std::count(second.begin(), second.end(), '\n'), 3);
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
  // Whatever order a shell lists them in.
  const std::string up = create("up"), down = create("down"), a = path("poems/1"),
                    b = path("poems/2"), c = path("poems/3");
  done({"memorize", up, a, b, c, "--shard", "0/2"});
  done({"memorize", down, c, b, a, "--shard", "1/2"});
  EXPECT_THAT(done({"merge", path("three"), up, down}), HasSubstr("3 documents of 2 stores"));
  write_text(path("poems/0"), kRaven);
  done({"update", one, path("poems/0")});
  expect_refused(memo({"merge", path("more"), whole, one}), 2, "of different texts");
  expect_refused(memo({"merge", path("more"), whole, create("seed", {"--seed", "1"})}), 2,
                 "only stores of equal configuration can be merged");
}

TEST_F(Memo, ADocumentStaysInItsShardWhenOthersCome) {
  const std::string one = create("one"), two = create("two");
  const auto memorize_parts = [&] {
    done({"memorize", one, path("poems"), "--shard", "1/2", "--replace"});
    done({"memorize", two, path("poems"), "--shard", "2/2", "--replace"});
  };
  for (int number = 1; number < 5; ++number)
    write_text(path("poems/" + std::to_string(number)), small_text(3 + number));
  memorize_parts();
  write_text(path("poems/0"), small_text(3));  // before all others
  write_text(path("poems/1"), kRaven);
  write_text(path("poems/2"), kLamb);
  memorize_parts();
  EXPECT_THAT(done({"merge", path("merged"), one, two}), HasSubstr("7 documents of 2 stores"));
  const std::string whole = create("whole");
  done({"memorize", whole, path("poems")});
  EXPECT_EQ(digest(path("merged")), digest(whole));
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
  for (const Arguments& command : {Arguments{"merge", path("merged"), store},
                                   Arguments{"rebuild", store, "--tokenizer", "byte", "--json"}})
    EXPECT_THAT(memo(command).err, HasSubstr("warning: the store holds about")) << command[0];
  EXPECT_THAT(memo({"merge", path("roomy"), path("store")}).err, Not(HasSubstr("warning")));

  const std::string shared = path("shared");
  done({"create", shared, "--dimension", "256"});
  for (const std::string name : {"a", "b", "c"}) write_text(path("poems/" + name), small_text(400));
  EXPECT_THAT(memo({"memorize", shared, path("poems")}).err,
              HasSubstr("warning: passages that several documents share count several times"));
  EXPECT_THAT(memo({"update", shared, path("poems")}).err, Not(HasSubstr("warning")));
}

TEST_F(Memo, PlansItsSizeFromASample) {
  const std::string out =
      done({"create", path("store"), "--plan-from", path("text.txt"), "--error", "0.3"});
  EXPECT_THAT(out, HasSubstr("recalls it with a predicted error of"));
  EXPECT_THAT(out, HasSubstr("byte-level BPE"));
  EXPECT_THAT(done({"create", path("poet"), "--plan-from", path("poems"), "--error", "0.3"}),
              HasSubstr("pairs of a window"));
  expect_refused(
      memo({"create", path("other"), "--plan-from", path("text.txt"), "--error", "0.00001"}), 2,
      "no dimension recalls");
  EXPECT_FALSE(std::filesystem::exists(path("other")));
}

TEST_F(Memo, ExportsTheMatrix) {
  const std::string store = create();
  done({"memorize", store, path("poems")});
  EXPECT_EQ(done({"export", store, "--out", path("m.safetensors")}),
            path("m.safetensors") + ": 1.0 MB\n");
  EXPECT_THAT(read_file(path("m.safetensors")).substr(0, 4000), HasSubstr(digest(store)));
  EXPECT_THAT(read_file(path("m.safetensors")), Not(HasSubstr("midnight")));
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
       {{"create", path("x"), "--dimension", "65536", "--matrices", "4096"},
        "4096 matrices of dimension 65536 would take 70368.7 GB of memory"},
       {{"create", path("x"), "--error", "0.1"}, "--error needs --plan-from"},
       {{"create", path("x"), "--plan-from", path("text.txt")}, "--plan-from needs --error"},
       {{"create", path("x"), "--dimension", "64", "--plan-from", path("text.txt"), "--error",
         "0.1"},
        "either a text to plan from or a dimension"},
       {{"create", path("x"), "--tokenizer", "bpe"},
        "learned from the text that a store is planned for"},
       {{"create", path("x"), "--tokenizer", "bytes"},
        "tokenizer is 'bytes', expected bpe, byte, or the path of a tokenizer; did you mean "
        "'byte'?"},
       {{"rebuild", store, "--tokenizer", "bep"}, "did you mean 'bpe'?"},
       {{"memorize", store, "-"}, "give it one with --id"},
       {{"memorize", store, path("poems/raven"), "--id", ""}, "the id of a document is empty"},
       {{"memorize", store, path("poems/raven"), "--id", "a\nb"}, "'a\\x0ab', is not UTF-8"},
       {{"forget", store, "a\nb"}, "there is no document 'a\\x0ab'"},
       {{"memorize", store, path("poems"), "--id", "x"},
        "--id names one document, but there are 2"},
       {{"memorize", store, path("poems/raven"), path("twice/raven/raven")},
        "would both be 'raven'"},
       {{"memorize", store, path("poems/raven"), path("poems/raven")}, "raven is named twice"},
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
       {{"find", store, ""}, "text is '', expected a text that is not empty"},
       {{"forget", store, "raven"}, "there is no document 'raven'"}},
      2);
  EXPECT_FALSE(std::filesystem::exists(path("x")));
  expect_refusals({{{"memorize", store, path("none.txt")}, "none.txt: cannot open"},
                   {{"rebuild", store, "--tokenizer", path("none.json")}, "cannot open"}},
                  1);
  expect_refusals({{{"stat", path("none")}, "none: is not a memo store"},
                   {{"memorize", path("poems"), path("text.txt")}, "poems: is not a memo store"}},
                  3);
}

TEST_F(Memo, NamesDamage) {
  const std::string store = create();
  done({"memorize", store, path("poems")});
  const std::string before = digest(store), matrix = store + "/memory.safetensors";
  const std::string whole = read_file(matrix);
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
  write_text(store + "/tokenizer.json", read_file(store + "/tokenizer.json").substr(0, 20));
  expect_refused(memo({"verify", store}), 3, "tokenizer.json");
}

/// One program writes for a while; another may read, but not write, and Ctrl-C keeps what is done.
TEST_F(Memo, WritersTakeTurnsReadersDoNot) {
  for (int number = 0; number < 1000; ++number)
    write_text(path("poems/" + std::to_string(1000 + number)), small_text(60));
  const std::string store = create();
  Process writer = start({"memo", "memorize", store, path("poems")});
  writer.wait_until([&] { return !writer.output().empty(); });
  writer.send(SIGSTOP);  // so that it cannot end meanwhile
  EXPECT_GE(json({"documents", store})["data"].size(), 1u);
  EXPECT_THAT(done({"verify", store}), HasSubstr("verified"));
  expect_refused(memo({"forget", store, "1000"}), 1, "another process is writing to this store");
  for (const int signal_number : {SIGINT, SIGCONT}) writer.send(signal_number);
  const Outcome stopped = writer.wait();
  EXPECT_EQ(stopped.status, 130) << stopped.err;
  EXPECT_THAT(stopped.err, HasSubstr("are memorized and kept; continue with the same command and "
                                     "--replace"));
  const size_t kept = std::count(stopped.out.begin(), stopped.out.end(), '\n');
  EXPECT_EQ(json({"documents", store})["data"].size(), kept);
  EXPECT_THAT(done({"verify", store}), HasSubstr("verified"));

  Process update = start({"memo", "update", store, path("poems")});
  update.wait_until([&] { return !update.output().empty(); });
  update.send(SIGINT);
  EXPECT_THAT(update.wait().err, EndsWith("continue with the same command\n"));
}

}  // namespace
}  // namespace tessera::cli
