#include "tessera/base/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>

#include "tessera/base/error.h"
#include "tests/support/temporary_folder.h"

namespace tessera::safetensors {
namespace {

using test::message_of;
using test::TemporaryFolder;
using testing::HasSubstr;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

/// A file with this header text and this much data after it.
std::string image(const std::string& header, size_t data_bytes) {
  const uint64_t length = header.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + header + std::string(data_bytes, 'd');
}

std::string refusal_of_file(const std::string& bytes) {
  const TemporaryFolder folder;
  write_file(folder / "x", bytes);
  return message_of<DataError>([&] { File::open(folder / "x"); });
}

std::string entry(const std::string& description) {
  return "{\"t\":" + description + "}";
}

TEST(Safetensors, ReadsWhatItWrites) {
  const TemporaryFolder folder;
  const auto path = folder / "x.safetensors";
  write(path,
        {{"b", {DType::kF32, {1, 2}, bytes_of("abcdefgh")}},
         {"a", {DType::kU8, {3}, bytes_of("xyz")}},
         {"scalar", {DType::kI16, {}, bytes_of("st")}},
         {"empty", {DType::kF64, {0, 5}, {}}}},
        {{"note", "\"quoted\" and é"}});
  const File file = File::open(path);
  EXPECT_EQ(file.tensors().size(), 4u);
  EXPECT_EQ(file.metadata().at("note"), "\"quoted\" and é");
  EXPECT_EQ(file.at("b").shape, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(dtype_name(file.at("b").dtype), "F32");
  EXPECT_EQ(std::memcmp(file.at("b").bytes.data(), "abcdefgh", 8), 0);
  EXPECT_EQ(std::memcmp(file.at("a").bytes.data(), "xyz", 3), 0);
  EXPECT_TRUE(file.at("scalar").shape.empty());
  EXPECT_TRUE(file.at("empty").bytes.empty());
  EXPECT_THAT(message_of<DataError>([&] { file.at("scalr"); }),
              HasSubstr("has no tensor 'scalr'; did you mean 'scalar'?"));
}

TEST(Safetensors, DataStartsAtAMultipleOf64) {
  for (size_t length = 0; length < 70; ++length)
    EXPECT_EQ(header({{std::string(length, 'n'), {DType::kU8, {0}, {}}}}, {}).size() % 64, 0u);
}

TEST(Safetensors, HoldsNothingAtAll) {
  const TemporaryFolder folder;
  write(folder / "x", {});
  EXPECT_TRUE(File::open(folder / "x").tensors().empty());
}

TEST(Safetensors, WriteRefusesWhatItCouldNotRead) {
  const TemporaryFolder folder;
  const TensorView byte{DType::kU8, {1}, bytes_of("x")};
  const auto attempt = [&](const std::vector<NamedTensor>& tensors,
                           const std::map<std::string, std::string>& metadata = {}) {
    write(folder / "x", tensors, metadata);
  };
  EXPECT_THROW(attempt({{"a", byte}, {"a", byte}}), UsageError);
  EXPECT_THROW(attempt({{"__metadata__", byte}}), UsageError);
  EXPECT_THROW(attempt({{"a", {DType::kU8, {2}, bytes_of("x")}}}), UsageError);
  EXPECT_THROW(attempt({{"a", {DType::kU8, {-1}, {}}}}), UsageError);
  EXPECT_THROW(attempt({{"a", {DType::kF64, {INT64_MAX, 0}, {}}}}), UsageError);
  EXPECT_THROW(attempt({{"\xff", byte}}), UsageError);
  EXPECT_THROW(attempt({}, {{"note", "\xff"}}), UsageError);
  EXPECT_FALSE(std::filesystem::exists(folder / "x"));
}

TEST(Safetensors, RefusesEveryKindOfDamage) {
  const std::string good = R"({"dtype":"U8","shape":[2],"data_offsets":[0,2]})";
  EXPECT_EQ(refusal_of_file(image(entry(good), 2)), "");
  EXPECT_THAT(refusal_of_file(""), HasSubstr("has 0 bytes"));
  EXPECT_THAT(refusal_of_file("1234567"), HasSubstr("has 7 bytes"));
  EXPECT_THAT(refusal_of_file(std::string(8, '\xff')), HasSubstr("announces a header"));
  EXPECT_THAT(refusal_of_file(image(entry(good), 2).substr(0, 20)),
              HasSubstr("announces a header"));
  EXPECT_THAT(refusal_of_file(image(entry(good), 1)), HasSubstr("truncated"));
  EXPECT_THAT(refusal_of_file(image(entry(good), 3)), HasSubstr("too long"));
  EXPECT_THAT(refusal_of_file(image("{", 0)), HasSubstr("not valid JSON"));
  EXPECT_THAT(refusal_of_file(image("[]", 0)), HasSubstr("not a JSON object"));
  EXPECT_THAT(refusal_of_file(image(R"({"__metadata__":{"a":1}})", 0)),
              HasSubstr("table of strings"));
  EXPECT_THAT(refusal_of_file(image(entry("3"), 0)), HasSubstr("not described"));
  EXPECT_THAT(refusal_of_file(image(entry(R"({"dtype":"U8","shape":[2]})"), 2)),
              HasSubstr("not described"));
  const auto described = [](const std::string& dtype, const std::string& shape,
                            const std::string& offsets) {
    return refusal_of_file(image(
        entry("{\"dtype\":" + dtype + ",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}"),
        2));
  };
  EXPECT_THAT(described("\"Q4\"", "[2]", "[0,2]"), HasSubstr("unknown type 'Q4'"));
  EXPECT_THAT(described("7", "[2]", "[0,2]"), HasSubstr("not described"));
  EXPECT_THAT(described("\"U8\"", "[3]", "[0,2]"), HasSubstr("does not fit"));
  EXPECT_THAT(described("\"U8\"", "[-2]", "[0,2]"), HasSubstr("size or offset -2"));
  EXPECT_THAT(described("\"U8\"", "[2.0]", "[0,2]"), HasSubstr("size or offset 2.0"));
  EXPECT_THAT(described("\"U8\"", "[1e300]", "[0,2]"), HasSubstr("size or offset"));
  EXPECT_THAT(described("\"U8\"", "[true,2]", "[0,2]"), HasSubstr("size or offset true"));
  EXPECT_THAT(described("\"U8\"", "[18446744073709551615]", "[0,2]"), HasSubstr("size or offset"));
  EXPECT_THAT(described("\"U8\"", "[4294967296,4294967296,0]", "[0,0]"), HasSubstr("does not fit"));
  EXPECT_THAT(described("\"U8\"", "[2]", "[2,0]"), HasSubstr("does not fit"));
  EXPECT_THAT(described("\"U8\"", "[2]", "[0]"), HasSubstr("two data_offsets"));
  EXPECT_THAT(described("\"U8\"", "[2]", "[9223372036854775805,9223372036854775807]"),
              HasSubstr("truncated"));
  EXPECT_THAT(described("\"U8\"", "[1]", "[1,2]"), HasSubstr("overlap or leave a hole"));
}

TEST(Safetensors, RefusesOverlaps) {
  EXPECT_THAT(refusal_of_file(image(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                                    R"("b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
                                    3)),
              HasSubstr("overlap"));
}

/// Damages a good file and looks at every byte that the reader then still offers.
RC_GTEST_PROP(Safetensors, DamagedFilesAreRefusedOrSafe,
              (std::vector<std::pair<uint16_t, uint8_t>> damage, uint16_t cut)) {
  const std::vector<NamedTensor> tensors = {
      {"layer.weight", {DType::kF32, {2, 2}, bytes_of("0123456789abcdef")}},
      {"layer.gain", {DType::kBF16, {3}, bytes_of("uvwxyz")}}};
  std::string bytes = header(tensors, {{"kind", "test"}}) + "0123456789abcdefuvwxyz";
  for (const auto& [place, value] : damage) bytes[place % bytes.size()] = static_cast<char>(value);
  if (cut % 4 == 0) bytes.erase(bytes.size() - cut % bytes.size());
  const TemporaryFolder folder;
  write_file(folder / "x", bytes);
  try {
    const File file = File::open(folder / "x");
    size_t sum = 0;
    for (const auto& [name, view] : file.tensors()) {
      for (std::byte byte : view.bytes) sum += static_cast<size_t>(byte);
      RC_ASSERT(view.bytes.size() <= bytes.size());
    }
    RC_ASSERT(sum <= 255 * bytes.size());
  } catch (const DataError&) {
  }
}

/// The same where only the header's text is damaged, digit for digit: shapes and offsets.
RC_GTEST_PROP(Safetensors, DamagedNumbersAreRefusedOrSafe,
              (std::vector<std::pair<uint16_t, uint8_t>> damage)) {
  std::string text = R"({"a":{"dtype":"F32","shape":[2,1],"data_offsets":[00,08]},)"
                     R"("b":{"dtype":"I64","shape":[1,1],"data_offsets":[08,16]}})";
  for (char& letter : text)
    if (letter == '0') letter = ' ';
  std::vector<size_t> digits;
  for (size_t i = 0; i < text.size(); ++i)
    if (std::isdigit(text[i]) || text[i] == ' ') digits.push_back(i);
  constexpr std::string_view kLetters = "0123456789-.e, ";
  for (const auto& [place, value] : damage)
    text[digits[place % digits.size()]] = kLetters[value % kLetters.size()];
  const TemporaryFolder folder;
  write_file(folder / "x", image(text, 16));
  try {
    const File file = File::open(folder / "x");
    for (const auto& [name, view] : file.tensors()) RC_ASSERT(view.bytes.size() <= 16u);
  } catch (const DataError&) {
  }
}

}  // namespace
}  // namespace tessera::safetensors
