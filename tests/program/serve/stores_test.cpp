#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <latch>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>

#include "program/serve/api_error.h"
#include "tessera/base/config.h"
#include "tessera/store/digest.h"
#include "tessera/store/merge.h"
#include "tessera/store/question.h"
#include "tessera/store/recall.h"
#include "tessera/store/store_json.h"
#include "tests/program/serve/tiny_service.h"
#include "tests/store/small_stores.h"

namespace tessera::serve {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

const std::string kDocuments = "/v1/stores/books/documents";

class Stores : public ::testing::Test {
 protected:
  void SetUp() override {
    store::MemoStore::create(folder_ / "books", store::small_memory(), store::byte_tokenizer());
    store::memorize(folder_ / "books", "one", "The raven sat above the door.");
    tiny_.service.models.add_store("books", (folder_ / "books").native(), {});
  }
  Json get(const std::string& path) { return tiny_.json(tiny_.ask("GET", path)); }
  Json post(const std::string& path, const Json& body, int status = 200) {
    return tiny_.json(tiny_.post(path, body), status);
  }

  test::TemporaryFolder folder_;
  TinyService tiny_;
};

TEST_F(Stores, DocumentsComeAndGo) {
  EXPECT_EQ(get("/v1/stores")["data"][0]["documents"], 1);
  const Json listed = get(kDocuments);
  ASSERT_EQ(listed["data"].size(), 1u) << listed;
  EXPECT_EQ(listed["data"][0]["id"], "one");
  EXPECT_EQ(listed["data"][0]["tokens"], 30);  // with the end of text
  const std::string before = store::digest(folder_ / "books");

  const Json added = post(kDocuments, {{"id", "a/b c"}, {"text", "My lamp went out."}}, 201);
  EXPECT_EQ(added["outcome"], "new");
  EXPECT_EQ(added["tokens"], 18);
  EXPECT_EQ(get(kDocuments + "/a%2Fb%20c")["text"], "My lamp went out.");

  const Json again = {{"id", "one"}, {"text", "Another text."}};
  const Response taken = tiny_.post(kDocuments, again);
  EXPECT_EQ(taken.status, 409);
  EXPECT_EQ(Json::parse(taken.body)["error"]["code"], "document_exists");
  EXPECT_EQ(get(kDocuments + "/one")["text"], "The raven sat above the door.");
  EXPECT_EQ(post(kDocuments + "?replace=true", again, 201)["outcome"], "replaced");
  EXPECT_EQ(post(kDocuments + "?replace=true", again, 201)["outcome"], "unchanged");
  EXPECT_EQ(get(kDocuments + "/one")["text"], "Another text.");

  EXPECT_EQ(tiny_.json(tiny_.ask("DELETE", kDocuments + "/a%2Fb%20c"))["deleted"], true);
  EXPECT_EQ(tiny_.ask("DELETE", kDocuments + "/a%2Fb%20c").status, 404);
  const Response text = tiny_.ask("POST", kDocuments + "?replace=true", "The raven.", "text/plain");
  EXPECT_EQ(text.status, 400);  // without an id
  post(kDocuments, {{"id", "one"}, {"text", "The raven sat above the door."}, {"replace", true}},
       201);
  EXPECT_EQ(store::digest(folder_ / "books"), before);  // the very bits
}

TEST_F(Stores, WhatCannotBeStoredIsRefused) {
  EXPECT_EQ(tiny_.post(kDocuments, {{"id", "x"}, {"text", ""}}).status, 422);
  EXPECT_EQ(tiny_.post(kDocuments, {{"id", "x"}, {"text", std::string("a\0b", 3)}}).status, 422);
  const std::string like_a_file = (folder_ / "books" / "x").native();
  EXPECT_EQ(tiny_.post(kDocuments, {{"id", like_a_file}, {"text", ""}}).status, 422);
  EXPECT_EQ(tiny_.post(kDocuments, {{"id", ""}, {"text", "a"}}).status, 400);
  EXPECT_EQ(tiny_.post(kDocuments, {{"id", "x"}}).status, 400);
  EXPECT_EQ(tiny_.ask("POST", kDocuments, "<a>", "application/xml").status, 415);
  EXPECT_EQ(tiny_.ask("GET", "/v1/stores/other/documents").status, 404);
  EXPECT_EQ(tiny_.ask("GET", kDocuments + "/..%2F..%2Fetc%2Fpasswd").status, 404);
  const Response unknown = tiny_.ask("GET", kDocuments + "/ome");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_THAT(unknown.body, HasSubstr("did you mean 'one'?"));
}

TEST_F(Stores, RecitesAndNamesItsSources) {
  const Json recalled = post("/v1/stores/books/recall", {{"prompt", "The raven"}, {"tokens", 100}});
  EXPECT_EQ(recalled["text"], " sat above the door.") << recalled;
  EXPECT_EQ(recalled["finish"], "end_of_text");
  ASSERT_EQ(recalled["tokens"].size(), 20u);
  const Json& first = recalled["tokens"][0];
  EXPECT_EQ(first["text"], " ");
  EXPECT_EQ(first["sources"][0]["document"], "one");
  EXPECT_EQ(first["sources"][0]["position"], 9);
  EXPECT_GT(first["probability"], 0.99);
  EXPECT_EQ(first["sources"][0]["byte"], 9);
  EXPECT_EQ(first["sources"][0]["line"], 1);
  const store::MemoStore opened(folder_ / "books");
  const store::Question question = store::read_question(opened, "The raven");
  EXPECT_EQ(recalled, store::json_of(opened, "The raven", question,
                                     store::recall(opened, question.tokens, {.tokens = 100})));
  EXPECT_EQ(tiny_.post("/v1/stores/books/recall", {{"prompt", ""}}).status, 400);
}

TEST_F(Stores, IsAModelWhoseScoresAreItsDecoders) {
  const std::string text = "The raven sat";
  const Json reply = tiny_.complete({{"model", "books"},
                                     {"prompt", text},
                                     {"max_tokens", 1},
                                     {"temperature", 0},
                                     {"logprobs", 1},
                                     {"echo", true}});
  ASSERT_TRUE(reply.contains("choices")) << reply;
  const Json& logprobs = reply["choices"][0]["logprobs"];
  ASSERT_EQ(logprobs["tokens"].size(), text.size() + 1);
  const store::MemoStore opened(folder_ / "books");
  const store::StoreReader reader(opened);
  const TokenIds ids(text.begin(), text.end());
  for (size_t t = 1; t < text.size(); ++t) {
    const std::span<const int64_t> read = std::span(ids).first(t);
    EXPECT_NEAR(logprobs["token_logprobs"][t].get<double>(),
                reader.predict({&read, 1}).front().logits[ids[t]], 1e-6)
        << t;
  }
  EXPECT_EQ(logprobs["tokens"].back(), " ");

  const Json written = post("/v1/stores/books/complete",
                            {{"prompt", "The raven sat"}, {"max_tokens", 40}, {"temperature", 0}});
  EXPECT_EQ(written["choices"][0]["text"], " above the door.");
  EXPECT_EQ(written["choices"][0]["finish_reason"], "stop");
}

/// As `tessera memo complete` does.
TEST_F(Stores, CompletesAndAbstainsAsTheLibraryDoes) {
  store::memorize(folder_ / "books", "two", "The raven sat above the lamp, and the raven left.");
  std::this_thread::sleep_for(std::chrono::milliseconds(600));  // until the server sees it
  const store::MemoStore opened(folder_ / "books");
  std::set<Finish> seen;
  for (const char* prompt :
       {"The raven sat above the ", "THE  RAVEN SAT", "above the", "Quoth Lucy"})
    for (const uint64_t seed : {1, 2, 3}) {
      WritingOptions options;
      options.max_tokens = 8;
      options.stop = {"left"};
      options.sampling.temperature = 1.5;
      options.sampling.seed = seed;
      std::string text;
      const Finish finish = store::complete(opened, store::read_question(opened, prompt), options,
                                            [&](const Written& written) { text += written.text; });
      const Json reply = post("/v1/completions", {{"model", "books"},
                                                  {"prompt", prompt},
                                                  {"max_tokens", 8},
                                                  {"temperature", 1.5},
                                                  {"stop", "left"},
                                                  {"seed", seed}});
      const Json& choice = reply["choices"][0];
      EXPECT_EQ(choice["text"], text) << prompt << seed;
      EXPECT_EQ(choice["finish"], config::enum_name(finish)) << prompt << seed;
      EXPECT_EQ(choice["finish_reason"], finish == Finish::kMaxTokens ? "length" : "stop");
      seen.insert(finish);
    }
  EXPECT_THAT(seen, ::testing::IsSupersetOf({Finish::kMaxTokens, Finish::kNotStored}));
  const Response refused = tiny_.post("/v1/completions", {{"model", "books"}, {"prompt", "a"}});
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.body, HasSubstr("this store needs at least 2"));
}

