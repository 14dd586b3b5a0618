// StoreConfig, which is read from a file that may come from anywhere.

#include <nlohmann/json.hpp>

#include "tessera/base/config.h"
#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/store/store_folder.h"

namespace tessera::store {
namespace {

constexpr uint64_t kLongestFile = 1 << 16;  // bytes

void check_format(const config::Json& json, const std::string& path) {
  if (!json.is_object() || !json.contains("format"))
    throw DataError(path, "is not the configuration of a memo store");
  if (json.contains("kind") && !json.contains("code"))
    throw DataError(path, "is the configuration of a model, not of a memo store");
  const config::Json format = json["format"];
  if (format != StoreConfig::kFormatOfOneMatrix && format != StoreConfig::kFormatOfShards)
    throw DataError(path, "has format {}, this version of Tessera reads formats {} and {}",
                    format.dump(), StoreConfig::kFormatOfOneMatrix, StoreConfig::kFormatOfShards);
}

int64_t format_of(const memo::TextMemoryConfig& memory) {
  return memory.shards == 1 ? StoreConfig::kFormatOfOneMatrix : StoreConfig::kFormatOfShards;
}

/// The fields that a configuration of its format has.
config::Json json_of(const StoreConfig& config) {
  config::Json json = config::to_json(config);
  if (config.format == StoreConfig::kFormatOfOneMatrix) json.erase("shards");
  return json;
}

}  // namespace

std::string digest_of(const Tokenizer& tokenizer) {
  return fmt::format("{:016x}", tokenizer.digest());
}

StoreConfig StoreConfig::of(memo::TextMemoryConfig memory, const Tokenizer& tokenizer) {
  memory.vocabulary = tokenizer.vocabulary_size();
  check_config(memory);
  return {format_of(memory), memory, digest_of(tokenizer)};
}

StoreConfig StoreConfig::load(const std::filesystem::path& path) {
  const config::Json json = config::parse_json(read_file(path, kLongestFile), path.native());
  check_format(json, path.native());
  StoreConfig config;
  config.format = json["format"].get<int64_t>();
  const config::Json expected = json_of(config);
  for (const auto& [name, value] : expected.items())
    if (!json.contains(name)) throw DataError(path.native(), "lacks '{}'", name);
  try {
    config::from_json(json, config, "");
    check_config(config.memory);
  } catch (const UsageError& error) {
    throw DataError(path.native(), "{}", error.what());
  }
  if (config.format != format_of(config.memory))
    throw DataError(path.native(),
                    "has format {} and {} shards; format {} is for one, {} for several",
                    config.format, config.memory.shards, kFormatOfOneMatrix, kFormatOfShards);
  return config;
}

void StoreConfig::save(const std::filesystem::path& path) const {
  write_file(path, json_of(*this).dump(2) + "\n");
}

std::string StoreConfig::text() const {
  return json_of(*this).dump();
}

}  // namespace tessera::store
