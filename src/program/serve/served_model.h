#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "program/serve/engine.h"
#include "tessera/infer/model_folder.h"

namespace tessera {
class LanguageModel;
}

namespace tessera::serve {

class ServedStore;

/// A model that completes texts under a name: a language model, or a store.
struct ServedModel {
  std::string name;
  std::string kind;  ///< "memory_mosaic", "gpt", …, or "store"
  Tokenizer tokenizer;
  std::shared_ptr<LanguageModel> model;  ///< none of a store
  std::unique_ptr<Engine> engine;
  std::shared_ptr<ServedStore> store = nullptr;               ///< none of a language model
  std::shared_ptr<const SlotReaders> slot_readers = nullptr;  ///< as a ModelFolder's

  std::string bytes_of(int64_t token) const { return tessera::bytes_of(tokenizer, token); }
  std::string shown(int64_t token) const { return shown_token(tokenizer, token); }
};

/// The ids of a text that came in this field of a request. Throws ApiError 422 where the tokenizer
/// cannot encode it.
TokenIds encoded_text(const ServedModel& model, const std::string& text, SpecialTokens special,
                      const std::string& field);

/// The models of a server, of which some are stores. The first one answers requests that name none.
/// From any thread, but for adding.
class ServedModels {
 public:
  using Model = std::shared_ptr<const ServedModel>;

  void add(ServedModel model);
  /// A store as a model of this name. It is opened again where another store has come into its
  /// folder (`tessera memo rebuild`). Throws as ServedStore.
  void add_store(const std::string& name, const std::string& folder, const EngineOptions& options);

  /// A store that cannot be opened again is there as it was opened last.
  std::vector<Model> all() const;
  /// Throws ApiError 404 that lists the names there are.
  Model find(const std::string& name) const;
  /// None where no store has this name.
  std::shared_ptr<ServedStore> store(const std::string& name) const;

 private:
  struct Entry {
    std::string name;
    std::function<ServedModel()> open;  ///< of a store
    mutable std::mutex mutex;           ///< guards the model, which may be opened again
    mutable Model model;

    Model now() const;
    Model now_or_before() const;
  };
  const Entry* entry_of(const std::string& name) const;

  std::vector<std::unique_ptr<Entry>> entries_;
};

/// A model directory under this name. Throws as ModelFolder::load does.
ServedModel served_model(const std::string& name, const std::string& folder,
                         const EngineOptions& options, const Placement& placement);

}  // namespace tessera::serve