TEST_F(Stores, FindsCountsAndVerifies) {
  const Json found = post("/v1/stores/books/find", {{"text", "sat"}});
  EXPECT_EQ(found["places"], 1);
  EXPECT_EQ(found["data"][0]["byte"], 10);
  EXPECT_EQ(found["data"][0]["before"], "The raven ");
  EXPECT_EQ(tiny_.post("/v1/stores/books/find", {{"text", ""}}).status, 400);
  const Json known = get("/v1/stores/books/stat?measure=10");
  EXPECT_EQ(known["documents"], 1);
  EXPECT_EQ(known["digest"], store::digest(folder_ / "books"));
  EXPECT_GT(known["load"], 0);
  EXPECT_EQ(known["measured_recall"]["positions"], 10);
  EXPECT_EQ(known["seed"], 0);
  EXPECT_EQ(tiny_.ask("GET", "/v1/stores/books/stat?measure=x").status, 400);
  EXPECT_EQ(post("/v1/stores/books/verify", Json::object())["digest"], known["digest"]);
}

TEST_F(Stores, TakesTheFieldsOfAJob) {
  post(kDocuments, {{"id", "two"}, {"text", "A lamp.\nA door.\n"}, {"meta", {"by=me"}}}, 201);
  EXPECT_EQ(get(kDocuments + "?meta=by%3Dme")["data"][0]["id"], "two");
  EXPECT_EQ(get(kDocuments + "?before=2020-01-01")["data"].size(), 0u);
  EXPECT_EQ(get(kDocuments + "/two?range=2")["text"], "A door.\n");
  EXPECT_EQ(get("/v1/stores/books/stat?measure=3&seed=1")["measured_recall"]["positions"], 3);
  const Json found = post("/v1/stores/books/search", {{"words", "lamps"}, {"limit", 1}});
  EXPECT_EQ(found["data"][0]["document"], "two");
  const Json all = post("/v1/stores/books/find", {{"text", "door"}, {"limit", nullptr}});
  EXPECT_EQ(all["data"].size(), 2u);
}

