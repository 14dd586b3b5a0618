// tessera memo memorize STORE FILE…

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>
#include <map>

#include "tessera/base/error.h"
#include "tessera/base/interrupt.h"
#include "tessera/base/physical_memory.h"
#include "tessera/base/progress.h"
#include "tessera/cli/memo_verbs.h"
#include "tessera/data/text_source.h"
#include "tessera/store/fullness.h"
#include "tessera/store/memo_writer.h"

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;

struct MemoMemorizeArguments {
  std::string store, id, shard;
  std::vector<std::string> files;
  bool replace = false;
};

/// Which documents of a list one process memorizes.
struct Shard {
  size_t number = 0, count = 1;

  bool holds(size_t document) const { return document % count == number % count; }
};

Shard parse_shard(const std::string& text) {
  Shard shard;
  char rest;
  if (text.empty()) return shard;
  if (text.front() == '-' ||
      std::sscanf(text.c_str(), "%zu/%zu%c", &shard.number, &shard.count, &rest) != 2 ||
      shard.count == 0 || shard.number > shard.count)
    throw UsageError("--shard is '{}', expected I/N, for example 1/4", text);
  return shard;
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
  if (!options.id.empty()) {
    if (documents.size() != 1)
      throw UsageError("--id names one document, but there are {}", documents.size());
    documents.front().id = options.id;
  }
  std::map<std::string, std::string> names;
  for (const auto& document : documents) {
    if (document.id.empty()) throw UsageError("standard input has no name; give it one with --id");
    const auto [known, is_new] = names.emplace(document.id, document.name);
    if (!is_new)
      throw UsageError(
          "{} and {} would both be '{}'; memorize the folder above them, or one at a time with "
          "--id",
          known->second, document.name, document.id);
  }
  return documents;
}

/// Looks at every document before the first one is stored, so that a bad one stops all. Returns
/// their bytes.
int64_t check_documents(const std::vector<Document>& documents, const store::MemoWriter& writer,
                        store::Duplicates duplicates) {
  int64_t bytes = 0;
  for (const auto& document : documents) {
    writer.check_id(document.id, duplicates);
    document.visit([&](const std::string&, std::string_view text) {
      bytes += static_cast<int64_t>(text.size());
    });
  }
  return bytes;
}

std::string outcome_text(store::Memorized outcome, const store::StoredDocument& document) {
  if (outcome == store::Memorized::kUnchanged) return "unchanged";
  return fmt::format("{} tokens, {} pairs{}", document.tokens, document.pairs,
                     outcome == store::Memorized::kReplaced ? ", replaced" : "");
}

void memorize_all(const std::vector<Document>& documents, store::MemoWriter& writer, int64_t bytes,
                  store::Duplicates duplicates) {
  const InterruptGuard interrupt;
  Progress progress(stderr, "Memorizing", bytes);
  int64_t bytes_done = 0;
  size_t done = 0;
  for (const auto& document : documents) {
    if (InterruptGuard::interrupted()) break;
    document.visit([&](const std::string&, std::string_view text) {
      const auto size = static_cast<double>(text.size());
      const store::Memorized outcome =
          writer.memorize(document.id, text, duplicates, [&](int64_t tokens, int64_t of) {
            const double share = static_cast<double>(tokens) / static_cast<double>(of);
            progress.update(bytes_done + static_cast<int64_t>(share * size), document.id);
          });
      bytes_done += static_cast<int64_t>(text.size());
      progress.wipe();
      fmt::print("{}: {}\n", document.id,
                 outcome_text(outcome, *writer.ledger().find(document.id)));
      std::fflush(stdout);
    });
    progress.update(bytes_done, document.id);
    ++done;
  }
  writer.checkpoint();
  if (done < documents.size())
    throw Interrupted(
        fmt::format("interrupted; {} of {} are memorized and kept; continue with the same command "
                    "and --replace",
                    done, counted(static_cast<int64_t>(documents.size()), "document")));
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
  store::MemoWriter writer(options.store);
  std::vector<Document> documents;
  size_t number = 0;
  for (auto& document : list_documents(options))
    if (shard.holds(number++)) documents.push_back(std::move(document));
  const store::Duplicates duplicates =
      options.replace ? store::Duplicates::kReplace : store::Duplicates::kRefuse;
  const int64_t bytes = check_documents(documents, writer, duplicates);
  memorize_all(documents, writer, bytes, duplicates);
  warn_if_overfull(writer);
}

}  // namespace

void add_memo_memorize(Verb& memo) {
  auto options = std::make_shared<MemoMemorizeArguments>();
  Verb& verb = memo.verb("memorize", "Memorize documents");
  add_store(verb, options->store);
  verb.option("file", options->files,
              "Text files; folders, where every file below is a document; or - for standard input. "
              "The id of a document is its file name, or its path within the folder")
      .required();
  verb.option("--id", options->id, "The id of a single document");
  verb.option("--shard", options->shard,
              "I/N: memorize only every Nth document, starting with the Ith; the stores of all N "
              "shards can be merged");
  verb.flag("--replace", options->replace,
            "Replace documents that the store already holds; unchanged ones are skipped");
  verb.run([options] { run_memo_memorize(*options); });
}

}  // namespace tessera::cli
