// Damaged weights are refused; a model directory of a version without checksum still loads.

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/checkpoint/model_directory.h"
#include "tessera/model/language_model.h"
#include "tests/support/folders.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using test::message_of;
using testing::HasSubstr;

/// Written by Tessera 0.1.0 before weights had a checksum.
const fs::path kOldModel = test::source_folder() / "tests/checkpoint/model_without_checksum";

bool equal_weights(const LanguageModel& a, const LanguageModel& b) {
  const auto theirs = b.named_parameters();
  for (const auto& item : a.named_parameters())
    if (!item.value().equal(theirs[item.key()])) return false;
  return true;
}

TEST(ModelWithoutChecksum, LoadsAndGivesTheLossThatItGaveWhenItWasWritten) {
  const auto model = load_model(kOldModel);
  model->eval();
  const std::string text = "the cat sees you.";
  const std::vector<int64_t> ids(text.begin(), text.end());
  const at::Tensor tokens = at::tensor(ids, at::kLong).unsqueeze(0);
  const at::Tensor loss = model->loss(tokens.narrow(1, 0, 16), tokens.narrow(1, 1, 16));
  EXPECT_NEAR(loss.item<double>(), 2.981283, 1e-5);  // differs between processors in the last bits
}

TEST(ModelChecksum, SavingAddsItAndKeepsEveryBit) {
  const test::TemporaryFolder folder;
  const auto model = load_model(kOldModel);
  save_model(folder / "model", *model);
  EXPECT_TRUE(equal_weights(*load_model(folder / "model"), *model));
  EXPECT_THAT(read_file(folder / "model/model.safetensors"), HasSubstr("\"checksum\""));
}

TEST(ModelChecksum, NamesTheDamagedFile) {
  const test::TemporaryFolder folder;
  save_model(folder / "model", *load_model(kOldModel));
  std::string weights = read_file(folder / "model/model.safetensors");
  weights[weights.size() - 3] ^= 1;
  write_file(folder / "model/model.safetensors", weights);
  EXPECT_THAT(message_of<DataError>([&] { load_model(folder / "model"); }),
              testing::AllOf(HasSubstr("model.safetensors: is damaged"), HasSubstr("checksum")));
}

// Where a flipped bit changes nothing that is read (a space of the header), the weights are right.
TEST(ModelChecksum, OneFlippedBitAnywhereIsFoundOrHarmless) {
  const test::TemporaryFolder folder;
  const auto model = load_model(kOldModel);
  save_model(folder / "model", *model);
  const std::string whole = read_file(folder / "model/model.safetensors");
  int refused = 0, loaded = 0;
  for (size_t byte = 0; byte < whole.size(); byte += 37) {
    std::string damaged = whole;
    damaged[byte] ^= static_cast<char>(1 << byte % 8);
    write_file(folder / "model/model.safetensors", damaged);
    try {
      EXPECT_TRUE(equal_weights(*load_model(folder / "model"), *model)) << "byte " << byte;
      ++loaded;
    } catch (const DataError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 10 * loaded);
}

}  // namespace
}  // namespace tessera