TEST_F(Stores, NamesTheFieldThatItRefuses) {
  const auto refused = [&](const Response& response) {
    EXPECT_EQ(response.status, 400);
    return Json::parse(response.body)["error"];
  };
  const auto find = [&](const Json& body) {
    return refused(tiny_.post("/v1/stores/books/find", body));
  };
  EXPECT_EQ(find({{"text", "a"}, {"limits", 3}})["message"],
            "unknown key 'limits'; did you mean 'limit'?");
  EXPECT_EQ(find({{"text", "a"}, {"limits", 3}})["param"], "limits");
  EXPECT_EQ(find({{"limit", 3}})["message"], "text is missing");
  EXPECT_EQ(find({{"text", "a"}, {"limit", 0}})["message"],
            "limit is 0, expected a whole number from 1 to 10000");
  EXPECT_EQ(find({{"text", 7}})["param"], "text");
  const auto stat = [&](const std::string& query) {
    return refused(tiny_.ask("GET", "/v1/stores/books/stat?" + query));
  };
  EXPECT_EQ(stat("measure=x")["message"],
            R"(measure is "x", expected a whole number from 0 to 100000)");
  EXPECT_EQ(stat("measure=[1]")["param"], "measure");
  EXPECT_EQ(stat("sead=1")["message"], "unknown key 'sead'; did you mean 'seed'?");
  EXPECT_EQ(stat("b=1&a=1&c=1")["param"], "a");  // one of them is enough
  EXPECT_EQ(tiny_.ask("GET", "/v1/stores/books/stat", "", "text/plain").status, 200);
  EXPECT_EQ(tiny_.ask("POST", "/v1/stores/books/search", "words", "text/plain").status, 415);
  const std::string search = R"({"words": "raven"})";
  for (const char* type : {"application/json; charset=utf-8", "Application/JSON"})
    EXPECT_EQ(tiny_.ask("POST", "/v1/stores/books/search", search, type).status, 200) << type;
  EXPECT_EQ(tiny_.ask("POST", kDocuments + "?id=text", "A text.", "Text/Plain").status, 201);
  EXPECT_EQ(refused(tiny_.ask("GET", kDocuments + "/one?range=0"))["message"],
            "range is '0', expected lines such as 12, 12-20 or 12-");
}

