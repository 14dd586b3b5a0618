#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "program/jobs/file_documents.h"
#include "program/jobs/store_jobs.h"
#include "tessera/base/config.h"
#include "tessera/store/audit.h"

namespace tessera::jobs {

/// Says of texts whether a store holds them (store::audit_text).
struct Audit {
  static constexpr std::string_view kName = "audit";
  static constexpr std::string_view kHelp =
      "Say of each text whether the store holds it, partly, or not, and how much of it could be "
      "extracted";
  static constexpr std::string_view kDoing = "Asking";

  std::vector<std::string> files = {}, exclude = {};
  std::string controls = {};

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("files", files, "text files, or folders of them", config::required());
    field("controls", controls,
          "folder of texts of the same kind that the store never held; the answer then says "
          "how well they can be told apart from the files");
    field("exclude", exclude, kExcludeHelp);
  }

  struct Audited {
    std::string name;
    std::string document;  ///< id of the document with this text, byte for byte, if there is one
    std::optional<store::TextAudit> audit;  ///< none of a text that is too short to be asked for
    std::optional<double> exposure;         ///< bits, among the controls
  };
  /// Areas under the curve of the texts against the controls: 0.5, nothing tells them apart.
  struct Membership {
    double by_likelihood = 0, by_lowest = 0;
  };
  struct Answer {
    std::vector<Audited> texts, controls;
    std::optional<Membership> membership;

    config::Json json() const;
  };
  /// Looks at every text before it asks for the first one; throws what is wrong with one, as
  /// Files::admitted() does. Progress is counted in texts, then in tokens of each text.
  Answer run(const store::MemoStore& store, const OnProgress& on_progress) const;
};

}  // namespace tessera::jobs
