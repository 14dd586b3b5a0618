// kill -9 of a server at many moments of an edit: its store is as before the edit or after it.

#include <signal.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "tessera/base/config.h"
#include "tessera/base/random.h"
#include "tests/program/cli/tessera_program.h"
#include "tests/program/serve/http_client.h"
#include "tests/support/nightly.h"

namespace tessera::cli {
namespace {

using Documents = std::map<std::string, std::string>;  // texts by id
using std::chrono::microseconds;

const int kEdits = test::nightly() ? 96 : 12;  // each of which is killed, or comes before the kill

/// A server of one store, in a copy of this process.
class StoreServer {
 public:
  explicit StoreServer(const std::string& store)
      : process_(start({"serve", "--store", "s=" + store, "--port", "0"})) {
    std::string printed;
    const auto address = [&] { return printed.find("http://127.0.0.1:"); };
    while (process_.running() && (address() == std::string::npos || printed.back() != '\n')) {
      std::this_thread::sleep_for(microseconds(500));
      printed = process_.output();
    }
    port_ = std::stoi(printed.substr(address() + std::string("http://127.0.0.1:").size()));
  }

  int port() const { return port_; }
  void kill() {
    process_.send(SIGKILL);
    process_.wait();
  }

 private:
  Process process_;
  int port_ = 0;
};

/// A request that changes the store, and what the store then holds.
struct Edit {
  std::string request;
  Documents after;
};

class ServeKills : public ::testing::Test {
 protected:
  ServeKills() { EXPECT_EQ(tessera({"memo", "create", store(), "--dimension", "128"}).status, 0); }

  std::string store() const { return (folder_ / "store").native(); }

  /// The documents of the store, which must verify, but for text that is not erased yet.
  Documents held() const {
    const Outcome verified = tessera({"memo", "verify", store()});
    const bool unerased = verified.err.find("not erased") != std::string::npos;
    EXPECT_EQ(verified.status, unerased ? 1 : 0) << verified.err;
    const Outcome listed = tessera({"memo", "documents", store(), "--json"});
    EXPECT_EQ(listed.status, 0) << listed.err;
    const auto list = config::Json::parse(listed.out);
    Documents documents;
    for (const auto& document : list["data"]) {
      const std::string id = document["id"];
      documents[id] = tessera({"memo", "show", store(), id}).out;
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
      edit.request = serve::request("DELETE", "/v1/stores/s/documents/" + id);
      return edit;
    }
    const std::string text = edit.after[id] = text_of(random);
    edit.request =
        serve::request("POST", "/v1/stores/s/documents",
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
    StoreServer server(store());
    serve::Client client(server.port());
    const Edit edit = next_edit(now, random);
    const auto started = std::chrono::steady_clock::now();
    client.send(edit.request);
    std::string answer;
    if (i % 10 == 0) {
      answer = client.receive("}");
      longest =
          std::chrono::duration_cast<microseconds>(std::chrono::steady_clock::now() - started);
    } else {
      std::this_thread::sleep_for(microseconds(random.below(longest.count())));
    }
    server.kill();
    answer += client.receive("}");
    const Documents left = held();
    const bool answered = answer.find("HTTP/1.1 20") == 0;
    EXPECT_TRUE(left == edit.after || (left == now && !answered)) << i;
    now = left;
  }
}

}  // namespace
}  // namespace tessera::cli