TEST_F(Stores, LongJobsTellHowFarTheyAre) {
  std::string text;
  for (int i = 0; i < 60; ++i) text += store::document_text(i);
  const auto events = tiny_.stream(kDocuments + "?stream=true", {{"id", "long"}, {"text", text}});
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.back()["outcome"], "new");
  for (size_t i = 0; i + 1 < events.size(); ++i) EXPECT_LE(events[i]["done"], events[i]["of"]);
  const Response taken = tiny_.post(kDocuments + "?stream=true", {{"id", "one"}, {"text", "x"}});
  RecordedEvents recorded;
  taken.events(recorded);
  EXPECT_THAT(recorded.events.front(), HasSubstr("document_exists"));
}

/// A client that leaves, maybe, with the first event, and what is sent to it from then on.
class LeavingClient : public EventStream {
 public:
  explicit LeavingClient(bool leaves) : leaves_(leaves) {}
  bool send(std::string_view data) override {
    last = data;
    return note();
  }
  bool send_comment() override { return note(); }

  std::string last;
  int in_vain = 0;

 private:
  bool note() {
    in_vain += has_left_;
    has_left_ = leaves_;
    return !has_left_;
  }

  bool leaves_, has_left_ = false;
};

/// A stream shows by itself whether anybody reads it: a client that sends nothing more may do so.
TEST_F(Stores, AStreamGoesOnAsLongAsItIsRead) {
  const Json questions = {{"prompts", std::vector<std::string>(300, "The raven sat")}};
  const auto answer = [&](EventStream& events) {
    const std::string path = "/v1/stores/books/ask?stream=true";
    tiny_.ask_and_leave("POST", path, questions.dump()).events(events);
  };
  LeavingClient reads(false), leaves(true);
  answer(reads);
  EXPECT_EQ(reads.last, "[DONE]");
  answer(leaves);
  EXPECT_EQ(leaves.in_vain, 0);
}

TEST_F(Stores, PromptsCountWithTheTokensThatMayAnswerThem) {
  tiny_.service.limits.tokens_per_request = 100;
  const std::string path = "/v1/stores/books/ask", prompt = "The raven sat";
  EXPECT_EQ(post(path, {{"prompts", {prompt, prompt}}})["data"].size(), 2u);  // of 50 tokens each
  const Response refused = tiny_.post(path, {{"prompts", {prompt, prompt, prompt}}});
  EXPECT_EQ(refused.status, 413);
  EXPECT_THAT(refused.body, HasSubstr("have 150 tokens, expected at most 100 in all"));
}

