#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "program/jobs/store_jobs.h"
#include "tessera/base/config.h"
#include "tessera/store/certificate.h"
#include "tessera/store/shared_passages.h"

/// Jobs that honour and show erasure requests. They are declared as the jobs on an open store are.
namespace tessera::jobs {

/// Forgets all documents that are asked for, and writes a certificate if one is.
struct Erase {
  static constexpr std::string_view kName = "forget";
  static constexpr std::string_view kHelp = "Forget documents, as if the store had never held them";
  static constexpr std::string_view kDoing = "Forgetting";

  std::vector<std::string> ids = {}, meta = {};
  std::string containing = {}, certificate = {}, key = {};
  bool dry_run = false;
  /// Whether its end waits for processes that read what is forgotten. No field.
  store::Readers readers = store::Readers::kWait;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field(
        "ids", ids,
        "ids of documents, as 'tessera memo documents' prints them, or globs such as 'letters/*'");
    field("containing", containing,
          "forget the documents that contain this text, typed in any way, as for 'tessera "
          "memo find'. With ids: only those of them");
    field("meta", meta,
          "KEY=VALUE: forget the documents that were memorized with this; may be given "
          "several times. With ids: only those of them");
    field("dry_run", dry_run, "only say what would be forgotten");
    field("certificate", certificate,
          "FILE: write a certificate there, as JSON, that shows that nothing is left, and "
          "the same as a page to FILE with the ending .html");
    field("key", key,
          "file with an Ed25519 private key (PEM) that signs the certificate; 'openssl genpkey "
          "-algorithm ed25519' makes one");
  }

  /// The page beside the certificate.
  std::filesystem::path page() const {
    return std::filesystem::path(certificate).replace_extension(".html");
  }

  struct Answer {
    std::vector<Forget::Answer> documents;       ///< that are forgotten, or would be
    std::vector<store::SharedPassages> shared;   ///< documents that stay and have passages of them
    std::vector<std::string> forgotten_earlier;  ///< ids; their text was not erased until now
    bool dry_run = false;
    std::optional<store::Certificate> certificate;

    config::Json json() const;
    /// An entry of its "data" for a document of forgotten_earlier.
    static config::Json json_of_earlier(const std::string& id);
  };
  /// Told what will be forgotten before it is, then of each document that is. `begins`: what a part
  /// of the work does, before it tells its progress.
  struct OnNews {
    std::function<void(const Answer&)> listed = [](const Answer&) {};
    std::function<void(const Forget::Answer&)> forgotten = [](const Forget::Answer&) {};
    std::function<void(std::string_view doing)> begins = [](std::string_view) {};
  };
  /// Throws UsageError where nothing is asked for or no document fits, before any is forgotten (one
  /// that was forgotten earlier fits where no certificate is asked for: its text is erased now);
  /// Interrupted where on_progress does: then what was told is forgotten, and the rest is kept; no
  /// certificate is written; std::runtime_error where a certificate is asked for and a process goes
  /// on to read the store, before any document is forgotten; store::ErasureDelayed where one goes
  /// on to read what is forgotten.
  Answer run(const std::filesystem::path& store, const OnNews& on_news,
             const OnProgress& on_progress) const;
  Answer run(const std::filesystem::path& store, const OnProgress& on_progress) const;
};

/// A certificate as a page that people read and print: one HTML file without scripts. json: of the
/// certificate, with its signature if it has one.
std::string certificate_page(const store::Certificate& certificate, const config::Json& json);

/// The erasures from a store, whatever command or server made them, as far as it keeps a history: a
/// file of its own, history.jsonl, with digests, sizes and times, and no text.
struct History {
  static constexpr std::string_view kName = "history";
  static constexpr std::string_view kHelp =
      "List what was forgotten and when, without its text, once a history is begun";

  bool begin = false;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("begin", begin, "keep a history from now on");
  }

  struct Answer {
    bool kept = false;
    std::vector<config::Json> events;

    config::Json json() const;
  };
  Answer run(const std::filesystem::path& store, const OnProgress& on_progress) const;
};

}  // namespace tessera::jobs
