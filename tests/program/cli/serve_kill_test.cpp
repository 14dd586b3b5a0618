// kill -9 of a server at many moments of an edit: its store is as before the edit or after it.

#include <chrono>
#include <thread>

#include "tessera/base/random.h"
#include "tests/program/cli/memo_workplace.h"
#include "tests/program/cli/served_process.h"
#include "tests/support/nightly.h"

namespace tessera::cli {
namespace {

using Documents = std::map<std::string, std::string>;  // texts by id
using std::chrono::microseconds;

const int kEdits = test::nightly() ? 96 : 12;  // each of which is killed, or comes before the kill

/// A request that changes the store, and what the store then holds.
struct Edit {
  std::string request;
  Documents after;
};

class ServeKills : public ::testing::Test {
 protected:
  ServeKills() { done({"memo", "create", store(), "--dimension", "128"}); }

  std::string store() const { return (folder_ / "store").native(); }

  Documents held() const {
    Documents documents;
    for (const auto& document : verified_documents(store())) {
      const std::string id = document["id"];
      documents[id] = done({"memo", "show", store(), id});
    }
    return documents;
  }

  static std::string text_of(RandomStream& random) {
    std::string text;
    for (int i = 0; i < 200; ++i) text += "word" + std::to_string(random.below(1000)) + " ";
    return text + "\n";
  }

  /// A document comes, is replaced, or goes.
  static Edit next_edit(const Documents& now, RandomStream& random) {
    const std::string id = "d" + std::to_string(random.below(4));
    Edit edit = {"", now};
    if (now.contains(id) && random.below(2) == 0) {
      edit.after.erase(id);
      edit.request = serve::asking("DELETE", "/v1/stores/s/documents/" + id);
      return edit;
    }
    const std::string text = edit.after[id] = text_of(random);
    edit.request =
        serve::asking("POST", "/v1/stores/s/documents",
                      config::Json({{"id", id}, {"text", text}, {"replace", true}}).dump());
    return edit;
  }

  test::TemporaryFolder folder_{test::folder_in_memory()};
};

TEST_F(ServeKills, LeaveTheStoreBeforeOrAfterTheEdit) {
  RandomStream random(1);
  Documents now;
  microseconds longest(20000);  // that an edit takes here, about
  for (int i = 0; i < kEdits && !HasFailure(); ++i) {
    ServedProcess server(store(), {});
    serve::RawClient client(server.port());
    const Edit edit = next_edit(now, random);
    const auto started = std::chrono::steady_clock::now();
    client.send(edit.request);
    serve::Answer answer;
    if (i % 10 == 0) {
      answer = client.answer();
      longest =
          std::chrono::duration_cast<microseconds>(std::chrono::steady_clock::now() - started);
    } else {
      std::this_thread::sleep_for(microseconds(random.below(longest.count())));
    }
    server.kill();
    if (answer.status == 0) answer = client.answer();
    const Documents left = held();
    const bool answered = answer.status / 100 == 2;
    EXPECT_TRUE(left == edit.after || (left == now && !answered)) << i;
    now = left;
  }
}

}  // namespace
}  // namespace tessera::cli
