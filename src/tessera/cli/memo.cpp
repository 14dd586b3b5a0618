// tessera memo: a memory of documents

#include "tessera/cli/memo_verbs.h"
#include "tessera/cli/program.h"

namespace tessera::cli {

void add_memo(CLI::App& program) {
  CLI::App* memo = program.add_subcommand(
      "memo", "A memory of documents: recites them, says where from, forgets them exactly");
  memo->require_subcommand(1);
  add_memo_create(*memo);
  add_memo_memorize(*memo);
  add_memo_recall(*memo);
  add_memo_complete(*memo);
  add_memo_find(*memo);
  add_memo_forget(*memo);
  add_memo_documents(*memo);
  add_memo_stat(*memo);
  add_memo_verify(*memo);
  add_memo_merge(*memo);
  add_memo_export(*memo);
}

}  // namespace tessera::cli
