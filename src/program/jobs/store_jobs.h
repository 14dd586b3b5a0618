#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "program/jobs/job.h"
#include "tessera/base/config.h"
#include "tessera/sampling/text_writer.h"
#include "tessera/store/memo_store.h"
#include "tessera/store/memo_writer.h"
#include "tessera/store/recall.h"
#include "tessera/store/recall_measure.h"
#include "tessera/store/text_search.h"
#include "tessera/store/verify.h"

/// What can be asked of a store of documents. A job is declared once and answered as a verb of
/// `tessera memo`, as a route below /v1/stores/NAME and as a tool of `tessera mcp`. Its fields are
/// the request, with help, default and bounds: the verb's options, the route's JSON object or
/// query, the tool's arguments. run() is the work, and what it returns is the answer; its json() is
/// what the verb prints with --json and the others send.
///
/// A job that takes long says in kDoing what its progress is called.
///
/// run() throws UsageError on a request that makes no sense, and whatever the store throws.
/// A document is the same JSON in every answer: store::json_of() with "object": "document".
namespace tessera::jobs {

/// Recites what is stored after a text (store::recall).
struct Recall : store::RecallOptions {
  static constexpr std::string_view kName = "recall";
  static constexpr std::string_view kHelp =
      "Recite what is stored after a text and name the source of each token";

  std::string prompt;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("prompt", prompt, "text to continue", config::required());
    RecallOptions::visit_fields(field);
  }

  struct Answer {
    const store::QuestionedStore& store;  ///< that was asked
    std::string prompt;
    store::Question question;
    store::Recall recall;

    config::Json json() const;
  };
  Answer run(const store::MemoStore& store, const OnProgress& on_progress) const;
};

/// Recites what is stored after each of several texts.
struct Ask : store::RecallOptions {
  static constexpr std::string_view kName = "ask";
  static constexpr std::string_view kHelp =
      "Recite after each of several prompts; the store stays open";
  static constexpr size_t kMost = 1000;  ///< prompts at once

  std::vector<std::string> prompts = {};

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("prompts", prompts, "texts to continue", config::required());
    RecallOptions::visit_fields(field);
  }

  struct Answer {
    std::vector<Recall::Answer> answers;  ///< of each prompt, in order

    config::Json json() const;
  };
  /// Throws UsageError on more than kMost prompts, and on one that is too short.
  Answer run(const store::MemoStore& store, const OnProgress& on_progress) const;
};

/// Continues a text with tokens that are drawn (store::complete).
struct Complete {
  static constexpr std::string_view kName = "complete";
  static constexpr std::string_view kHelp =
      "Continue a text with tokens sampled from what is stored after its last tokens";

  std::string prompt;
  WritingOptions writing{.max_tokens = 50};

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("prompt", prompt, "text to continue", config::required());
    field("tokens", writing.max_tokens, "maximum number of tokens to generate",
          config::at_least(0));
    writing.sampling.visit_fields(field);
  }

  struct Token {
    int64_t id;
    std::string text;  ///< its bytes
  };
  struct Answer {
    std::string prompt;
    store::Question question;
    std::string text;
    std::vector<Token> tokens;  ///< without the end of text
    Finish finish;

    config::Json json() const;
  };
  /// As the store reads the prompt. Throws UsageError on options that make no sense, and where the
  /// prompt is too short.
  store::Question question(const store::MemoStore& store) const;
  /// Told of each token, and of the text that has become final with it.
  using OnNews = std::function<void(const Written&)>;
  Answer run(const store::MemoStore& store, const store::Question& question,
             const OnNews& on_news) const;
  Answer run(const store::MemoStore& store, const OnProgress& on_progress) const;
};

/// Finds a text wherever it stands in the documents (store::find_text).
struct Find {
  static constexpr std::string_view kName = "find";
  static constexpr std::string_view kHelp = "Find the documents and lines that contain a text";

  std::string text = {};
  int64_t limit = 20;
  bool letter_case = false, exact = false;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("text", text,
          "the text to look for; line breaks, runs of white space, typographic quotes and dashes, "
          "and upper and lower case make no difference",
          config::required());
    field("case", letter_case, "distinguish upper and lower case");
    field("exact", exact, "find this text only, byte for byte");
    field("limit", limit, "maximum number of places to show (0: all)", config::at_least(0));
  }

  struct Answer {
    std::vector<store::TextMatch> shown;  ///< the first ones, `limit` at most
    int64_t places = 0, documents = 0;    ///< of all

    config::Json json() const;
  };
  /// Told of each place that is shown how many bytes of text there are by then. May throw.
  using OnShown = std::function<void(int64_t bytes)>;
  Answer run(const store::MemoStore& store, const OnProgress& on_progress,
             const OnShown& on_shown) const;
  Answer run(const store::MemoStore& store, const OnProgress& on_progress) const;
};

/// Finds passages by their words (store::Ledger::search).
struct Search {
  static constexpr std::string_view kName = "search";
  static constexpr std::string_view kHelp =
      "Find the passages that are about some words, best first";

