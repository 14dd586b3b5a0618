#include "tessera/store/detail/history.h"

#include <ctime>
#include <nlohmann/json.hpp>

#include "tessera/base/config.h"
#include "tessera/base/file.h"
#include "tessera/store/certificate.h"
#include "tessera/store/digest.h"
#include "tessera/store/store_folder.h"

namespace tessera::store {

void note_in_history(const std::filesystem::path& folder, const Ledger& ledger,
                     std::span<const std::string> digests) {
  const std::filesystem::path path = folder / StoreFolder::kHistoryFile;
  const std::vector<ForgottenDocument> forgotten = ledger.forgotten();
  if (forgotten.empty() || !is_there(path)) return;
  const std::string before = read_file(path), time = utc_time(std::time(nullptr));
  const std::vector<std::string> settled = ledger.settled_digests();
  const std::string digest_before = settled.empty() ? "" : digest_of_shards(settled);
  std::string history = before;
  if (!history.empty() && history.back() != '\n') history += '\n';  // edited by hand
  for (const ForgottenDocument& document : forgotten) {
    if (before.find(document.digest, document.history_bytes) != std::string::npos) continue;
    history += config::Json{{"time", time},
                            {"event", "forgotten"},
                            {"sha256", document.digest},
                            {"bytes", document.bytes},
                            {"tokens", document.tokens},
                            {"digest_before", digest_before},
                            {"digest_after", digest_of_shards(digests)}}
                   .dump() +
               '\n';
  }
  if (history.size() > before.size() + 1) write_file(path, history);
}

}  // namespace tessera::store