TEST_F(Stores, ARecitalStopsWhereItsAnswerMayBecomeTooLarge) {
  tiny_.service.limits.answer_bytes = 2500;  // four tokens with three sources each
  const std::string recall = "/v1/stores/books/recall", prompt = "The raven sat";
  EXPECT_EQ(post(recall, {{"prompt", prompt}, {"tokens", 4}})["tokens"].size(), 4u);
  EXPECT_THAT(tiny_.post(recall, {{"prompt", prompt}, {"tokens", 5}}).body,
              HasSubstr("the answer may have 0.0 MB, expected at most 0.0 (--max-answer); ask for "
                        "fewer prompts, tokens or sources"));
  EXPECT_EQ(tiny_.post(recall, {{"prompt", prompt}, {"tokens", 5}}).status, 413);
  EXPECT_EQ(tiny_.post(recall, {{"prompt", prompt}, {"tokens", 4}, {"sources", 4}}).status, 413);
  EXPECT_EQ(tiny_.post(recall, {{"prompt", "Quoth Lucy"}, {"tokens", 50}}).status, 200)
      << "what is not recited does not count";
  const Json twice = {{"prompts", {prompt, prompt}}, {"tokens", 3}};
  EXPECT_EQ(tiny_.post("/v1/stores/books/ask", twice).status, 413) << "all answers together";
  RecordedEvents recorded;
  tiny_.post("/v1/stores/books/ask?stream=true", twice).events(recorded);
  EXPECT_THAT(recorded.events.back(), HasSubstr("--max-answer"));
  post(kDocuments, {{"id", std::string(1000, 'l')}, {"text", "A long name."}}, 201);
  EXPECT_EQ(tiny_.post(recall, {{"prompt", prompt}, {"tokens", 4}}).status, 413)
      << "ids count with their length";
  EXPECT_EQ(post(recall, {{"prompt", prompt}, {"tokens", 1}, {"sources", 1}})["tokens"].size(), 1u);
}

/// Counts how often files of a folder are replaced.
class Replacements {
 public:
  explicit Replacements(const std::filesystem::path& folder)
      : events_(::inotify_init1(IN_NONBLOCK)) {
    if (::inotify_add_watch(events_, folder.c_str(), IN_MOVED_TO) < 0)
      throw std::runtime_error("the folder cannot be watched");
  }
  ~Replacements() { ::close(events_); }
  Replacements(const Replacements&) = delete;
  Replacements& operator=(const Replacements&) = delete;

  /// Of the file of this name, since the last call.
  int64_t of(const std::string& name) {
    alignas(inotify_event) std::array<char, 16384> buffer;
    int64_t count = 0;
    for (ssize_t bytes; (bytes = ::read(events_, buffer.data(), buffer.size())) > 0;)
      for (ssize_t at = 0; at < bytes;) {
        const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + at);
        count += event->name == name;
        at += static_cast<ssize_t>(sizeof *event) + event->len;
      }
    return count;
  }

 private:
  int events_;
};

/// An edit that has begun, and goes on once it is released.
class BusyEdit {
 public:
  explicit BusyEdit(ServedStore& store)
      : done_(std::async(std::launch::async, [this, &store] {
          store.edit(jobs::Memorize{"busy", store::document_text(100)}, [this](int64_t, int64_t) {
            if (std::exchange(told_, true)) return;
            begun_.set_value();
            released_.get_future().wait();
          });
        })) {
    begun_.get_future().wait();
  }
  void release() {
    released_.set_value();
    done_.get();
  }

 private:
  std::promise<void> begun_, released_;
  bool told_ = false;
  std::future<void> done_;
};

TEST_F(Stores, EditsThatWaitTogetherWriteTheMatrixOnce) {
  ServedStore& store = *tiny_.service.models.store("books");
  Replacements replacements(folder_ / "books");
  BusyEdit busy(store);
  std::array<std::thread, 8> others;
  std::latch all_wait(others.size());
  std::atomic<int> refused = 0;
  for (size_t i = 0; i < others.size(); ++i)
    others[i] = std::thread([&, i] {
      const std::string id = i == 3 ? "one" : std::to_string(i);
      const Unwanted while_it_waits = [&, told = false]() mutable {
        if (!std::exchange(told, true)) all_wait.count_down();
        return false;
      };
      try {
        store.edit(jobs::Memorize{id, store::document_text(static_cast<int>(i))}, {},
                   while_it_waits);
      } catch (const ApiError& error) {
        EXPECT_EQ(error.status(), 409);
        ++refused;
      }
    });
  all_wait.wait();
  EXPECT_EQ(post("/v1/stores/books/recall", {{"prompt", "The raven"}})["text"],
            " sat above the door.");  // while an edit is busy
  busy.release();
  for (auto& other : others) other.join();
  EXPECT_EQ(refused, 1);
  EXPECT_EQ(get(kDocuments)["data"].size(), 2 + others.size() - 1);
  EXPECT_LE(replacements.of("memory.safetensors"), 4);
  EXPECT_EQ(post("/v1/stores/books/verify", Json::object())["verified"], true);
}

