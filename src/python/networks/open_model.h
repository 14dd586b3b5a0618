#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "program/jobs/job.h"
#include "python/binding/turns.h"
#include "tessera/infer/generate.h"
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
            const std::optional<std::string>& pairs, const std::string& device);
};

/// A text that a model writes after a prompt, token by token: the text that generate() writes.
class WrittenText {
 public:
  /// The model must outlive it. Reads nothing yet. Throws UsageError on options that make no sense.
  WrittenText(OpenModel& model, const std::string& prompt, const WritingOptions& options);
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

/// A text that a model has read, and goes on with. From any thread, in the model's turns.
class OpenSession {
 public:
  explicit OpenSession(std::shared_ptr<OpenModel> model);

  /// Throws UsageError on an empty text.
  void read(const std::string& text);
  /// Writes on, and reads what it writes. Throws UsageError where nothing was read yet.
  Generation generate(const WritingOptions& options, const OnProgress& on_progress);
  Tokens tokens() const;
  OpenSession fork() const;

  const OpenModel& model() const { return *model_; }

 private:
  std::shared_ptr<OpenModel> model_;
  StreamingSession session_;
};

}  // namespace tessera::python
