// What can be read back from the files of what was deleted:
//   tessera_bench store/forensics [FOLDER]
// puts 2000 made-up letters into SQLite's full-text index, into indexes of vectors (faiss and
// hnswlib, where they were found when this was built) and into a store, deletes 1000 of them in
// each way that there is, closes everything, and looks for them in every file, byte by byte. Prints
// of how many of the 1000 the whole text (or vector) is there, and of how many the writer's name,
// which stands in no other letter. The files stay in FOLDER, if one is given.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#ifdef TESSERA_FAISS
#include <faiss/IndexFlat.h>
#include <faiss/IndexIVFFlat.h>
#include <faiss/impl/AuxIndexStructures.h>
#include <faiss/impl/IDSelector.h>
#include <faiss/index_io.h>
#endif
#ifdef TESSERA_HNSWLIB
#include <hnswlib/hnswlib.h>
#endif

#include "bench/support/program.h"
#include "tessera/base/file.h"
#include "tessera/base/random.h"
#include "tessera/store/memo_store.h"
#include "tessera/store/memo_writer.h"
#include "tessera/store/sqlite.h"
#include "tests/support/temporary_folder.h"

namespace tessera::bench::forensics {
namespace {
namespace fs = std::filesystem;

constexpr size_t kLetters = 2000, kDeleted = 1000;  // the first ones
constexpr size_t kWidth = 64;                       // numbers of a vector

struct Letter {
  std::string writer, text;
  std::vector<float> vector;  ///< that stands for it
};

std::vector<Letter> made_up_letters() {
  RandomStream random(1);
  const auto word = [&](size_t letters) {
    std::string word;
    for (size_t i = 0; i < letters; ++i) word += static_cast<char>('a' + random.below(26));
    return word;
  };
  std::vector<Letter> letters(kLetters);
  for (Letter& letter : letters) {
    letter.writer = word(14);
    letter.text = fmt::format(
        "{} writes that the money for {} was paid on day {} of the month, {} crowns in all, and "
        "asks that nobody be told of it.\n",
        letter.writer, word(6), 1 + random.below(28), 100 + random.below(9900));
    for (size_t i = 0; i < kWidth; ++i)
      letter.vector.push_back(static_cast<float>(random.normal()));
  }
  return letters;
}

/// What is looked for of a deleted letter, each in any of its forms.
struct Traces {
  std::vector<std::string> whole, writer;
};

std::string bytes_of(const auto& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof numbers[0]};
}

/// An index writes of a word what it does not share with the word before it: not the first four of
/// 14 random letters.
Traces traces_of_text(const Letter& letter) {
  return {{letter.text}, {letter.writer.substr(4)}};
}

void report(const std::string& name, const fs::path& folder, const std::vector<Letter>& letters,
            const std::function<Traces(const Letter&)>& traces_of) {
  std::string files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files += read_file(entry.path()) + '\n';
  size_t whole = 0, writers = 0;
  const auto is_there = [&](const std::vector<std::string>& forms) {
    return std::ranges::any_of(forms, [&](const std::string& form) {
      return ::memmem(files.data(), files.size(), form.data(), form.size()) != nullptr;
    });
  };
  for (size_t i = 0; i < kDeleted; ++i) {
    const Traces traces = traces_of(letters[i]);
    whole += is_there(traces.whole);
    writers += is_there(traces.writer);
  }
  const std::string names = traces_of(letters[0]).writer.empty() ? "-" : fmt::format("{}", writers);
  fmt::print("{:<62}{:>8}{:>8}{:>10.1f}\n", name, whole, names,
             static_cast<double>(files.size()) / 1e6);
  std::fflush(stdout);
}

/// before: of the deletion, after: of it, both SQL.
void try_fts5(const std::string& name, const fs::path& folder, const std::vector<Letter>& letters,
              const std::string& before, const std::string& after) {
  fs::create_directory(folder);
  {
    store::sqlite::Database database(folder / "letters.sqlite", store::sqlite::Access::kWrite);
    database.execute("CREATE VIRTUAL TABLE letters USING fts5 (text); BEGIN");
    for (const Letter& letter : letters)
      store::sqlite::Statement(database, "INSERT INTO letters VALUES (?1)", letter.text).run();
    database.execute("COMMIT; " + before);
    database.execute(fmt::format("DELETE FROM letters WHERE rowid <= {}; {}", kDeleted, after));
  }
  report(name, folder, letters, traces_of_text);
}

[[maybe_unused]] Traces traces_of_vector(const Letter& letter) {
  return {{bytes_of(letter.vector)}, {}};
}

#ifdef TESSERA_FAISS
void try_faiss(const std::string& name, const fs::path& folder, const std::vector<Letter>& letters,
               faiss::Index& index) {
  fs::create_directory(folder);
  std::vector<float> vectors;
  for (const Letter& letter : letters)
    vectors.insert(vectors.end(), letter.vector.begin(), letter.vector.end());
  if (!index.is_trained) index.train(kLetters, vectors.data());
  index.add(kLetters, vectors.data());
  const std::string file = folder / "letters.faiss";
  faiss::write_index(&index, file.c_str());
  index.remove_ids(faiss::IDSelectorRange(0, kDeleted));
  faiss::write_index(&index, file.c_str());
  report(name, folder, letters, traces_of_vector);
}
#endif

#ifdef TESSERA_HNSWLIB
void try_hnswlib(const fs::path& folder, const std::vector<Letter>& letters) {
  fs::create_directory(folder);
  hnswlib::L2Space space(kWidth);
  hnswlib::HierarchicalNSW<float> index(&space, kLetters);
  for (size_t i = 0; i < kLetters; ++i) index.addPoint(letters[i].vector.data(), i);
  for (size_t i = 0; i < kDeleted; ++i) index.markDelete(i);
  index.saveIndex(folder / "letters.hnsw");
  report("hnswlib: markDelete, saved", folder, letters, traces_of_vector);
}
#endif

void try_store(const fs::path& folder, const std::vector<Letter>& letters) {
  const Tokenizer tokenizer = Tokenizer::bytes(EndOfText::kPresent);
  store::MemoStore::create(folder, {.dimension = 512}, tokenizer);
  {
    store::MemoWriter writer(folder);
    for (size_t i = 0; i < kLetters; ++i)
      writer.memorize(fmt::format("letter {}", i), letters[i].text, store::Duplicates::kRefuse);
    writer.checkpoint();
  }
  {
    store::MemoWriter writer(folder);
    for (size_t i = 0; i < kDeleted; ++i) writer.forget(fmt::format("letter {}", i));
    writer.checkpoint();
  }
  const auto tokens_in = [&]<typename Token>(const std::string& text) {
    const auto ids = tokenizer.encode(text);
    return bytes_of(std::vector<Token>(ids.begin(), ids.end()));
  };
  report("store: memo forget", folder, letters, [&](const Letter& letter) {
    Traces traces = traces_of_text(letter);
    for (auto [forms, text] : {std::pair(&traces.whole, letter.text),
                               std::pair(&traces.writer, letter.writer.substr(4))}) {
      forms->push_back(tokens_in.operator()<uint16_t>(text));
      forms->push_back(tokens_in.operator()<uint32_t>(text));
    }
    return traces;
  });
}

const Program program("store/forensics", "[FOLDER]", [](const Words& words) {
  const test::TemporaryFolder temporary(test::folder_in_memory());
  const fs::path folder = !words.empty() ? fs::path(words[0]) : temporary.path();
  fs::create_directories(folder);
  const std::vector<Letter> letters = made_up_letters();
  fmt::print("{:<62}{:>8}{:>8}{:>10}\n", "of 1000 deleted, there are in the files", "whole",
             "writer", "MB");
  const std::string secure = "PRAGMA secure_delete = ON; ";
  const std::string traceless = "INSERT INTO letters (letters, rank) VALUES ('secure-delete', 1); ";
  const std::string merge = "INSERT INTO letters (letters) VALUES ('optimize'); ";
  const std::string plain = "PRAGMA secure_delete = OFF; ";  // Debian's SQLite has it on
  try_fts5("FTS5: DELETE", folder / "delete", letters, plain, "");
  try_fts5("FTS5: DELETE, VACUUM", folder / "vacuum", letters, plain, "VACUUM");
  try_fts5("FTS5: secure_delete, DELETE", folder / "secure", letters, secure, "");
  try_fts5("FTS5: secure_delete, DELETE, VACUUM", folder / "secure-vacuum", letters, secure,
           "VACUUM");
  try_fts5("FTS5: secure_delete, DELETE, optimize, VACUUM", folder / "optimize", letters, secure,
           merge + "VACUUM");
  try {
    try_fts5("FTS5: its 'secure-delete' and secure_delete, DELETE", folder / "own", letters,
             secure + traceless, "");
  } catch (const std::exception&) {
    fmt::print("FTS5: its 'secure-delete' needs SQLite 3.42 or later\n");
  }
#ifdef TESSERA_FAISS
  faiss::IndexFlatL2 flat(kWidth), coarse(kWidth);
  try_faiss("faiss: IndexFlat, remove_ids, written again", folder / "flat", letters, flat);
  faiss::IndexIVFFlat lists(&coarse, kWidth, 16);
  try_faiss("faiss: IndexIVFFlat, remove_ids, written again", folder / "ivf", letters, lists);
#endif
#ifdef TESSERA_HNSWLIB
  try_hnswlib(folder / "hnswlib", letters);
#endif
  try_store(folder / "store", letters);
});

}  // namespace
}  // namespace tessera::bench::forensics
