// tessera memo memorize STORE FILE…

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "program/cli/memo_verbs.h"
#include "program/cli/program.h"
#include "program/jobs/metadata.h"
#include "program/jobs/store_jobs.h"
#include "tessera/base/error.h"
#include "tessera/base/interrupt.h"
#include "tessera/base/launched_process.h"
#include "tessera/base/physical_memory.h"
#include "tessera/base/progress.h"
#include "tessera/data/text_source.h"
#include "tessera/store/memo_writer.h"
#include "tessera/store/statistics.h"

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;

struct MemoMemorizeArguments {
  std::string store, shard;
  std::optional<std::string> id;
  std::vector<std::string> files, metadata;
  bool replace = false, keep_going = false, json = false;
};

constexpr const char* kAutomaticShard = "auto";

/// Which documents of a list one process memorizes.
struct Shard {
  size_t number = 0, count = 1;

  bool holds(size_t document) const { return document % count == number % count; }
};

/// The shard of this one of several processes.
Shard launched_shard() {
  if (std::getenv("SLURM_ARRAY_TASK_ID") != nullptr)
    throw UsageError(
        "--shard auto takes the processes of one job; in a Slurm array give --shard "
        "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT");
  const auto launched = LaunchedProcess::from_environment();
  if (!launched)
    throw UsageError(
        "--shard auto: no launcher says how many processes there are (WORLD_SIZE, "
        "OMPI_COMM_WORLD_SIZE or SLURM_NTASKS); give I/N, for example 1/4");
  return {static_cast<size_t>(launched->rank), static_cast<size_t>(launched->count)};
}

Shard parse_shard(const std::string& text) {
  Shard shard;
  if (text.empty()) return shard;
  if (text == kAutomaticShard) return launched_shard();
  const char* last = text.data() + text.size();
  const auto [slash, no_number] = std::from_chars(text.data(), last, shard.number);
  const bool divided = no_number == std::errc() && slash != last && *slash == '/';
  const auto [end, no_count] = std::from_chars(divided ? slash + 1 : last, last, shard.count);
  if (no_count != std::errc() || end != last || shard.count == 0 || shard.number > shard.count)
    throw UsageError("--shard is '{}', expected I/N, for example 1/4, or auto", text);
  return shard;
}

/// The store of a process that takes its shard from its launcher: {rank} in its name is the
/// process's number.
std::string store_of_process(std::string name, const Shard& shard) {
  constexpr std::string_view kRank = "{rank}";
  for (size_t at = name.find(kRank); at != std::string::npos; at = name.find(kRank, at))
    name.replace(at, kRank.size(), std::to_string(shard.number));
  fmt::print(stderr, "{}: shard {} of {}\n", name, shard.number, shard.count);
  return name;
}

/// A document that is to be memorized; nothing of it is in memory but standard input's text.
struct Document {
  std::string id;
  std::string name;  // where it comes from
  std::shared_ptr<const TextSource> source;
  size_t number = 0;  // in the source
  std::string text;   // of standard input

  void visit(const TextSource::Visitor& visit) const {
    source ? source->visit(number, visit) : visit(name, text);
  }
};

std::string read_standard_input() {
  const int64_t limit = physical_memory() / 4;
  std::string text;
  std::array<char, 1 << 16> buffer;
  while (std::cin.read(buffer.data(), buffer.size()) || std::cin.gcount() > 0) {
    text.append(buffer.data(), static_cast<size_t>(std::cin.gcount()));
    if (static_cast<int64_t>(text.size()) > limit)
      throw DataError("standard input",
                      "has more than {} bytes, a quarter of the memory of this "
                      "machine; put it into a file",
                      limit);
  }
  return text;
}

std::vector<Document> documents_of(const std::string& path) {
  if (path == "-") return {{"", "standard input", nullptr, 0, read_standard_input()}};
  const auto source = std::make_shared<const TextSource>(TextSource::from_path(path));
  const bool folder = fs::is_directory(path);
  std::vector<Document> documents;
  for (size_t number = 0; number < source->documents(); ++number) {
    const fs::path name = source->name(number);
    documents.push_back({folder ? name.lexically_relative(path).native() : name.filename().native(),
                         name.native(), source, number, ""});
  }
  return documents;
}

