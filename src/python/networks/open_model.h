#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "python/binding/turns.h"
#include "tessera/infer/model_folder.h"
#include "tessera/infer/streaming_session.h"
#include "tessera/sampling/text_writer.h"

namespace tessera::python {

/// A model that is only read, from any thread, one call at a time.
struct OpenModel {
  ModelFolder folder;
  Turns turns;  ///< to use the model

  /// Numbers by their names; none are those of the folder. Throws as ModelFolder::load.
  OpenModel(const std::filesystem::path& path, const std::optional<std::string>& weights,
            const std::optional<std::string>& pairs);

  /// As prompts are read: names of special tokens become these.
  Tokens encode(const std::string& text) const;
  /// An end of text stands for an empty text. Throws UsageError where the tokenizer has none.
  Tokens encode_prompt(const std::string& text) const;
};

/// A text that a model writes after a prompt, token by token: the text that generate() writes.
class WrittenText {
 public:
  /// The model must outlive it. Reads nothing yet. Throws UsageError on options that make no sense.
  WrittenText(OpenModel& model, const std::string& prompt, WritingOptions options);
  WrittenText(const WrittenText&) = delete;
  WrittenText& operator=(const WrittenText&) = delete;

  /// The next token, and the text that has become final with it; none after the end.
  std::optional<Written> next();

 private:
  OpenModel& model_;
  Tokens prompt_;
  WritingOptions options_;
  StreamingSession session_;
  TextWriter writer_;
  std::optional<int64_t> unread_;  // the last token
  bool ended_ = false;
};

}  // namespace tessera::python
