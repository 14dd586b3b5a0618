#include "tessera/hosts/detail/http_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/base/error.h"
#include "tests/support/temporary_folder.h"

namespace tessera::hosts {
namespace {

TEST(Addresses, AreChecked) {
  EXPECT_EQ(checked_address("http://[::1]:8080/v1/stores/books/"),
            "http://[::1]:8080/v1/stores/books");
  for (const char* right : {"http://a/s", "https://a:8443/v1/stores/s"})
    EXPECT_EQ(checked_address(right), right);
  for (const char* wrong : {"ftp://a/s", "http://a", "http://a/", "http:///s", "http://a:x/s",
                            "http://[::1/s", "http://a b/s", "http://a/s\r\nX: y",
                            "http://a:123456/s", "http://me@a/s", "http://a/s?x=1"})
    EXPECT_THAT(test::message_of<UsageError>([&] { checked_address(wrong); }),
                testing::HasSubstr("expected http://HOST:PORT/v1/stores/NAME"))
        << wrong;
}

}  // namespace
}  // namespace tessera::hosts
