#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "program/jobs/file_documents.h"
#include "program/jobs/store_jobs.h"
#include "tessera/base/config.h"
#include "tessera/store/memo_writer.h"

/// Jobs that memorize files. They are declared as the jobs on an open store are.
namespace tessera::jobs {

/// Which documents a command memorizes, and why others are left out.
struct Admitted {
  std::vector<FileDocument> documents;
  store::Metadata metadata;           ///< of each
  std::vector<std::string> named;     ///< ids of all, also of those that are left out
  std::vector<std::string> refusals;  ///< one message for each that is left out
  int64_t bytes = 0;
  /// Pairs that the store would hold, about, divided by those that it recalls at 99 %.
  double load = 0;
};

/// What memorize and update have in common.
struct Files {
  static constexpr std::string_view kDoing = "Memorizing";

  std::vector<std::string> files = {}, exclude = {}, meta = {};
  std::optional<std::string> id = {};
  bool plain = false, keep_going = false, no_times = false, replace = false, prune = false;
  /// Only the documents of this one of so many parts; that of a document depends on its id alone.
  size_t shard = 0, shards = 1;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field(
        "files", files,
        "text files, pages in HTML, PDF files; JSON lines, where the text of each line is a "
        "document; folders, where every file below is read; or - for standard input. The id of a "
        "document is its file name, or its path within the folder; that of a JSON line ends in :ID",
        config::required());
    field("id", id, "the id of a single document");
    field("meta", meta,
          "KEY=VALUE: keep this with each of the documents, for 'tessera memo documents'; may be "
          "given several times");
    field("exclude", exclude, kExcludeHelp);
    field("plain", plain, "read every file as it is, a page in HTML with its tags");
    field("no_times", no_times, "do not keep when the documents were memorized");
    field("keep_going", keep_going,
          "leave out documents that cannot be memorized, list them at the end and end with "
          "status 1; without it one bad document stops the command");
  }

  struct Answer {
    std::vector<Memorize::Answer> documents;
    std::vector<Forget::Answer> pruned;
    std::vector<std::string> refusals;

    config::Json json() const;
  };
  /// Told of each document when it is memorized, and of each that is forgotten.
  struct OnNews {
    std::function<void(const Memorize::Answer&)> memorized = [](const Memorize::Answer&) {};
    std::function<void(const Forget::Answer&)> pruned = [](const Forget::Answer&) {};
  };

  /// Looks at every document before the first one is stored. Throws what is wrong with the first
  /// bad one, also UsageError where it has the id of another; keep_going leaves those out, but with
  /// prune not what cannot be listed: a missing, an empty or an unreadable folder.
  Admitted admitted(const store::MemoWriter& writer) const;
  /// Memorizes them; progress is counted in bytes, also after each document. Throws Interrupted
  /// where on_progress does; whole documents are kept then.
  Answer memorize(store::MemoWriter& writer, const Admitted& admitted, const OnNews& on_news,
                  const OnProgress& on_progress) const;
};

/// Memorizes files. As a job on a text that is not a file: Memorize.
struct MemorizeFiles : Files {
  static constexpr std::string_view kName = "memorize";
  static constexpr std::string_view kHelp = "Memorize documents";

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    Files::visit_fields(field);
    field("replace", replace,
          "replace documents that the store already holds; unchanged ones are skipped");
  }
};

/// Makes a store hold what files say now.
struct Update : Files {
  static constexpr std::string_view kName = "update";
  static constexpr std::string_view kHelp =
      "Memorize what is new or has changed: a changed document is forgotten and memorized again in "
      "one step, an unchanged one is left as it is";

  Update() { replace = true; }

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    Files::visit_fields(field);
    field("prune", prune, "forget the documents that are not among these files any more");
  }

  /// Then, with prune, forgets; `answer` gets those. Progress is counted in tokens of each
  /// document.
  void forget_others(store::MemoWriter& writer, const Admitted& admitted, const OnNews& on_news,
                     const OnProgress& on_progress, Answer& answer) const;
  Answer run(store::MemoWriter& writer, const OnProgress& on_progress) const;
};

}  // namespace tessera::jobs
