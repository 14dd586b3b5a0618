#include "tessera/train/metrics_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "tessera/base/file.h"
#include "tests/train/trainer_fixture.h"

namespace tessera {
namespace {

using config::Json;
using test::message_of;
using test::Recorder;
using test::TemporaryFolder;
using test::TrainerTest;
using ::testing::HasSubstr;

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
  for (const char* line :
       {R"({})", R"([1])", R"({"step":"1"})", R"({"step":1,"kind":2})",
        R"({"step":1,"kind":"step"})", R"({"step":1,"kind":"step","loss":"2"})",
        R"({"step":1,"elapsed_seconds":null})", R"({"step":1,"tokens_per_second":"3"})",
        R"({"step":1,"kind":"evaluation","metrics":[1,"2"]})",
        R"({"step":1,"kind":"evaluation","metrics":{"loss":"2"}})"}) {
    write_file(folder / "m", std::string(line) + "\n");
    EXPECT_THROW(MetricsLog(folder / "m", 3), DataError) << line;
  }
}

TEST(MetricsLog, HasTheLossesOfUpdatesAndWhatEvaluationsFound) {
  const TemporaryFolder folder;
  EXPECT_TRUE(logged_losses(folder.path()).empty());
  MetricsLog log(folder / MetricsLog::kFile, -1);
  log.write({{"kind", "step"}, {"step", 1}, {"loss", 2.5}});
  log.write({{"kind", "evaluation"}, {"step", 1}, {"metrics", {{"loss", 3}, {"share", 0.5}}}});
  log.write({{"kind", "sample"}, {"step", 1}, {"text", "once"}});
  log.write({{"kind", "evaluation"}, {"step", 0}});  // of a learner that measures nothing
  log.write({{"kind", "step"}, {"step", 2}, {"loss", NAN}});
  log.write({{"kind", "evaluation"}, {"step", 2}, {"metrics", {{"loss", INFINITY}}}});
  const auto losses = logged_losses(folder.path());
  ASSERT_EQ(losses.size(), 2u);
  EXPECT_EQ(losses.at(1), 2.5);
  EXPECT_TRUE(std::isnan(losses.at(2)));
  const auto evaluations = logged_evaluations(folder.path());
  ASSERT_EQ(evaluations.size(), 2u);
  EXPECT_EQ(evaluations.at(1), (std::map<std::string, double>{{"loss", 3}, {"share", 0.5}}));
  EXPECT_TRUE(std::isnan(evaluations.at(2).at("loss")));
}

/// CRC-32C bit by bit, masked as TFRecords have it.
uint32_t masked_crc(std::string_view bytes) {
  uint32_t crc = 0xFFFFFFFF;
  for (const char byte : bytes) {
    crc ^= static_cast<uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc % 2 == 1 ? 0x82F63B78 : 0);
  }
  crc = ~crc;
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8;
}

template <typename Number>
Number take_fixed(std::string_view& bytes) {
  Number number;
  std::memcpy(&number, bytes.data(), sizeof number);
  bytes.remove_prefix(sizeof number);
  return number;
}

uint64_t take_varint(std::string_view& bytes) {
  uint64_t number = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    number |= static_cast<uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return number;
  }
}

std::string_view take_text(std::string_view& bytes) {
  const size_t size = take_varint(bytes);
  const auto text = bytes.substr(0, size);
  bytes.remove_prefix(size);
  return text;
}

struct Event {
  double time = 0;
  int64_t step = 0;
  std::string version;
  std::map<std::string, float> scalars;
};

/// Reads tensorflow.Event as its .proto says; unknown fields fail.
Event decoded(std::string_view data) {
  Event event;
  while (!data.empty()) {
    const auto key = static_cast<uint8_t>(data.front());
    data.remove_prefix(1);
    if (key == 0x09) {
      event.time = take_fixed<double>(data);
    } else if (key == 0x10) {
      event.step = take_varint(data);
    } else if (key == 0x1A) {
      event.version = take_text(data);
    } else if (key == 0x2A) {
      for (auto summary = take_text(data); !summary.empty();) {
        EXPECT_EQ(summary.front(), 0x0A);
        summary.remove_prefix(1);
        auto value = take_text(summary);
        EXPECT_EQ(value.front(), 0x0A);
        value.remove_prefix(1);
        const std::string tag(take_text(value));
        EXPECT_EQ(value.front(), 0x15);
        value.remove_prefix(1);
        event.scalars[tag] = take_fixed<float>(value);
        EXPECT_TRUE(value.empty());
      }
    } else {
      ADD_FAILURE() << "field " << int{key};
      return event;
    }
  }
  return event;
}

std::vector<Event> events_in(const std::filesystem::path& path) {
  const std::string file = read_file(path);
  std::vector<Event> events;
  for (std::string_view rest = file; !rest.empty();) {
    const uint32_t length_crc = masked_crc(rest.substr(0, 8));
    const auto length = take_fixed<uint64_t>(rest);
    EXPECT_EQ(take_fixed<uint32_t>(rest), length_crc);
    const auto data = rest.substr(0, length);
    rest.remove_prefix(length);
    EXPECT_EQ(take_fixed<uint32_t>(rest), masked_crc(data));
    events.push_back(decoded(data));
  }
  return events;
}