TEST_F(Stores, AnEditWhoseClientHasLeftNeverBegins) {
  ServedStore& store = *tiny_.service.models.store("books");
  const Json document = {{"id", "left"}, {"text", "My lamp went out."}};
  BusyEdit busy(store);
  EXPECT_EQ(tiny_.ask_and_leave("POST", kDocuments, document.dump()).status, 503);
  EXPECT_EQ(tiny_.ask_and_leave("DELETE", kDocuments + "/one").status, 503);
  busy.release();
  EXPECT_EQ(tiny_.ask("GET", kDocuments + "/left").status, 404);
  EXPECT_EQ(tiny_.ask("GET", kDocuments + "/one").status, 200);
}

/// One that counted on another to write the matrix for both writes it itself.
TEST_F(Stores, AnEditIsDoneAlsoWhereTheNextOneLeaves) {
  ServedStore& store = *tiny_.service.models.store("books");
  BusyEdit busy(store);
  std::array<std::atomic<bool>, 2> waits = {}, left = {};
  std::promise<size_t> begun;
  std::promise<void> gate;
  const std::shared_future<void> released = gate.get_future().share();
  std::array<std::future<void>, 2> edits;
  for (size_t i = 0; i < edits.size(); ++i)
    edits[i] = std::async(std::launch::async, [&, i, told = false]() mutable {
      const auto hesitate = [&](int64_t, int64_t) {
        if (std::exchange(told, true)) return;
        begun.set_value(i);
        released.wait();
      };
      store.edit(jobs::Memorize{std::to_string(i), store::document_text(static_cast<int>(i))},
                 hesitate, [&, i] {
                   waits[i] = true;
                   return left[i].load();
                 });
    });
  while (!waits[0] || !waits[1]) std::this_thread::yield();
  busy.release();
  const size_t first = begun.get_future().get(), second = 1 - first;
  left[second] = true;
  EXPECT_THROW(edits[second].get(), ApiError);
  gate.set_value();
  edits[first].get();
  EXPECT_EQ(get(kDocuments)["data"].size(), 3u);
  EXPECT_EQ(post("/v1/stores/books/verify", Json::object())["verified"], true);
}

/// The server's own reader is not in the way.
TEST_F(Stores, AnEditFirstErasesWhatAnotherProcessLeft) {
  const auto folder = folder_ / "books";
  ServedStore& store = *tiny_.service.models.store("books");
  store.read([](const ServedStore::Snapshot&) {});
  store::MemoWriter(folder).forget("one");  // and no checkpoint
  bool erased = false;
  store.edit(jobs::Memorize{"two", store::document_text(2)}, [&](int64_t, int64_t) {
    erased = !store::MemoStore(folder).ledger().erasure_pending();
  });
  EXPECT_TRUE(erased);
}

TEST_F(Stores, WhatIsForgottenIsInTheHistory) {
  const auto history = folder_ / "books" / store::StoreFolder::kHistoryFile;
  store::overwrite(history, "");
  EXPECT_EQ(tiny_.ask("DELETE", kDocuments + "/one").status, 200);
  EXPECT_THAT(read_file(history), HasSubstr(store::text_digest("The raven sat above the door.")));
}

