// The configurations that the examples bring are ones that training takes.

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tessera/checkpoint/model_directory.h"
#include "tessera/task/language_model/training.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

TEST(Configurations, EveryExampleMakesANetwork) {
  int files = 0;
  for (const auto& entry :
       fs::directory_iterator(fs::path(TESSERA_SOURCE_FOLDER) / "examples/configs")) {
    SCOPED_TRACE(entry.path().native());
    const auto config = LanguageModelTrainingConfig::from_json(config::read_toml(entry.path()),
                                                               entry.path().native());
    EXPECT_NO_THROW(config.train.check());
    config::Json sizes = config.model;
    const std::string kind = sizes.value("kind", "memory_mosaic");
    sizes.erase("kind");
    sizes["vocabulary"] = config.data.vocabulary;
    EXPECT_NO_THROW(make_language_model(kind, sizes, std::nullopt));
    ++files;
  }
  EXPECT_GE(files, 3);
}

}  // namespace
}  // namespace tessera