  std::string words = {};
  int64_t limit = 10;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("words", words,
          "words to look for, in any order and form; passages that have more of them, and "
          "rarer ones, come first (BM25). Of each there is an excerpt, and the line of the first "
          "word found in it. At most 200 different words are used, the first ones",
          config::required());
    field("limit", limit, "maximum number of passages (0: all)", config::at_least(0));
  }

  struct Answer {
    std::vector<store::FoundPassage> passages;  ///< best first

    config::Json json() const;
  };
  /// Throws UsageError where an earlier version wrote the store, which has no index then.
  Answer run(const store::MemoStore& store, const OnProgress& on_progress) const;
};

/// Lists the documents. Parts of a list fit together whatever is stored or forgotten in between: a
/// document that is there all the time is in one of them.
struct Documents {
  static constexpr std::string_view kName = "documents";
  static constexpr std::string_view kHelp = "List the documents";

  std::vector<std::string> meta = {};
  std::string since = {}, before = {}, after = {};
  int64_t limit = 0;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("meta", meta,
          "KEY=VALUE: only documents that were memorized with this; may be given several times");
    field("since", since, "YYYY-MM-DD: only documents memorized on this day (UTC) or later");
    field("before", before, "YYYY-MM-DD: only documents memorized before this day");
    field("limit", limit, "maximum number of documents (0: all)", config::at_least(0));
    field("after", after, "an id: only documents whose ids come after it, to go on with a list");
  }

  struct Listed {
    store::StoredDocument document;
    store::DocumentDetails details;
  };
  struct Answer {
    std::vector<Listed> documents = {};  ///< in the order of their ids, byte by byte
    int64_t total = 0;                   ///< that match, also before and behind these
    bool has_more = false;               ///< behind these
    bool erasure_pending = false;        ///< as store::Ledger has it
    std::vector<std::string> unerased = {};

    config::Json json() const;
  };
  Answer run(const store::MemoStore& store, const OnProgress& on_progress) const;
};

/// Gives back a document, or lines of it.
struct Show {
  static constexpr std::string_view kName = "show";
  static constexpr std::string_view kHelp = "Print the text of a document";

  std::string id = {}, range = {};

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("id", id, "its id, as 'tessera memo documents' prints it", config::required());
    field("range", range, "only these lines: 12, 12-20 or 12-");
  }

  struct Answer {
    store::StoredDocument document;
    store::DocumentDetails details;
    int64_t first_line = 1;  ///< of the text
    std::string text;

    config::Json json() const;
  };
  Answer run(const store::MemoStore& store, const OnProgress& on_progress) const;
};

/// What a store holds and how full it is (store::statistics_of); on request, how well it recalls.
struct Stat {
  static constexpr std::string_view kName = "stat";
  static constexpr std::string_view kHelp =
      "What the store holds, how full it is, and the digest of its memory";
  static constexpr std::string_view kDoing = "Recalling";

  int64_t measure = 0;
  uint64_t seed = 0;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("measure", measure, "measure the recall at this many positions of the documents",
          config::at_least(0));
    field("seed", seed, "random seed of the choice of positions");
  }

  struct Answer {
    store::StoreStatistics statistics;
    std::optional<store::MeasuredRecall> measured;

    config::Json json() const;
  };
  Answer run(const store::MemoStore& store, const OnProgress& on_progress) const;
};

/// Checks every file against every other (store::verify).
struct Verify {
  static constexpr std::string_view kName = "verify";
  static constexpr std::string_view kHelp =
      "Check every file, and compare the memory with one rebuilt from the documents";
  static constexpr std::string_view kDoing = "Verifying";

  template <typename Visitor>
  void visit_fields(Visitor&&) {}

  struct Answer {
    store::Verification result;

    config::Json json() const;
  };
  /// Throws DataError that names what differs.
  Answer run(const store::MemoStore& store, const OnProgress& on_progress) const;
};

/// Memorizes one document (store::MemoWriter::memorize). The verb takes files; this is the route's.
struct Memorize {
  static constexpr std::string_view kName = "memorize";
  static constexpr std::string_view kHelp = "Memorize a document";

  std::string id = {}, text = {};
  bool replace = false;
  std::vector<std::string> meta = {};

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("id", id, "the id of the document", config::required());
    field("text", text, "its text", config::required());
    field("replace", replace, "replace the document of this id if there is one");
    field("meta", meta, "KEY=VALUE: kept with the document");
  }

  struct Answer {
    store::StoredDocument document;
    store::DocumentDetails details;
    store::Memorized outcome;
    bool erasure_pending = false;  ///< the text that it replaced is still in the files

    config::Json json() const;
  };
  Answer run(store::MemoWriter& writer, const OnProgress& on_progress) const;
};

/// The work of Memorize on a text that stands elsewhere.
Memorize::Answer memorize(store::MemoWriter& writer, const std::string& id, std::string_view text,
                          store::Duplicates duplicates, const store::Metadata& metadata,
                          const OnProgress& on_progress, store::Times times = store::Times::kKept);

/// Forgets a document, as if the store had never held it (store::MemoWriter::forget).
struct Forget {
  static constexpr std::string_view kName = "forget";
  static constexpr std::string_view kHelp = "Forget a document, as if the store had never held it";

  std::string id;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("id", id, "its id, as 'tessera memo documents' prints it", config::required());
  }

  struct Answer {
    store::StoredDocument document;
    bool erasure_pending = false;  ///< its text is still in the files (store::ErasureDelayed)

    config::Json json() const;
  };
  Answer run(store::MemoWriter& writer, const OnProgress& on_progress) const;
};

}  // namespace tessera::jobs
