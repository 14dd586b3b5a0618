// tessera memo forget STORE ID…

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "program/cli/memo_verbs.h"
#include "program/cli/program.h"
#include "program/jobs/store_jobs.h"
#include "tessera/base/error.h"
#include "tessera/base/interrupt.h"
#include "tessera/base/progress.h"
#include "tessera/store/memo_writer.h"

namespace tessera::cli {
namespace {

struct ForgetOptions {
  std::string store;
  std::vector<std::string> ids;
  bool json = false;
};

/// Whether an earlier command forgot the document without erasing its text.
bool is_half_forgotten(const store::MemoWriter& writer, const std::string& id) {
  const auto& ids = writer.left_unerased();
  return !writer.ledger().find(id) && std::ranges::find(ids, id) != ids.end();
}

/// Says of one that is not there which may have been meant, before any is forgotten.
std::vector<store::StoredDocument> find_all(const store::MemoWriter& writer,
                                            const std::vector<std::string>& ids) {
  std::vector<store::StoredDocument> documents;
  for (const auto& id : ids) {
    if (is_half_forgotten(writer, id)) continue;
    documents.push_back(writer.ledger().get(id));
    for (size_t i = 0; i + 1 < documents.size(); ++i)
      if (documents[i].id == id) throw UsageError("'{}' is named twice", id);
  }
  return documents;
}

void run_forget(const ForgetOptions& options) {
  store::MemoWriter writer(options.store);
  int64_t tokens = 0, done = 0;
  const auto documents = find_all(writer, options.ids);
  std::vector<std::string> half_forgotten;
  std::ranges::copy_if(options.ids, std::back_inserter(half_forgotten),
                       [&](const std::string& id) { return is_half_forgotten(writer, id); });
  for (const auto& document : documents) tokens += document.tokens;
  const InterruptGuard interrupt;
  Progress progress(stderr, "Forgetting", tokens);
  for (const auto& document : documents) {
    if (InterruptGuard::interrupted()) break;
    const auto on_tokens = [&](int64_t so_far, int64_t) {
      progress.update(done + so_far, document.id);
    };
    const auto answer = jobs::Forget{document.id}.run(writer, on_tokens);
    done += document.tokens;
    progress.wipe();
    if (options.json)
      print_json(answer.json());
    else
      fmt::print("{}: forgotten, {} tokens\n", document.id, document.tokens);
    std::fflush(stdout);
  }
  progress.update(done);
  writer.checkpoint();
  for (const auto& id : half_forgotten)
    if (options.json)
      print_json({{"id", id}, {"object", "document"}, {"deleted", true}});
    else
      fmt::print("{}: had been forgotten before; its text is erased now\n", id);
  if (done < tokens) throw Interrupted("interrupted; what is printed is forgotten, the rest kept");
}

}  // namespace

void add_memo_forget(Verb& memo) {
  auto options = std::make_shared<ForgetOptions>();
  Verb& verb = memo.verb("forget", "Forget documents, as if the store had never held them");
  add_store(verb, options->store);
  verb.option("id", options->ids, "Ids of documents, as 'tessera memo documents' prints them")
      .required();
  verb.flag("--json", options->json, "Print one JSON object per document");
  verb.run([options] { run_forget(*options); });
}

}  // namespace tessera::cli
