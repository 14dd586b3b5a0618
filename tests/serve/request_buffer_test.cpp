#include "tessera/serve/request_buffer.h"

#include <gtest/gtest.h>

#include <vector>

namespace tessera::serve {
namespace {

using Arrived = RequestBuffer::Arrived;

std::string read_all(RequestBuffer& buffer) {
  std::string text(1000, ' ');
  text.resize(buffer.read(text.data(), text.size()));
  return text;
}

TEST(RequestBuffer, ARequestIsThereWithItsLastByte) {
  const std::string get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  const std::string post = "POST / HTTP/1.1\r\nHost: a\r\ncontent-LENGTH:  5\r\n\r\n12345";
  for (const std::string& request : {get, post}) {
    RequestBuffer buffer(100);
    EXPECT_EQ(buffer.arrived(), Arrived::kNothing);
    for (size_t i = 0; i + 1 < request.size(); ++i) {
      buffer.append(request.substr(i, 1));
      ASSERT_EQ(buffer.arrived(), Arrived::kPart) << i;
    }
    buffer.append(request.substr(request.size() - 1));
    EXPECT_EQ(buffer.arrived(), Arrived::kRequest);
    EXPECT_EQ(read_all(buffer), request);
    EXPECT_EQ(read_all(buffer), "");
    buffer.end_request();
    EXPECT_EQ(buffer.arrived(), Arrived::kNothing);
  }
}

TEST(RequestBuffer, RequestsThatComeTogetherAreReadOneByOne) {
  const std::string first = "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc";
  const std::string second = "GET /b HTTP/1.1\r\n\r\n";
  RequestBuffer buffer(100);
  buffer.append(first + second + "GET");
  ASSERT_EQ(buffer.arrived(), Arrived::kRequest);
  EXPECT_EQ(read_all(buffer), first);
  buffer.end_request();
  ASSERT_EQ(buffer.arrived(), Arrived::kRequest);
  char letter;
  EXPECT_EQ(buffer.read(&letter, 1), 1u);  // the rest of it is not read, and dropped
  buffer.end_request();
  EXPECT_EQ(buffer.arrived(), Arrived::kPart);
  EXPECT_EQ(buffer.size(), 3u);
}

TEST(RequestBuffer, ABodyThatNobodyReadsIsNotTheNextRequest) {
  RequestBuffer buffer(100);
  buffer.append("GET / HTTP/1.1\r\nContent-Length: 18\r\n\r\nGET /x HTTP/1.1\r\n\r\n");
  ASSERT_EQ(buffer.arrived(), Arrived::kRequest);
  char head[40];
  EXPECT_EQ(buffer.read(head, 38), 38u);  // as the library does with GET
  buffer.end_request();
  EXPECT_EQ(buffer.arrived(), Arrived::kPart);  // one newline is over
  EXPECT_EQ(buffer.size(), 1u);
}

TEST(RequestBuffer, WhatIsRefusedIsNotWaitedFor) {
  RequestBuffer large(100);
  large.append("POST / HTTP/1.1\r\nContent-Length: 101\r\n\r\n");
  EXPECT_EQ(large.arrived(), Arrived::kRequest);
  EXPECT_FALSE(large.reads_on());
  RequestBuffer senseless(100);
  senseless.append("POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n");
  EXPECT_EQ(senseless.arrived(), Arrived::kRequest);
  RequestBuffer endless(100);
  endless.append(std::string(kMostHeadBytes + 1, 'a'));
  EXPECT_EQ(endless.arrived(), Arrived::kRequest);
  EXPECT_EQ(read_all(endless).size(), 1000u);
}

TEST(RequestBuffer, ChunksAreReadAsTheyCome) {
  for (const char* header : {"Transfer-Encoding: chunked", "Expect: 100-continue"}) {
    RequestBuffer buffer(100);
    const std::string head = "POST / HTTP/1.1\r\n" + std::string(header) + "\r\n\r\n";
    buffer.append(head);
    EXPECT_EQ(buffer.arrived(), Arrived::kRequest);
    EXPECT_TRUE(buffer.reads_on());
    EXPECT_EQ(read_all(buffer), head);
    buffer.append("3\r\nabc");
    EXPECT_EQ(read_all(buffer), "3\r\nabc");
    buffer.append(std::string(2 * kMostHeadBytes, 'a'));
    size_t count = 0;
    while (const size_t more = read_all(buffer).size()) count += more;
    EXPECT_EQ(count, kMostHeadBytes + 100 - head.size() - 6);  // no more than a request may have
    EXPECT_EQ(buffer.left(), 0u);
  }
}

}  // namespace
}  // namespace tessera::serve
