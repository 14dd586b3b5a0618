// Damaged weights are refused; a model directory of a version without checksum still loads.

#include "tessera/model/language_model.h"
#include "tests/checkpoint/weight_files.h"
#include "tests/support/folders.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// Written by Tessera 0.1.0 before weights had a checksum.
const fs::path kOldModel = test::source_folder() / "tests/checkpoint/model_without_checksum";

class ModelChecksum : public test::WeightFiles {
 protected:
  ModelChecksum() { save_model(folder_, *model_); }

  const std::shared_ptr<LanguageModel> model_ = load_model(kOldModel);
  const fs::path weights_ = folder_ / "model.safetensors";
};

TEST(ModelWithoutChecksum, LoadsAndGivesTheLossThatItGaveWhenItWasWritten) {
  const auto model = load_model(kOldModel);
  model->eval();
  const std::string text = "the cat sees you.";
  const std::vector<int64_t> ids(text.begin(), text.end());
  const at::Tensor tokens = at::tensor(ids, at::kLong).unsqueeze(0);
  const at::Tensor loss = model->loss(tokens.narrow(1, 0, 16), tokens.narrow(1, 1, 16));
  EXPECT_NEAR(loss.item<double>(), 2.981283, 1e-5);  // differs between processors in the last bits
}

TEST_F(ModelChecksum, SavingAddsItAndKeepsEveryBit) {
  expect_same(*load_model(folder_), *model_);
  EXPECT_THAT(read_file(weights_), HasSubstr("\"checksum\""));
}

TEST_F(ModelChecksum, NamesTheDamagedFile) {
  std::string weights = read_file(weights_);
  weights[weights.size() - 3] ^= 1;
  write_file(weights_, weights);
  expect_data_error([&] { load_model(folder_); }, {"model.safetensors: is damaged", "checksum"});
}

// Where a flipped bit changes nothing that is read (a space of the header), the weights are right.
TEST_F(ModelChecksum, OneFlippedBitAnywhereIsFoundOrHarmless) {
  const std::string whole = read_file(weights_);
  int refused = 0, loaded = 0;
  for (size_t byte = 0; byte < whole.size(); byte += 37) {
    SCOPED_TRACE(byte);
    std::string damaged = whole;
    damaged[byte] ^= static_cast<char>(1 << byte % 8);
    write_file(weights_, damaged);
    try {
      expect_same(*load_model(folder_), *model_);
      ++loaded;
    } catch (const DataError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 10 * loaded);
}

}  // namespace
}  // namespace tessera
