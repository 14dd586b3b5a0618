#include "tessera/hosts/detail/http_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/hosts/stores_of_hosts.h"
#include "tests/support/free_port.h"
#include "tests/support/temporary_folder.h"

namespace tessera::hosts {
namespace {

TEST(Addresses, AreChecked) {
  EXPECT_EQ(checked_address("http://[::1]:8080/v1/stores/books/"),
            "http://[::1]:8080/v1/stores/books");
  for (const char* right : {"http://a/s", "https://a:8443/v1/stores/s"})
    EXPECT_EQ(checked_address(right), right);
  for (const char* wrong :
       {"ftp://a/s", "http://a", "http://a/", "http:///s", "http://a:x/s", "http://[::1/s",
        "http://a b/s", "http://a/s\r\nX: y", "http://a:123456/s", "http://me@a/s",
        "http://:word@a/s", "http://a/s?x=1"})
    EXPECT_THAT(test::message_of<UsageError>([&] { checked_address(wrong); }),
                testing::HasSubstr("expected http://HOST:PORT/v1/stores/NAME"))
        << wrong;
}

TEST(Keys, ComeFromLines) {
  const test::TemporaryFolder folder;
  const auto file = folder / "keys";
  write_file(file, "first\r\n\nsecond \n");
  EXPECT_EQ(read_keys(file), (std::vector<std::string>{"first", "second"}));
  write_file(file, "\n");
  EXPECT_THROW(read_keys(file), DataError);
  for (const std::string key : {"two words", "schl\u00fcssel", "\uFEFFkey"}) {
    write_file(file, "first\n" + key + "\n");
    EXPECT_THAT(test::message_of<DataError>([&] { read_keys(file); }),
                testing::HasSubstr("line 2 is not"));
  }
}

/// A host that takes connections and says nothing.
class SilentHost {
 public:
  SilentHost() { ::listen(bound_.socket, 8); }
  ~SilentHost() { ::close(bound_.socket); }
  SilentHost(const SilentHost&) = delete;
  SilentHost& operator=(const SilentHost&) = delete;

  std::string address() const { return "http://127.0.0.1:" + std::to_string(bound_.port) + "/s"; }

 private:
  const test::BoundSocket bound_ = test::bound_socket();
};

TEST(HttpClient, GivesUpWhatIsNotWantedAnyMore) {
  const SilentHost host;
  int asked = 0;
  HttpClient client(host.address(), /*seconds=*/600, "", [&] { return ++asked > 2; });
  EXPECT_THROW(client.ask({}), Interrupted);
  HttpClient impatient(host.address(), /*seconds=*/0.01, "", [] { return false; });
  EXPECT_EQ(test::message_of<HostError>([&] { impatient.ask({}); }),
            "did not answer within 0.01 s");
}

}  // namespace
}  // namespace tessera::hosts
