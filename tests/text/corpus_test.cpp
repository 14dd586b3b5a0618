#include "tessera/text/corpus.h"

#include <gtest/gtest.h>

#include "tessera/base/file.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

TEST(Corpus, IsMadeOnceOfFilesWhoseNamesAreNotUtf8) {
  const test::TemporaryFolder folder;
  const std::filesystem::path texts = folder / "texts";
  write_file(texts / "caf\xe9.txt", "A text of a few words, for all tokens.");
  const CorpusConfig config{.text = texts.native(), .tokenizer = "byte"};
  const Corpus first = prepare_corpus(config, folder / "corpus", Start::kNew, nullptr);
  EXPECT_EQ(first.training.info().documents, 1);
  const auto written = std::filesystem::last_write_time(folder / "corpus" / "tokens.safetensors");
  const Corpus again = prepare_corpus(config, folder / "corpus", Start::kNew, nullptr);
  EXPECT_EQ(again.digest, first.digest);
  EXPECT_EQ(std::filesystem::last_write_time(folder / "corpus" / "tokens.safetensors"), written);
}

TEST(Corpus, CharactersAreThoseOfAllDocuments) {
  const test::TemporaryFolder folder;
  write_file(folder / "texts" / "1", "aba né");
  write_file(folder / "texts" / "2", "c🧩a\n" + std::string(kEndOfTextName) + "\nd");
  const CorpusConfig config{.text = (folder / "texts").native(), .tokenizer = "character"};
  const Corpus corpus = prepare_corpus(config, folder / "corpus", Start::kNew, nullptr);
  EXPECT_EQ(corpus.tokenizer.digest(),
            Tokenizer::characters(" abcdné🧩", EndOfText::kPresent).digest());
}

}  // namespace
}  // namespace tessera
