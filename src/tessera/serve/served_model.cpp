#include "tessera/serve/served_model.h"

#include <fmt/format.h>

#include <vector>

#include "tessera/base/error.h"
#include "tessera/data/utf8.h"
#include "tessera/infer/model_folder.h"
#include "tessera/model/language_model.h"
#include "tessera/serve/api_error.h"
#include "tessera/serve/model_decoder.h"

namespace tessera::serve {
namespace {

constexpr double kCacheShare = 0.25;  // of the memory for texts, kept for prompts to come

}  // namespace

std::string ServedModel::bytes_of(int64_t token) const {
  const auto id = static_cast<int32_t>(token);
  return tokenizer.has_token(id) ? std::string(tokenizer.token_bytes(id)) : std::string();
}

std::string ServedModel::shown(int64_t token) const {
  const std::string bytes = bytes_of(token);
  if (bytes.empty()) return fmt::format("token:{}", token);
  if (utf8::valid_prefix(bytes) == bytes.size()) return bytes;
  std::string shown = "bytes:";
  for (const char byte : bytes) shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  return shown;
}

TokenIds encoded_text(const ServedModel& model, const std::string& text, SpecialTokens special,
                      const std::string& field) {
  try {
    const auto ids = model.tokenizer.encode(text, special);
    return {ids.begin(), ids.end()};
  } catch (const DataError& error) {
    throw ApiError(422, "{}", error.what()).about(field);
  }
}

const ServedModel& ServedModels::find(const std::string& name) const {
  for (const ServedModel& model : models_)
    if (model.name == name || name.empty()) return model;
  std::vector<std::string> names;
  for (const ServedModel& model : models_) names.push_back(model.name);
  throw ApiError(404, "there is no model '{}', only {}", name, fmt::join(names, ", "))
      .about("model")
      .with_code("model_not_found");
}

ServedModel served_model(const std::string& name, const std::string& folder,
                         const EngineOptions& options, const NumberTypes& types) {
  ModelFolder loaded = ModelFolder::load(folder, types);
  EngineOptions own = options;
  own.memory_bytes *= 1 - kCacheShare;
  auto engine = std::make_unique<Engine>(
      decoder_of(loaded.model, kCacheShare * options.memory_bytes), loaded.token_bytes(), own);
  const std::string kind(loaded.model->kind());
  return {name, kind, std::move(loaded.tokenizer), std::move(loaded.model), std::move(engine)};
}

}  // namespace tessera::serve