TEST_F(Stores, RecallsGoOnBesideALongReaderAndEditsWaitForIt) {
  ServedStore& store = *tiny_.service.models.store("books");
  std::promise<void> begun, released;
  std::thread reader([&] {
    store.read([&](const ServedStore::Snapshot& snapshot) {
      begun.set_value();
      released.get_future().wait();
      EXPECT_EQ(snapshot.store.ledger().documents().size(), 1u);
    });
  });
  begun.get_future().wait();
  auto edit = std::async(std::launch::async, [&] { store.edit(jobs::Forget{"one"}, {}); });
  // Answered at once, from before or from after the edit, whichever came first.
  const Json answer = post("/v1/stores/books/recall", {{"prompt", "The raven"}});
  EXPECT_THAT(answer["text"].get<std::string>(), AnyOf(" sat above the door.", ""));
  EXPECT_EQ(edit.wait_for(std::chrono::milliseconds(200)), std::future_status::timeout);
  released.set_value();
  reader.join();
  edit.get();
  EXPECT_EQ(get(kDocuments)["data"].size(), 0u);
}

TEST_F(Stores, AReaderThatTakesLongBeginsAgainWhereTextIsErased) {
  const auto store = tiny_.service.models.store("books");
  std::vector<size_t> seen;  // documents, by each attempt
  std::promise<void> begun;
  std::thread reader([&] {
    store->read([&](const ServedStore::Snapshot& snapshot) {
      seen.push_back(snapshot.store.ledger().documents().size());
      if (seen.size() > 1) return;
      begun.set_value();
      for (;;) snapshot.look_up();
    });
  });
  begun.get_future().wait();
  store->edit(jobs::Forget{"one"}, {});
  reader.join();
  EXPECT_THAT(seen, ::testing::ElementsAre(1, 0));
}

TEST_F(Stores, AReaderWhomNobodyWantsGivesUp) {
  const auto store = tiny_.service.models.store("books");
  for (const bool reads_documents : {true, false}) {
    const auto read = [&](const ServedStore::Snapshot& snapshot) {
      for (;;)
        if (reads_documents)
          snapshot.store.ledger().token_counts();
        else
          snapshot.look_up();
    };
    try {
      store->read(read, [] { return true; });
      ADD_FAILURE() << "it went on";
    } catch (const ApiError& error) {
      EXPECT_EQ(error.status(), 503);
    }
  }
  EXPECT_EQ(get(kDocuments)["data"].size(), 1u);  // its snapshot serves the next one
}

TEST_F(Stores, AReaderWhomNobodyWantsDoesNotWaitForAnErasure) {
  ServedStore& store = *tiny_.service.models.store("books");
  std::array<std::promise<void>, 2> begun, released;
  const auto read_until_released = [&](size_t reader) {
    auto read = std::async(std::launch::async, [&, reader] {
      store.read([&, reader](const ServedStore::Snapshot&) {
        begun[reader].set_value();
        released[reader].get_future().wait();
      });
    });
    begun[reader].get_future().wait();
    return read;
  };
  auto before = read_until_released(0);
  auto edit = std::async(std::launch::async, [&] { store.edit(jobs::Forget{"one"}, {}); });
  EXPECT_EQ(edit.wait_for(std::chrono::milliseconds(500)), std::future_status::timeout);
  auto beside = read_until_released(1);
  released[0].set_value();
  before.get();  // from now on nobody may begin
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  auto unwanted = std::async(std::launch::async, [&] {
    while (std::chrono::steady_clock::now() < end)
      store.read([](const ServedStore::Snapshot&) {}, [] { return true; });
  });
  EXPECT_EQ(unwanted.wait_until(end), std::future_status::ready);
  released[1].set_value();
  beside.get();
  edit.get();
  EXPECT_THROW(unwanted.get(), ApiError);
}

