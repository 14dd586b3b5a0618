#include "tessera/infer/model_folder.h"

#include "tessera/base/error.h"
#include "tessera/checkpoint/model_directory.h"
#include "tessera/infer/inspection.h"
#include "tessera/model/language_model.h"
#include "tessera/tensor/device.h"

namespace tessera {

ModelFolder ModelFolder::load(const std::filesystem::path& folder, const Placement& placement) {
  const at::Device device = named_device(placement.device);
  const auto tokenizer_file = folder / "tokenizer.json";
  auto model = load_to_read(folder, placement.weights);
  model->keep_pairs_in(placement.pairs.value_or(ops::WeightType::kFloat32));
  if (!std::filesystem::exists(tokenizer_file))
    throw DataError(folder.native(),
                    "has no tokenizer.json; put one there, or import with --tokenizer");
  Tokenizer tokenizer = Tokenizer::load(tokenizer_file);
  if (tokenizer.vocabulary_size() > model->vocabulary())
    throw DataError(tokenizer_file.native(), "has {} tokens, the model beside it only {}",
                    tokenizer.vocabulary_size(), model->vocabulary());
  model->to(device);
  model->eval();
  auto slot_readers = SlotReaders::load(folder, *model);
  return {std::move(model), std::move(tokenizer), std::move(slot_readers)};
}

TokenBytes ModelFolder::token_bytes() const {
  return [tokenizer = tokenizer](int64_t token) { return bytes_of(tokenizer, token); };
}

std::string ModelFolder::text_of(const Tokens& tokens) const {
  std::string text;
  for (int64_t token : tokens) text += bytes_of(tokenizer, token);
  return text;
}

Tokens ModelFolder::encode(const std::string& text) const {
  const auto ids = tokenizer.encode(text, SpecialTokens::kRecognised);
  return {ids.begin(), ids.end()};
}

Tokens ModelFolder::encode_prompt(const std::string& text) const {
  Tokens tokens = encode(text);
  if (!tokens.empty()) return tokens;
  const auto end = tokenizer.end_of_text();
  check_argument(end.has_value(),
                 "the prompt is empty, and the tokenizer has no end of text to begin a new text "
                 "with");
  return {*end};
}

}  // namespace tessera
