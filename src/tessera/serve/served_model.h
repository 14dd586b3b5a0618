#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "tessera/data/tokenizer.h"
#include "tessera/infer/model_folder.h"
#include "tessera/serve/engine.h"

namespace tessera {
class LanguageModel;
}

namespace tessera::serve {

/// A model that completes texts under a name: a language model, or a store.
struct ServedModel {
  std::string name;
  std::string kind;  ///< "memory_mosaic", "gpt", …, or "store"
  Tokenizer tokenizer;
  std::shared_ptr<LanguageModel> model;  ///< none of a store
  std::unique_ptr<Engine> engine;

  /// The bytes that a token stands for; none for an id that the tokenizer lacks.
  std::string bytes_of(int64_t token) const;
  /// A token as OpenAI's API shows it: its text, or "bytes:\xE2\x80" where its bytes alone are not
  /// UTF-8.
  std::string shown(int64_t token) const;
};

/// The ids of a text that came in this field of a request. Throws ApiError 422 where the tokenizer
/// cannot encode it.
TokenIds encoded_text(const ServedModel& model, const std::string& text, SpecialTokens special,
                      const std::string& field);

/// The models of a server. The first one answers requests that name none.
class ServedModels {
 public:
  void add(ServedModel model) { models_.push_back(std::move(model)); }
  const std::deque<ServedModel>& all() const { return models_; }
  /// Throws ApiError 404 that lists the names there are.
  const ServedModel& find(const std::string& name) const;

 private:
  std::deque<ServedModel> models_;
};

/// A model directory under this name. Throws as ModelFolder::load does.
ServedModel served_model(const std::string& name, const std::string& folder,
                         const EngineOptions& options, const NumberTypes& types = {});

}  // namespace tessera::serve