/// All documents of the command line, each with an id of its own.
std::vector<Document> list_documents(const MemoMemorizeArguments& options) {
  std::vector<Document> documents;
  for (const auto& file : options.files)
    for (auto& document : documents_of(file)) documents.push_back(std::move(document));
  if (options.id) {
    if (documents.size() != 1)
      throw UsageError("--id names one document, but there are {}", documents.size());
    documents.front().id = *options.id;
  }
  std::map<std::string, std::string> names;
  for (const auto& document : documents) {
    if (document.id.empty() && !options.id)
      throw UsageError("standard input has no name; give it one with --id");
    const auto [known, is_new] = names.emplace(document.id, document.name);
    if (!is_new)
      throw UsageError(
          "{} and {} would both be '{}'; memorize the folder above them, or one at a time with "
          "--id",
          known->second, document.name, document.id);
  }
  return documents;
}

/// Which documents are memorized, and why the others are not.
struct Admitted {
  std::vector<Document> documents;
  int64_t bytes = 0;
  std::vector<std::string> refusals;
};

/// Looks at every document before the first one is stored, so that a bad one stops all, or, with
/// --keep-going, is left out.
Admitted admit(const std::vector<Document>& documents, const store::MemoWriter& writer,
               store::Duplicates duplicates, bool keep_going) {
  Admitted admitted;
  for (const auto& document : documents) try {
      int64_t bytes = 0;
      writer.check_id(document.id, duplicates);
      document.visit([&](const std::string&, std::string_view text) {
        bytes = static_cast<int64_t>(text.size());
      });
      admitted.bytes += bytes;
      admitted.documents.push_back(document);
    } catch (const std::runtime_error& error) {
      if (!keep_going) throw;
      admitted.refusals.push_back(error.what());
    }
  return admitted;
}

void print_outcome(const jobs::Memorize::Answer& answer, bool json) {
  const auto& [document, details, outcome] = answer;
  if (json)
    print_json(answer.json());
  else if (outcome == store::Memorized::kUnchanged)
    fmt::print("{}: unchanged\n", document.id);
  else
    fmt::print("{}: {} tokens, {} pairs{}\n", document.id, document.tokens, document.pairs,
               outcome == store::Memorized::kReplaced ? ", replaced" : "");
  std::fflush(stdout);
}

/// How many documents had each outcome.
using Outcomes = std::array<int64_t, enum_names(store::Memorized{}).size()>;

Outcomes memorize_all(const Admitted& admitted, store::MemoWriter& writer,
                      store::Duplicates duplicates, const store::Metadata& metadata, bool json) {
  Outcomes outcomes{};
  const InterruptGuard interrupt;
  Progress progress(stderr, "Memorizing", admitted.bytes);
  int64_t bytes_done = 0;
  size_t done = 0;
  for (const auto& document : admitted.documents) {
    if (InterruptGuard::interrupted()) break;
    document.visit([&](const std::string&, std::string_view text) {
      const auto size = static_cast<double>(text.size());
      const auto show = [&](int64_t tokens, int64_t of) {
        const double share = static_cast<double>(tokens) / static_cast<double>(of);
        progress.update(bytes_done + static_cast<int64_t>(share * size), document.id);
      };
      const auto answer = jobs::memorize(writer, document.id, text, duplicates, metadata, show);
      ++outcomes[static_cast<size_t>(answer.outcome)];
      bytes_done += static_cast<int64_t>(text.size());
      progress.wipe();
      print_outcome(answer, json);
    });
    progress.update(bytes_done, document.id);
    ++done;
  }
  writer.checkpoint();
  if (done < admitted.documents.size())
    throw Interrupted(
        fmt::format("interrupted; {} of {} are memorized and kept; continue with the same command "
                    "and --replace",
                    done, counted(static_cast<int64_t>(admitted.documents.size()), "document")));
  return outcomes;
}

