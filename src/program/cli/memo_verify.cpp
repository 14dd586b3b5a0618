// tessera memo verify STORE [--repair]

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "program/cli/memo_verbs.h"
#include "program/cli/program.h"
#include "tessera/base/progress.h"
#include "tessera/store/memo_store.h"
#include "tessera/store/memo_writer.h"
#include "tessera/store/store_json.h"
#include "tessera/store/verify.h"

namespace tessera::cli {
namespace {

struct VerifyOptions {
  std::string store;
  bool repair = false, json = false;
};

void repair(const std::string& store) {
  store::MemoWriter writer(store);
  Progress progress(stderr, "Rebuilding", writer.ledger().totals().tokens);
  writer.rebuild([&](int64_t done, int64_t) { progress.update(done); });
  writer.checkpoint();
}

void run_verify(const VerifyOptions& options) {
  if (options.repair) repair(options.store);
  const store::MemoStore store(options.store);
  Progress progress(stderr, "Verifying", store.ledger().totals().tokens);
  const store::Verification result =
      store::verify(store, [&](int64_t done, int64_t) { progress.update(done); });
  progress.update(result.totals.tokens);
  progress.finish();
  if (options.json)
    print_json(store::json_of(result));
  else
    fmt::print("{}: {}, {}, {} tokens, {} pairs, digest {}\n", options.store,
               result.erasure_pending ? "not verified" : "verified",
               counted(result.totals.documents, "document"), result.totals.tokens,
               result.totals.pairs, result.digest);
  if (result.erasure_pending) throw std::runtime_error(erasure_note(store.ledger()));
}

}  // namespace

void add_memo_verify(Verb& memo) {
  auto options = std::make_shared<VerifyOptions>();
  Verb& verb = memo.verb(
      "verify", "Check every file, and compare the memory with one rebuilt from the documents");
  add_store(verb, options->store);
  verb.flag("--repair", options->repair,
            "First rebuild the matrix from the documents in the ledger");
  verb.flag("--json", options->json, "Print a JSON object");
  verb.run([options] { run_verify(*options); });
}

}  // namespace tessera::cli
