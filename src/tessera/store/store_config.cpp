#include "tessera/store/store_config.h"

#include <nlohmann/json.hpp>

#include "tessera/base/config.h"
#include "tessera/base/error.h"
#include "tessera/base/file.h"

namespace tessera::store {
namespace {

constexpr uint64_t kLongestFile = 1 << 16;  // bytes

void check_format(const config::Json& json, const std::string& path) {
  if (!json.is_object() || !json.contains("format"))
    throw DataError(path, "is not the configuration of a memo store");
  if (json["format"] != StoreConfig::kFormat)
    throw DataError(path, "has format {}, this version of Tessera reads format {}",
                    json["format"].dump(), StoreConfig::kFormat);
}

}  // namespace

std::string digest_of(const Tokenizer& tokenizer) {
  return fmt::format("{:016x}", tokenizer.digest());
}

StoreConfig StoreConfig::of(memo::TextMemoryConfig memory, const Tokenizer& tokenizer) {
  memory.vocabulary = tokenizer.vocabulary_size();
  check_config(memory);
  return {kFormat, memory, digest_of(tokenizer)};
}

StoreConfig StoreConfig::load(const std::filesystem::path& path) {
  const config::Json json = config::parse_json(read_file(path, kLongestFile), path.native());
  check_format(json, path.native());
  StoreConfig config;
  for (const auto& name : config::field_names(config))
    if (!json.contains(name)) throw DataError(path.native(), "lacks '{}'", name);
  try {
    config::from_json(json, config, "");
    check_config(config.memory);
  } catch (const std::invalid_argument& error) {
    throw DataError(path.native(), "{}", error.what());
  } catch (const UsageError& error) {
    throw DataError(path.native(), "{}", error.what());
  }
  return config;
}

void StoreConfig::save(const std::filesystem::path& path) const {
  write_file(path, config::to_json(*this).dump(2) + "\n");
}

std::string StoreConfig::text() const {
  return config::to_json(*this).dump();
}

}  // namespace tessera::store
