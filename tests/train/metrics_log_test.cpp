#include "tessera/train/metrics_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tessera/base/file.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using test::message_of;
using test::TemporaryFolder;
using testing::HasSubstr;

TEST(MetricsLog, EachLineIsThereAtOnce) {
  const TemporaryFolder folder;
  const auto path = folder / "metrics.jsonl";
  EXPECT_TRUE(MetricsLog::read(path).empty());
  MetricsLog log(path, -1);
  log.write({{"step", 1}, {"loss", 2.5}});
  EXPECT_EQ(read_file(path), "{\"step\":1,\"loss\":2.5}\n");
  log.sync();
}

TEST(MetricsLog, ResumingDropsWhatIsRepeatedAndATornLine) {
  const TemporaryFolder folder;
  const auto path = folder / "metrics.jsonl";
  write_file(path, "{\"step\":1}\n{\"step\":2}\n{\"step\":2,\"x\":0}\n{\"step\":3}\n{\"st");
  EXPECT_EQ(MetricsLog::read(path).size(), 4u);
  MetricsLog log(path, 2);
  log.write({{"step", 3}, {"again", true}});
  EXPECT_EQ(read_file(path),
            "{\"step\":1}\n{\"step\":2}\n{\"step\":2,\"x\":0}\n{\"step\":3,\"again\":true}\n");
}

TEST(MetricsLog, ANewLogIsEmpty) {
  const TemporaryFolder folder;
  write_file(folder / "m", "{\"step\":0}\n");
  MetricsLog log(folder / "m", -1);
  EXPECT_EQ(read_file(folder / "m"), "");
}

TEST(MetricsLog, NamesTheLineThatIsNone) {
  const TemporaryFolder folder;
  write_file(folder / "m", "{\"step\":1}\nrubbish\n{\"step\":2}\n");
  EXPECT_THAT(message_of<DataError>([&] { MetricsLog::read(folder / "m"); }),
              HasSubstr("m: line 2: byte 1: not valid JSON"));
  for (const char* line : {"{}\n", "[1]\n", "{\"step\":\"1\"}\n"}) {
    write_file(folder / "m", line);
    EXPECT_THROW(MetricsLog(folder / "m", 3), DataError) << line;
  }
}

}  // namespace
}  // namespace tessera
