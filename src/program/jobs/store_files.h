#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "program/jobs/document_files.h"
#include "program/jobs/file_documents.h"
#include "program/jobs/store_jobs.h"
#include "tessera/base/config.h"
#include "tessera/data/tokenizer.h"
#include "tessera/memo/recall_predictor.h"
#include "tessera/memo/text_memory_config.h"
#include "tessera/store/expected_cost.h"
#include "tessera/store/ledger.h"

/// Jobs that make, join and rewrite stores, and so take their folders. They are declared as the
/// jobs on an open store are.
namespace tessera::jobs {

/// Creates an empty store, of a given size or of the size that some documents need
/// (memo::plan_memory).
struct Create {
  static constexpr std::string_view kName = "create";
  static constexpr std::string_view kHelp = "Create an empty store";
  static constexpr std::string_view kDoing = "Planning";

  std::optional<int64_t> dimension = {}, matrices = {};
  std::vector<std::string> exclude = {};
  std::string plan_from = {}, tokenizer = {};
  std::optional<double> error = {};
  memo::WindowCodeKind code = memo::WindowCodeKind::kBound;
  uint64_t seed = 0;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("dimension", dimension,
          "width d of keys and values, a multiple of 64; a matrix has d^2 numbers (1024 unless the "
          "size is planned)");
    field("plan_from", plan_from,
          "instead: choose the smallest dimension that recalls this file, or the files of this "
          "folder, with the allowed error");
    field("exclude", exclude, kExcludeHelp);
    field("error", error,
          "share of tokens that may be recalled wrongly; 0: 0.001 more than the least possible",
          config::between(0, 0.999999));
    field("matrices", matrices,
          "number of matrices; each window is stored in one of them, so many small ones take less "
          "time than one large one. Without it: 1, or in a plan the cheapest number",
          config::between(1, memo::kMostShards));
    field("tokenizer", tokenizer,
          "what tokens are: byte, bpe (4096 tokens, learned from the text of the plan) or the path "
          "of a tokenizer. Without it: bpe in a plan, else byte");
    field("code", code,
          "how windows become keys: bound holds the most and distinguishes the order of tokens; "
          "with paper, as in Zanzotto et al. 2025, similar windows recall each other");
    field("seed", seed,
          "random seed of the codes; only stores with the same seed and sizes can be merged");
  }

  /// How large a memory the documents need, and what it takes to memorize them.
  struct Planned {
    memo::SizePlan size;
    store::ExpectedCost cost;
  };
  struct Answer {
    std::filesystem::path store;
    memo::TextMemoryConfig memory;
    std::string tokenizer;
    std::optional<Planned> plan;

    /// Numbers in all matrices.
    int64_t numbers() const { return memory.shards * memory.dimension * memory.dimension; }
    config::Json json() const;
  };
  /// Progress of a plan is counted twice: while tokens are learned, if they are, and over the
  /// numbers of matrices that are tried. Throws UsageError where this machine cannot hold the
  /// matrices.
  Answer run(const std::filesystem::path& store, const OnProgress& on_progress) const;
  /// The same without creating it; a dimension may be given in place of an error.
  Answer plan(const OnProgress& on_progress) const;

 private:
  Answer sized(const Tokenizer& tokenizer, const std::vector<std::string>& sample,
               const OnProgress& on_progress) const;
};

/// Creates a store that holds the documents of several stores (store::merge_stores).
struct Merge {
  static constexpr std::string_view kName = "merge";
  static constexpr std::string_view kHelp =
      "Create a store that holds the documents of several stores";
  static constexpr std::string_view kDoing = "Merging";

  std::vector<std::string> stores;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("stores", stores, "the stores to merge; their sizes, tokenizers and seeds must be equal",
          config::required());
  }

  struct Answer {
    std::filesystem::path store;
    int64_t stores;  ///< that were merged
    store::LedgerTotals totals;

    config::Json json() const;
  };
  Answer run(const std::filesystem::path& store, const OnProgress& on_progress) const;
};

/// Gives a store another tokenizer (store::rebuild_store).
struct Rebuild {
  static constexpr std::string_view kName = "rebuild";
  static constexpr std::string_view kHelp =
      "Give a store another tokenizer: all documents are memorized again, and the store is "
      "replaced in one step";
  static constexpr std::string_view kDoing = "Rebuilding";

  std::string tokenizer = {};
  int64_t vocabulary = 4096;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("tokenizer", tokenizer,
          "the new one: bpe (learned from the documents that the store holds now, so that no word "
          "of a forgotten one remains), byte, or the path of a tokenizer",
          config::required());
    field("vocabulary", vocabulary, "size of a BPE vocabulary that is learned",
          config::between(257, 1 << 20));
  }

  struct Answer {
    std::filesystem::path store;
    store::LedgerTotals totals;
    std::string tokenizer;

    config::Json json() const;
  };
  /// Its progress is counted twice: while tokens are learned, if they are, and over the documents.
  Answer run(const std::filesystem::path& store, const OnProgress& on_progress) const;
};

/// Writes the memory, without the documents, as one file (store::export_memory), or the documents
/// as text files.
struct Export {
  static constexpr std::string_view kName = "export";
  static constexpr std::string_view kHelp =
      "Write the memory, without the documents, as one safetensors file, or the documents as texts";

  std::string out = {}, texts = {};

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("out", out, "the file to write the memory to");
    field(
        "texts", texts,
        "a new folder to write every document to, as a file named by its id; an id that leads "
        "outside the folder, such as ../notes, or to a hidden file becomes another name, which is "
        "printed");
  }

  struct Answer {
    std::filesystem::path file;
    uint64_t bytes = 0;
    int64_t documents = 0;  ///< that were written as texts
    RenamedDocuments renamed = {};

    config::Json json() const;
  };
  /// Throws UsageError unless one of out and texts is given, and where the folder holds something.
  Answer run(const std::filesystem::path& store, const OnProgress& on_progress) const;
};

}  // namespace tessera::jobs
