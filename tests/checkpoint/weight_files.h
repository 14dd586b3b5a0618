#pragma once

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/checkpoint/model_directory.h"
#include "tessera/model/model_kind.h"
#include "tests/model/model_checks.h"
#include "tests/support/shake.h"
#include "tests/support/temporary_folder.h"

namespace tessera::test {

/// A folder that goes when the test ends.
class WeightFiles : public testing::Test {
 protected:
  static std::shared_ptr<LanguageModel> model_of(const char* kind, const std::string& fields) {
    const auto model = make_language_model(
        kind, config::parse_json(
                  R"({"vocabulary": 13, "window": 10, "layers": 2, "heads": 2, "channels": 8,
                      "dropout": 0)" +
                      fields + "}",
                  "test"));
    shake(*model, 1);
    return model;
  }

  static void expect_same(const SequenceModel& actual, const SequenceModel& expected) {
    EXPECT_EQ(actual.kind(), expected.kind());
    EXPECT_EQ(actual.hyper_parameters(), expected.hyper_parameters());
    expect_equal_parameters(actual, expected);
  }

  /// Runs `action`, which must throw a DataError with these words.
  template <typename Action>
  static void expect_data_error(Action&& action, const std::vector<std::string>& words) {
    const std::string message = message_of<DataError>(action);
    for (const auto& word : words) EXPECT_THAT(message, testing::HasSubstr(word));
  }

  /// What imports a file in this format after `change` to it.
  template <typename Change>
  auto importing(const char* format, const TensorFile& file, Change change) const {
    return [this, format, changed = file, change]() mutable {
      change(changed);
      save_tensors(folder_ / "wrong.safetensors", {changed.tensors.begin(), changed.tensors.end()},
                   changed.metadata);
      import_weights(format, folder_ / "wrong.safetensors");
    };
  }

  /// Saves a model, changes its config.json, and returns the folder.
  std::filesystem::path changed_config(const LanguageModel& model, const std::string& key,
                                       const config::Json& value) {
    save_model(folder_ / "changed", model);
    config::Json json = config::read_json(folder_ / "changed/config.json");
    json[key] = value;
    write_file(folder_ / "changed/config.json", json.dump());
    return folder_ / "changed";
  }

  const TemporaryFolder temporary_;
  const std::filesystem::path folder_ = temporary_.path();
};

}  // namespace tessera::test
