#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "program/jobs/job.h"
#include "tessera/base/config.h"
#include "tessera/infer/generate.h"
#include "tessera/infer/inspection.h"
#include "tessera/infer/model_folder.h"
#include "tessera/infer/scoring.h"

/// What can be asked of a model directory. A job here is what a job on a store is
/// (jobs/store_jobs.h): its fields are the options of the verb, the fields of the route and the
/// arguments of the method in Python; run() is the work, and json() of the answer is what --json
/// prints, the route sends and Python returns.
///
/// run() throws UsageError on a request that makes no sense, and what the model throws. One call at
/// a time uses a model.
namespace tessera::jobs {

/// {"id", "text", "log_probability", "alternatives"}; the last two where they are known.
config::Json json_of(const ScoredToken& token, const ModelFolder& folder);

/// Continues a text with tokens that are drawn. The verb does the same for several prompts, with
/// sessions and with a store.
struct Generate {
  static constexpr std::string_view kName = "generate";
  static constexpr std::string_view kHelp = "Generate text, one token at a time";

  std::string prompt;
  GenerateOptions options;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("prompt", prompt, "text to continue", config::required());
    options.visit_fields(field);
  }

  struct Answer {
    const ModelFolder& folder;  ///< that was asked
    std::string prompt;
    Generation generation;

    config::Json json() const;
  };
  Answer run(const ModelFolder& folder, const OnProgress& on_progress) const;
};

/// What a model thinks of texts.
struct Score {
  static constexpr std::string_view kName = "score";
  static constexpr std::string_view kHelp =
      "The log-probability (nats) of each text and of its tokens, of which the first has none";

  std::vector<std::string> texts;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("texts", texts, "the texts", config::required());
  }

  struct Answer {
    const ModelFolder& folder;
    std::vector<std::vector<ScoredToken>> texts;

    config::Json json() const;
  };
  Answer run(const ModelFolder& folder, const OnProgress& on_progress) const;
};

/// log p(continuation | context), where the tokens of the continuation are those that context and
/// continuation have together beyond those of the context.
struct LogLikelihood {
  static constexpr std::string_view kName = "loglikelihood";
  static constexpr std::string_view kHelp =
      "The log-probability (nats) of a continuation, and whether it is the most probable one";

  std::string context, continuation;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("context", context, "the text before it; an end of text stands for an empty one",
          config::required());
    field("continuation", continuation, "the text that is scored", config::required());
  }

  struct Answer {
    const ModelFolder& folder;
    ContinuationScore score;

    config::Json json() const;
  };
  Answer run(const ModelFolder& folder, const OnProgress& on_progress) const;
};

/// Explains the prediction of a token (tessera::inspect).
struct Inspect {
  static constexpr std::string_view kName = "inspect";
  static constexpr std::string_view kHelp =
      "Which stored pairs of a text led to the next token, and with what weight";

  std::string text = {};
  std::optional<int64_t> position = {};
  std::string token = {};
  InspectionOptions options = {};

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("text", text, "the text that the model reads", config::required());
    field("position", position,
          "explain the prediction of the token after this one, counted from 0 (the text's last)",
          config::at_least(0));
    field("token", token,
          "explain this token's logit; a word begins with its space (the text's next token or, at "
          "its end, the most probable one)");
    options.visit_fields(field);
  }

  struct Answer {
    const ModelFolder& folder;  ///< that was asked
    Tokens tokens;              ///< of the text
    Inspection inspection;

    config::Json json() const;
  };
  Answer run(const ModelFolder& folder, const OnProgress& on_progress) const;
  /// The same for tokens, whatever `text` is.
  Answer run(const ModelFolder& folder, const Tokens& tokens) const;
};

/// A page on which every token of a text shows the memories behind it.
struct InspectionPage {
  static constexpr std::string_view kName = "inspection_page";
  static constexpr std::string_view kHelp =
      "An HTML page on which every token of a text shows the memories behind it";
  static constexpr std::string_view kDoing = "Inspecting";

  std::string text, title;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("text", text, "the text that the model reads, of at most 1024 tokens",
          config::required());
    field("title", title, "a name above it, such as the model's");
  }

  struct Answer {
    int64_t tokens;
    std::string html;  ///< one file that loads nothing

    config::Json json() const;
  };
  Answer run(const ModelFolder& folder, const OnProgress& on_progress) const;
};

/// The page: one HTML file that opens offline, on which every token of the text shows the memories
/// behind it, as the program's page does. inspections: of the tokens from the second one on, by the
/// folder's model.
std::string inspection_page(const std::string& title, const Tokens& text,
                            const std::vector<Inspection>& inspections, const ModelFolder& folder);

}  // namespace tessera::jobs
