// tessera memo memorize STORE FILE…, tessera memo update STORE FILE…

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <type_traits>

#include "program/cli/memo_verbs.h"
#include "program/cli/program.h"
#include "program/jobs/erase_job.h"
#include "program/jobs/file_jobs.h"
#include "tessera/base/error.h"
#include "tessera/base/interrupt.h"
#include "tessera/base/machine.h"
#include "tessera/base/number.h"
#include "tessera/store/memo_writer.h"

namespace tessera::cli {
namespace {

template <typename Job>
struct FilesCommand : Command<Job> {
  std::string shard;
};

constexpr const char* kAutomaticShard = "auto";

/// The shard of this one of several processes.
void take_launched_shard(jobs::Files& files) {
  if (std::getenv("SLURM_ARRAY_TASK_ID") != nullptr)
    throw UsageError(
        "--shard auto takes the processes of one job; in a Slurm array give --shard "
        "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT");
  const auto launched = LaunchedProcess::from_environment();
  if (!launched)
    throw UsageError(
        "--shard auto: no launcher says how many processes there are (WORLD_SIZE, "
        "OMPI_COMM_WORLD_SIZE or SLURM_NTASKS); give I/N, for example 1/4");
  files.shard = launched->rank;
  files.shards = launched->count;
}

void take_shard(const std::string& text, jobs::Files& files) {
  if (text.empty()) return;
  if (text == kAutomaticShard) return take_launched_shard(files);
  const size_t slash = std::min(text.find('/'), text.size());
  const auto shard = number_from<size_t>(text.substr(0, slash));
  const auto shards = number_from<size_t>(text.substr(std::min(slash + 1, text.size())));
  if (!shard || !shards || *shards == 0 || *shard > *shards)
    throw UsageError("--shard is '{}', expected I/N, for example 1/4, or auto", text);
  files.shard = *shard;
  files.shards = *shards;
}

/// The store of a process that takes its shard from its launcher: {rank} in its name is the
/// process's number.
std::string store_of_process(std::string name, const jobs::Files& files) {
  constexpr std::string_view kRank = "{rank}";
  for (size_t at = name.find(kRank); at != std::string::npos; at = name.find(kRank, at))
    name.replace(at, kRank.size(), std::to_string(files.shard));
  say("{}: shard {} of {}\n", name, files.shard, files.shards);
  return name;
}

void print_outcome(const jobs::Memorize::Answer& answer, bool json) {
  const store::StoredDocument& document = answer.document;
  if (json)
    print_json(answer.json());
  else if (answer.outcome == store::Memorized::kDescribed)
    fmt::print("{}: has other metadata\n", document.id);
  else if (answer.outcome != store::Memorized::kUnchanged)
    fmt::print("{}: {} tokens, {} pairs{}\n", document.id, document.tokens, document.pairs,
               answer.outcome == store::Memorized::kReplaced ? ", replaced" : "");
  std::fflush(stdout);
}

/// Of what could not be known before: that documents share passages.
void warn_if_shared_passages_overfill(const store::MemoWriter& writer) {
  warn_if_overfull(writer.path(),
                   "passages that several documents share count several times; the store is as "
                   "full as with");
}

void print_counts(const jobs::Files::Answer& answer) {
  std::array<int64_t, enum_names(store::Memorized{}).size()> counts{};
  for (const auto& document : answer.documents) ++counts[static_cast<size_t>(document.outcome)];
  say("{} new, {} replaced, {} unchanged{}{}\n", counts[0], counts[1], counts[2],
      counts[3] == 0 ? "" : fmt::format(", {} with other metadata", counts[3]),
      answer.pruned.empty() ? "" : fmt::format(", {} forgotten", answer.pruned.size()));
}

/// What ends a command after it has printed documents.
SystemError saying_what_is_kept(const SystemError& error) {
  return SystemError(fmt::format("{}; the documents printed above are kept, and the next command "
                                 "that writes to the store finishes the work on them",
                                 error.what()),
                     error.code());
}

/// Writes the matrix, when all documents are in the ledger.
void settle(store::MemoWriter& writer) {
  try {
    writer.checkpoint();
  } catch (const SystemError& error) {
    throw saying_what_is_kept(error);
  }
}

/// Names the documents that were left out.
void print_refusals(const jobs::Files::Answer& answer) {
  for (const auto& refusal : answer.refusals) say("not memorized: {}\n", refusal);
}

/// Throws where documents were left out.
void check_complete(const jobs::Files::Answer& answer) {
  if (const size_t refused = answer.refusals.size(); refused > 0)
    throw std::runtime_error(fmt::format("{} of {} documents were not memorized", refused,
                                         refused + answer.documents.size()));
}

/// Brings the ledger up to date, and prints each document that changes.
template <typename Job>
jobs::Files::Answer edit(const FilesCommand<Job>& command, store::MemoWriter& writer,
                         const jobs::Admitted& admitted) {
  const Job& job = command.job;
  std::optional<JobBar> bar(Job::kDoing);
  int64_t done = 0;
  const jobs::Files::OnNews on_news{[&](const jobs::Memorize::Answer& answer) {
                                      ++done;
                                      bar->wipe();
                                      print_outcome(answer, command.json);
                                    },
                                    [&](const jobs::Forget::Answer& answer) {
                                      bar->wipe();
                                      print_forgotten(answer, command.json);
                                    }};
  jobs::Files::Answer answer;
  try {
    answer = job.memorize(writer, admitted, on_news, std::ref(*bar));
    bar.emplace(jobs::Erase::kDoing);
    if constexpr (std::is_same_v<Job, jobs::Update>)
      job.forget_others(writer, admitted, on_news, std::ref(*bar), answer);
  } catch (const Interrupted&) {
    settle(writer);
    throw Interrupted(fmt::format(
        "interrupted; {} of {} documents are memorized and kept; continue with the same command{}",
        done, admitted.documents.size(), job.replace ? "" : " and --replace"));
  } catch (const SystemError& error) {
    if (done == 0) throw;
    throw saying_what_is_kept(error);
  }
  return answer;
}

template <typename Job>
void run_files(FilesCommand<Job> command) {
  Job& job = command.job;
  take_shard(command.shard, job);
  store::MemoWriter writer(command.shard == kAutomaticShard ? store_of_process(command.store, job)
                                                            : command.store);
  const jobs::Admitted admitted = job.admitted(writer);
  const bool warned = warned_of_overfull(writer.config().memory, admitted.load,
                                         "with these documents the store will hold");
  const InterruptGuard interrupt;
  const jobs::Files::Answer answer = edit(command, writer, admitted);
  if (job.replace) print_counts(answer);
  print_refusals(answer);
  settle(writer);
  const bool stored = std::ranges::any_of(answer.documents, [](const auto& document) {
    return document.outcome == store::Memorized::kNew ||
           document.outcome == store::Memorized::kReplaced;
  });
  if (stored && !warned) warn_if_shared_passages_overfill(writer);
  check_complete(answer);
}

template <typename Job>
Verb& add_files_verb(Verb& memo, const std::shared_ptr<FilesCommand<Job>>& command) {
  return add_job_verb(memo, command, {"files"}, "Print one JSON object per document",
                      run_files<Job>);
}

}  // namespace

void add_memo_memorize(Verb& memo) {
  const auto command = std::make_shared<FilesCommand<jobs::MemorizeFiles>>();
  add_files_verb(memo, command)
      .option("--shard", command->shard,
              "I/N: memorize only part I of N (N/N is 0/N); a document's id alone decides in which "
              "part it is, and the stores of all N parts can be merged. auto: I and N are what "
              "torchrun, mpirun or srun say, and {rank} in the name of the store is I");
}

void add_memo_update(Verb& memo) {
  add_files_verb(memo, std::make_shared<FilesCommand<jobs::Update>>());
}

}  // namespace tessera::cli