const std::vector<Json> kLines = {
    {{"kind", "step"}, {"step", 1}, {"tokens", 8}, {"loss", 2.5}, {"elapsed_seconds", 0.25}},
    {{"kind", "sample"}, {"step", 1}, {"text", "no number"}},
    {{"kind", "evaluation"},
     {"step", 300},
     {"elapsed_seconds", 1.5},
     {"metrics", {{"accuracy", 1}, {"loss", 0.125}}}},
    {{"kind", "step"}, {"step", 301}, {"loss", nullptr}, {"elapsed_seconds", 2.0}},
    {{"kind", "step"}, {"step", 302}, {"loss", -1e-3}, {"elapsed_seconds", 2.5}}};

TEST(MetricsForms, TensorBoardReadsTheNumbers) {
  const test::TemporaryFolder folder;
  MetricsLog log(folder / "metrics.jsonl", -1, {tensorboard_form(1000)});
  for (const Json& line : kLines) log.write(line);
  const auto file = folder / "tensorboard/events.out.tfevents.tessera";
  // What every file of events of TensorFlow's begins with: 24 bytes, and the checksum of that.
  EXPECT_EQ(read_file(file).substr(0, 12), std::string("\x18\0\0\0\0\0\0\0\xa3\x7fK\"", 12));
  const auto events = events_in(file);
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0].version, "brain.Event:2");
  EXPECT_EQ(events[0].time, 1000);
  using Scalars = std::map<std::string, float>;
  EXPECT_EQ(events[1].step, 1);
  EXPECT_EQ(events[1].time, 1000.25);
  EXPECT_EQ(events[1].scalars, (Scalars{{"training/loss", 2.5f}}));
  EXPECT_EQ(events[2].step, 300);
  EXPECT_EQ(events[2].scalars,
            (Scalars{{"validation/accuracy", 1.0f}, {"validation/loss", 0.125f}}));
  EXPECT_EQ(events[3].step, 302);
  EXPECT_EQ(events[3].scalars, (Scalars{{"training/loss", -1e-3f}}));
}

TEST(MetricsForms, CsvHasARowForEachNumber) {
  const test::TemporaryFolder folder;
  MetricsLog log(folder / "metrics.jsonl", -1, {csv_form()});
  for (const Json& line : kLines) log.write(line);
  EXPECT_EQ(read_file(folder / "metrics.csv"),
            "step,elapsed_seconds,name,value\n"
            "1,0.25,training/loss,2.5\n"
            "300,1.5,validation/accuracy,1\n"
            "300,1.5,validation/loss,0.125\n"
            "302,2.5,training/loss,-0.001\n");
}

TEST(MetricsForms, ResumingLeavesNoGapAndNothingTwice) {
  const test::TemporaryFolder folder;
  const auto log = [&](const char* name, int64_t through_step) {
    return MetricsLog(folder / name / "metrics.jsonl", through_step,
                      {tensorboard_form(0), csv_form()});
  };
  {
    auto whole = log("whole", -1), cut = log("cut", -1);
    for (const Json& line : kLines) {
      whole.write(line);
      cut.write(line);
    }
  }
  {
    auto resumed = log("cut", 300);
    for (size_t i = 3; i < kLines.size(); ++i) resumed.write(kLines[i]);
  }
  for (const char* file :
       {"metrics.jsonl", "metrics.csv", "tensorboard/events.out.tfevents.tessera"})
    EXPECT_EQ(read_file(folder / "cut" / file), read_file(folder / "whole" / file)) << file;
}

/// Asked for when the run is resumed, they hold what was there before.
TEST_F(TrainerTest, WritesTheFormsThatAreAskedFor) {
  Recorder recorder;
  recorder.interrupt_after = 5;
  EXPECT_THROW(train("run", Start::kNew, &recorder), Interrupted);
  EXPECT_FALSE(is_there(folder / "run/metrics.csv"));
  config.tensorboard = config.csv = true;
  write_file(folder / "run/manifest.json", R"({"date": "2026-03-01T00:00:00Z"})");
  train("run", Start::kResume);
  std::vector<int64_t> steps, all(config.steps);
  std::iota(all.begin(), all.end(), 1);
  for (const Event& event : events_in(folder / "run/tensorboard/events.out.tfevents.tessera")) {
    if (event.scalars.contains("training/loss")) steps.push_back(event.step);
    EXPECT_GE(event.time, 1772323200);  // 1 March 2026
    EXPECT_LT(event.time, 1772323200 + 86400);
  }
  EXPECT_EQ(steps, all);
  EXPECT_THAT(read_file(folder / "run/metrics.csv"), HasSubstr(",validation/loss,"));
}

/// Its events are then of 1 January 1970.
TEST_F(TrainerTest, GoesOnWhereTheManifestHasNoDate) {
  config.tensorboard = true;
  train("run", Start::kNew);
  for (const char* manifest : {"{}", "[1]", R"({"date": 2026})", R"({"date": "today"})"}) {
    write_file(folder / "run/manifest.json", manifest);
    train("run", Start::kResume);
    const auto events = events_in(folder / "run/tensorboard/events.out.tfevents.tessera");
    ASSERT_FALSE(events.empty()) << manifest;
    EXPECT_EQ(events.front().time, 0) << manifest;
  }
}

}  // namespace
}  // namespace tessera
