#include "program/serve/served_model.h"

#include <fmt/ranges.h>

#include <vector>

#include "program/serve/api_error.h"
#include "program/serve/served_store.h"
#include "tessera/base/error.h"
#include "tessera/infer/model_folder.h"
#include "tessera/model/language_model.h"

namespace tessera::serve {

TokenIds encoded_text(const ServedModel& model, const std::string& text, SpecialTokens special,
                      const std::string& field) {
  try {
    const auto ids = model.tokenizer.encode(text, special);
    return {ids.begin(), ids.end()};
  } catch (const DataError& error) {
    throw ApiError(422, "{}", error.what()).about(field);
  }
}

namespace {

ServedModel model_of_store(const std::string& name, const std::string& folder,
                           const EngineOptions& options) {
  auto store = std::make_shared<ServedStore>(name, folder);
  Tokenizer tokenizer = store->tokenizer();
  auto engine = std::make_unique<Engine>(decoder_of(store), options);
  return {name, "store", std::move(tokenizer), nullptr, std::move(engine), std::move(store)};
}

}  // namespace

ServedModels::Model ServedModels::Entry::now() const {
  const std::lock_guard lock(mutex);
  if (!model->store || !model->store->was_replaced()) return model;
  auto opened = std::make_shared<const ServedModel>(open());
  model->store->retire();
  return model = std::move(opened);
}

ServedModels::Model ServedModels::Entry::now_or_before() const {
  try {
    return now();
  } catch (const std::exception&) {  // whoever asks for it is told
    const std::lock_guard lock(mutex);
    return model;
  }
}

void ServedModels::add(ServedModel model) {
  auto entry = std::make_unique<Entry>();
  entry->name = model.name;
  entry->model = std::make_shared<const ServedModel>(std::move(model));
  entries_.push_back(std::move(entry));
}

void ServedModels::add_store(const std::string& name, const std::string& folder,
                             const EngineOptions& options) {
  const auto open = [=] { return model_of_store(name, folder, options); };
  add(open());
  entries_.back()->open = open;
}

std::vector<ServedModels::Model> ServedModels::all() const {
  std::vector<Model> models;
  for (const auto& entry : entries_) models.push_back(entry->now_or_before());
  return models;
}

/// Null where there is none. Opens no store: one that cannot be opened hides no other.
const ServedModels::Entry* ServedModels::entry_of(const std::string& name) const {
  for (const auto& entry : entries_)
    if (entry->name == name) return entry.get();
  return nullptr;
}

std::shared_ptr<ServedStore> ServedModels::store(const std::string& name) const {
  const Entry* entry = entry_of(name);
  return entry ? entry->now()->store : nullptr;
}

ServedModels::Model ServedModels::find(const std::string& name) const {
  if (name.empty() && !entries_.empty()) return entries_.front()->now();
  if (const Entry* entry = entry_of(name)) return entry->now();
  std::vector<std::string> names;
  for (const auto& entry : entries_) names.push_back(entry->name);
  throw ApiError(404, "there is no model '{}', only {}", name, fmt::join(names, ", "))
      .about("model")
      .with_code("model_not_found");
}

ServedModel served_model(const std::string& name, const std::string& folder,
                         const EngineOptions& options, const Placement& placement) {
  ModelFolder loaded = ModelFolder::load(folder, placement);
  auto engine = std::make_unique<Engine>(decoder_of(loaded.model, options.memory), options);
  const std::string kind(loaded.model->kind());
  return {name,
          kind,
          std::move(loaded.tokenizer),
          std::move(loaded.model),
          std::move(engine),
          nullptr,
          std::move(loaded.slot_readers)};
}

}  // namespace tessera::serve