void warn_if_overfull(const store::MemoWriter& writer) {
  const memo::TextMemoryConfig& memory = writer.config().memory;
  const auto pairs = static_cast<double>(writer.ledger().totals().pairs);
  const double load = pairs / std::max(1.0, store::pair_capacity(memory));
  if (load <= 1) return;
  const double dimension = std::sqrt(load) * static_cast<double>(memory.dimension);
  fmt::print(stderr,
             "tessera: warning: the store holds {:.2f} times as many pairs as it can recall with "
             "99 % accuracy; a dimension of {:.0f} would hold them\n",
             load, 64 * std::ceil(dimension / 64));
}

void run_memo_memorize(const MemoMemorizeArguments& options) {
  const Shard shard = parse_shard(options.shard);
  const store::Metadata metadata = jobs::parse_metadata("--meta", options.metadata);
  store::MemoWriter writer(options.shard == kAutomaticShard ? store_of_process(options.store, shard)
                                                            : options.store);
  std::vector<Document> documents;
  size_t number = 0;
  for (auto& document : list_documents(options))
    if (shard.holds(number++)) documents.push_back(std::move(document));
  const store::Duplicates duplicates =
      options.replace ? store::Duplicates::kReplace : store::Duplicates::kRefuse;
  const Admitted admitted = admit(documents, writer, duplicates, options.keep_going);
  const Outcomes outcomes = memorize_all(admitted, writer, duplicates, metadata, options.json);
  if (options.replace)
    fmt::print(stderr, "{} new, {} replaced, {} unchanged\n", outcomes[0], outcomes[1],
               outcomes[2]);
  warn_if_overfull(writer);
  for (const auto& refusal : admitted.refusals) fmt::print(stderr, "not memorized: {}\n", refusal);
  if (!admitted.refusals.empty())
    throw std::runtime_error(fmt::format("{} of {} were not memorized", admitted.refusals.size(),
                                         counted(std::ssize(documents), "document")));
}

}  // namespace

namespace {

/// What memorize and update have in common.
void add_arguments(Verb& verb, const std::shared_ptr<MemoMemorizeArguments>& options) {
  add_store(verb, options->store);
  verb.option("file", options->files,
              "Text files; folders, where every file below is a document; or - for standard input. "
              "The id of a document is its file name, or its path within the folder")
      .required();
  verb.option("--id", options->id, "The id of a single document");
  verb.option(
      "--meta", options->metadata,
      "KEY=VALUE: keep this with each of the documents, for 'tessera memo documents'; may be "
      "given several times");
  verb.flag("--keep-going", options->keep_going,
            "Leave out documents that cannot be memorized, list them at the end and end with "
            "status 1; without it one bad document stops all");
  verb.flag("--json", options->json, "Print one JSON object per document");
  verb.run([options] { run_memo_memorize(*options); });
}

}  // namespace

void add_memo_memorize(Verb& memo) {
  auto options = std::make_shared<MemoMemorizeArguments>();
  Verb& verb = memo.verb("memorize", "Memorize documents");
  add_arguments(verb, options);
  verb.option(
      "--shard", options->shard,
      "I/N: memorize only every Nth document, those number I, I + N, …, counted from 0 (N/N is "
      "0/N); the stores of all N shards can be merged. auto: I and N are what torchrun, "
      "mpirun or srun say, and {rank} in the name of the store is I");
  verb.flag("--replace", options->replace,
            "Replace documents that the store already holds; unchanged ones are skipped");
}

void add_memo_update(Verb& memo) {
  auto options = std::make_shared<MemoMemorizeArguments>();
  options->replace = true;
  add_arguments(
      memo.verb("update",
                "Memorize what is new or has changed: a changed document is forgotten and "
                "memorized again in one step, an unchanged one is left as it is"),
      options);
}

}  // namespace tessera::cli