TEST_F(Stores, ARebuiltStoreIsOpenedAgain) {
  const auto before = tiny_.service.models.find("books");
  const std::string text = "The raven sat above the door, and the raven sat above the door.";
  post(kDocuments, {{"id", "one"}, {"text", text}, {"replace", true}}, 201);
  store::rebuild_store(folder_ / "books", store::tokenizer_of_documents(folder_ / "books", 280));
  EXPECT_EQ(get(kDocuments)["data"][0]["id"], "one");
  EXPECT_EQ(get(kDocuments + "/one")["text"], text);
  const auto after = tiny_.service.models.find("books");
  EXPECT_GT(after->engine->vocabulary(), before->engine->vocabulary());
  const auto completed = [&](const ServedModels::Model& model) {
    return post("/v1/completions", {{"model", model->name}, {"prompt", "The raven"}});
  };
  EXPECT_TRUE(completed(after).contains("choices"));
  // Whoever still has the old one gets nothing from it: what is forgotten now is not in it.
  EXPECT_THROW(before->store->read([](const ServedStore::Snapshot&) {}), ApiError);
  EXPECT_EQ(tiny_.json(tiny_.ask("DELETE", kDocuments + "/one"))["deleted"], true);
}

TEST_F(Stores, AStoreThatCannotBeReadEndsItsTextsAndNotTheServer) {
  std::filesystem::rename(folder_ / "books", folder_ / "away");
  for (int i = 0; i < 2; ++i) {
    const Response failed = tiny_.post("/v1/completions", {{"model", "books"}, {"prompt", "The"}});
    EXPECT_GE(failed.status, 500) << failed.body;
    EXPECT_THAT(failed.body, ::testing::Not(HasSubstr(folder_.path().native())));
  }
  EXPECT_EQ(tiny_.post("/v1/completions", {{"prompt", "The"}}).status, 200);  // of a model
  // Nor does it take those away that were named after it.
  store::MemoStore::create(folder_ / "notes", store::small_memory(), store::byte_tokenizer());
  tiny_.service.models.add_store("notes", (folder_ / "notes").native(), {});
  EXPECT_EQ(get("/v1/stores/notes/documents")["data"].size(), 0u);
  const Json stores = get("/v1/stores")["data"];
  ASSERT_EQ(stores.size(), 2u);
  EXPECT_FALSE(stores[0].contains("documents")) << "which cannot be read";
  EXPECT_EQ(stores[1]["documents"], 0);
  EXPECT_EQ(get("/v1/models/notes")["kind"], "store");
  EXPECT_EQ(get("/v1/models")["data"].size(), 4u);
  EXPECT_EQ(tiny_.ask("GET", "/metrics").status, 200);
  EXPECT_THAT(tiny_.ask("GET", "/v1/models/none").body, HasSubstr("mosaic, gpt, books, notes"));
  std::filesystem::rename(folder_ / "away", folder_ / "books");
  EXPECT_EQ(tiny_.post("/v1/completions", {{"model", "books"}, {"prompt", "The raven"}}).status,
            200);
}

TEST_F(Stores, DamageIsNotTheFaultOfTheText) {
  const auto matrix = folder_ / "books" / "memory.safetensors";
  const std::string whole = read_file(matrix);
  std::filesystem::remove(matrix);
  std::ofstream(matrix) << whole.substr(0, whole.size() - 100);
  const Response failed = tiny_.post(kDocuments, {{"id", "two"}, {"text", "My lamp went out."}});
  EXPECT_EQ(failed.status, 500) << failed.body;
  EXPECT_THAT(failed.body, ::testing::Not(HasSubstr(folder_.path().native())));
}

TEST_F(Stores, SeesWhatOtherProcessesChange) {
  EXPECT_EQ(get(kDocuments)["data"].size(), 1u);
  std::thread([&] {
    store::MemoWriter writer(folder_ / "books");  // as `tessera memo memorize` beside the server
    writer.memorize("two", "My lamp went out at nine.", store::Duplicates::kRefuse);
    const Response refused = tiny_.post(kDocuments, {{"id", "x"}, {"text", "y"}});
    EXPECT_EQ(refused.status, 503);
    EXPECT_THAT(refused.body, ::testing::Not(HasSubstr(folder_.path().native())));
  }).join();
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  EXPECT_EQ(get(kDocuments)["data"].size(), 2u);
  EXPECT_EQ(post("/v1/stores/books/recall", {{"prompt", "My lamp w"}})["text"], "ent out at nine.");
}

}  // namespace
}  // namespace tessera::serve
