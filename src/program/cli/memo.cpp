// tessera memo: a memory of documents

#include <fmt/format.h>

#include "program/cli/memo_verbs.h"
#include "program/cli/program.h"

namespace tessera::cli {

void add_memo(Verb& program) {
  Verb& memo = program.verb(
      "memo",
      "A memory of documents: recites them, names the source of each token, forgets exactly");
  add_memo_create(memo);
  add_memo_memorize(memo);
  add_memo_update(memo);
  add_memo_recall(memo);
  add_memo_ask(memo);
  add_memo_complete(memo);
  add_memo_find(memo);
  add_memo_search(memo);
  add_memo_forget(memo);
  add_memo_documents(memo);
  add_memo_show(memo);
  add_memo_stat(memo);
  add_memo_verify(memo);
  add_memo_rebuild(memo);
  add_memo_merge(memo);
  add_memo_export(memo);
}

void add_store(Verb& verb, std::string& store) {
  verb.option("store", store, "The store, a folder").required();
}

std::string counted(int64_t count, const std::string& what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string readable_bytes(double bytes) {
  const char* units[] = {"bytes", "kB", "MB", "GB", "TB"};
  size_t unit = 0;
  for (; bytes >= 1000 && unit < 4; ++unit) bytes /= 1000;
  return fmt::format("{:.{}f} {}", bytes, unit == 0 ? 0 : 1, units[unit]);
}

std::string size_in_words(const memo::TextMemoryConfig& memory) {
  const std::string dimension = fmt::format("dimension {}", memory.dimension);
  return memory.shards == 1 ? dimension
                            : fmt::format("{} matrices of {}", memory.shards, dimension);
}

}  // namespace tessera::cli
