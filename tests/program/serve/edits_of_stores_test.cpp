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
#include <stdexcept>
#include <thread>
#include <utility>

#include "program/serve/api_error.h"
#include "tessera/store/digest.h"
#include "tessera/store/merge.h"
#include "tessera/store/recall.h"
#include "tests/program/serve/one_store.h"

namespace tessera::serve {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

class EditsOfStores : public OneStore {};

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

TEST_F(EditsOfStores, EditsThatWaitTogetherWriteTheMatrixOnce) {
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

TEST_F(EditsOfStores, AnEditWhoseClientHasLeftNeverBegins) {
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
TEST_F(EditsOfStores, AnEditIsDoneAlsoWhereTheNextOneLeaves) {
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
TEST_F(EditsOfStores, AnEditFirstErasesWhatAnotherProcessLeft) {
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

/// The next edit erases it, once the reader has ended; those before do not wait for that.
TEST_F(EditsOfStores, WhatAnotherProcessStillReadsIsForgottenAndErasedLater) {
  {
    const store::MemoStore other(folder_ / "books");
    const Json forgotten = tiny_.json(tiny_.ask("DELETE", kDocuments + "/one"));
    EXPECT_EQ(forgotten["deleted"], true);
    EXPECT_EQ(forgotten["erasure_pending"], true);
    EXPECT_EQ(other.ledger().documents().size(), 1u);
    const Json documents = get(kDocuments);
    EXPECT_TRUE(documents["data"].empty());
    EXPECT_EQ(documents["unerased"], Json::array({"one"}));
    const auto put_two = [&](const char* text) {
      return post(kDocuments, {{"id", "two"}, {"text", text}, {"replace", true}}, 201);
    };
    EXPECT_FALSE(put_two("My lamp is lit.").contains("erasure_pending"));
    EXPECT_EQ(put_two("My lamp went out.")["erasure_pending"], true) << "of the text before";
    EXPECT_EQ(get(kDocuments)["unerased"], Json::array({"one", "two"}));
  }
  post(kDocuments, {{"id", "three"}, {"text", "The violin is silent."}}, 201);
  EXPECT_EQ(get(kDocuments)["erasure_pending"], false);
  EXPECT_FALSE(tiny_.json(tiny_.ask("DELETE", kDocuments + "/two")).contains("erasure_pending"));
}

TEST_F(EditsOfStores, WhatIsForgottenIsInTheHistory) {
  const auto history = folder_ / "books" / store::StoreFolder::kHistoryFile;
  store::overwrite(history, "");
  EXPECT_EQ(tiny_.ask("DELETE", kDocuments + "/one").status, 200);
  EXPECT_THAT(read_file(history), HasSubstr(store::text_digest("The raven sat above the door.")));
}

TEST_F(EditsOfStores, RecallsGoOnBesideALongReaderAndEditsWaitForIt) {
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

TEST_F(EditsOfStores, AReaderThatTakesLongBeginsAgainWhereTextIsErased) {
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

TEST_F(EditsOfStores, AReaderWhomNobodyWantsGivesUp) {
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

TEST_F(EditsOfStores, AReaderWhomNobodyWantsDoesNotWaitForAnErasure) {
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
  store.read([begins_again = false](const ServedStore::Snapshot& snapshot) mutable {
    if (std::exchange(begins_again, true)) return;
    for (;;) snapshot.look_up();  // until the edit waits for those who read
  });
  auto beside = read_until_released(1);
  released[0].set_value();
  before.get();  // from now on nobody may begin
  auto unwanted = std::async(std::launch::async, [&] {
    for (;;) store.read([](const ServedStore::Snapshot&) {}, [] { return true; });
  });
  EXPECT_EQ(unwanted.wait_for(std::chrono::minutes(1)), std::future_status::ready);
  released[1].set_value();
  beside.get();
  edit.get();
  EXPECT_THROW(unwanted.get(), ApiError);
}

TEST_F(EditsOfStores, ARebuiltStoreIsOpenedAgain) {
  const auto before = tiny_.service.models.find("books");
  const std::string text = "The raven sat above the door, and the raven sat above the door.";
  post(kDocuments, {{"id", "one"}, {"text", text}, {"replace", true}}, 201);
  const std::filesystem::path books = folder_ / "books";
  store::rebuild_store(books, [&] { return store::tokenizer_of_documents(books, 280); });
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

TEST_F(EditsOfStores, AStoreThatCannotBeReadEndsItsTextsAndNotTheServer) {
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

TEST_F(EditsOfStores, DamageIsNotTheFaultOfTheText) {
  const auto matrix = folder_ / "books" / "memory.safetensors";
  const std::string whole = read_file(matrix);
  std::filesystem::remove(matrix);
  std::ofstream(matrix) << whole.substr(0, whole.size() - 100);
  const Response failed = tiny_.post(kDocuments, {{"id", "two"}, {"text", "My lamp went out."}});
  EXPECT_EQ(failed.status, 500) << failed.body;
  EXPECT_THAT(failed.body, ::testing::Not(HasSubstr(folder_.path().native())));
}

TEST_F(EditsOfStores, SeesWhatOtherProcessesChange) {
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
