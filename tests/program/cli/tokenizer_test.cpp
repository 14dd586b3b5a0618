// tessera tokenizer and tessera data text.

#include "tests/program/cli/tessera_program.h"

namespace tessera::cli {
namespace {

using ::testing::HasSubstr;

class TokenizerVerb : public Workplace {
 protected:
  std::string learned(const std::string& kind) {
    const std::string file = path(kind + ".json");
    Arguments command = {"tokenizer", "train", path("text.txt"), "--kind", kind, "--out", file};
    if (kind == "bpe") command.insert(command.end(), {"--vocabulary", "300"});
    const std::string run = done(command);
    EXPECT_THAT(run, HasSubstr("bytes per token"));
    return file;
  }

  /// Encodes and decodes through standard input.
  std::string there_and_back(const std::string& tokenizer, const std::string& text,
                             const Arguments& more = {}) {
    const Outcome ids =
        tessera(joined({"tokenizer", "encode", "--tokenizer", tokenizer}, more), {.input = text});
    EXPECT_EQ(ids.status, 0) << ids.err;
    EXPECT_EQ(ids.err, "");
    return done({"tokenizer", "decode", "--tokenizer", tokenizer}, {.input = ids.out});
  }
};

TEST_F(TokenizerVerb, GivesBackTheBytes) {
  std::string all_bytes = "naïve café <|endoftext|>\n";
  for (int byte = 0; byte < 256; ++byte) all_bytes += static_cast<char>(byte);
  for (const auto& kind : {"bpe", "byte"}) {
    const std::string tokenizer = learned(kind);
    EXPECT_EQ(there_and_back(tokenizer, all_bytes), all_bytes) << kind;
    EXPECT_EQ(there_and_back(tokenizer, ""), "") << kind;
  }
  EXPECT_EQ(there_and_back(path("bpe.json"), all_bytes, {"--json"}), all_bytes);
  const std::string characters = learned("character");
  EXPECT_EQ(there_and_back(characters, "the bird sees you."), "the bird sees you.");
}

TEST_F(TokenizerVerb, KnownIds) {
  const std::string bytes = learned("byte");
  const Arguments encode = {"tokenizer", "encode", "--tokenizer", bytes};
  EXPECT_EQ(tessera(encode, {.input = "abc"}).out, "97 98 99\n");
  EXPECT_EQ(tessera({"tokenizer", "encode", "--tokenizer", bytes, "--json"}, {.input = "abc"}).out,
            "[97,98,99]\n");
  EXPECT_EQ(tessera({"tokenizer", "encode", "--tokenizer", bytes, "--special"},
                    {.input = "a<|endoftext|>"})
                .out,
            "97 256\n");
}

TEST_F(TokenizerVerb, TakesIdsOnTheCommandLine) {
  const std::string bytes = learned("byte");
  const Arguments decode = {"tokenizer", "decode", "--tokenizer", bytes, "--tokens"};
  EXPECT_EQ(done(joined(decode, {"97", "98", "--tokens", "99"})), "abc");
  expect_refused(tessera(joined(decode, {"97", "x"})), 2, "--tokens is 'x', expected a whole");
  expect_refused(tessera(joined(decode, {"999"})), 2, "the tokenizer has no token 999");
  expect_refused(
      tessera({"tokenizer", "decode", path("ids"), "--tokenizer", bytes, "--tokens", "97"}), 2,
      "--tokens");
}

TEST_F(TokenizerVerb, RefusesWithTheReason) {
  const std::string bytes = learned("byte"), characters = learned("character");
  const auto decode = [&](const std::string& ids) {
    return tessera({"tokenizer", "decode", "--tokenizer", bytes}, {.input = ids});
  };
  expect_refused(decode("97 x"), 3, "byte 3: 'x' is not a token id");
  expect_refused(decode("[97, 98"), 3, "standard input: ");
  expect_refused(decode("[97, \"x\"]"), 3, "standard input: \"x\" is not a token id");
  expect_refused(decode("97 99999"), 3, "the tokenizer has no token 99999, its ids go up to 256");
  expect_refused(decode("99999999999999"), 3, "has no token 99999999999999");
  expect_refused(tessera({"tokenizer", "encode", "--tokenizer", characters}, {.input = "a QUIZ"}),
                 3, "standard input: byte 2: the character U+0051");
  expect_refused(tessera({"tokenizer", "encode", "--tokenizer", characters, "--text", "a QUIZ"}), 2,
                 "--text: byte 2: the character U+0051");
  expect_refused(tessera({"tokenizer", "encode", "--tokenizer", path("none.json")}), 1,
                 "none.json: cannot open");
  for (const std::string& damaged :
       {std::string("{"), std::string("[]"), std::string("{\"model\": {\"type\": \"BPE\"}}"),
        std::string(2000, '['), read_file(bytes).substr(0, 40)}) {
    write_text(path("damaged.json"), damaged);
    expect_refused(tessera({"tokenizer", "encode", "--tokenizer", path("damaged.json")}), 3,
                   "damaged.json");
  }
  expect_refused(tessera({"tokenizer", "train", path("text.txt"), "--kind", "word", "--out", "x"}),
                 2, "word");
  expect_refused(tessera({"tokenizer", "train", path("none.txt"), "--out", path("x.json")}), 1,
                 "none.txt: cannot open");
  EXPECT_FALSE(std::filesystem::exists(path("x.json")));
  // Also before the texts are read.
  expect_refused(
      tessera({"tokenizer", "train", path("none.txt"), "--out", path("text.txt/x.json")}), 1,
      "text.txt: cannot create");
}

TEST_F(TokenizerVerb, LearnsFromAFolderAndRefusesWhatIsNoText) {
  std::filesystem::create_directory(path("texts"));
  write_text(path("texts/a.txt"), "ab ab");
  write_text(path("texts/b.txt"), "cd cd");
  const std::string run =
      done({"tokenizer", "train", path("texts"), "--kind", "character", "--out", path("t")});
  EXPECT_THAT(run, HasSubstr("on 10 bytes of text"));
  write_text(path("texts/c.txt"), std::string("bi\0nary", 7));
  expect_refused(tessera({"tokenizer", "train", path("texts"), "--out", path("t")}), 3,
                 "c.txt: byte 2");
}

TEST_F(TokenizerVerb, DataTextJoinsTheFilesOfAFolder) {
  std::filesystem::create_directory(path("texts"));
  write_text(path("texts/a.txt"), "first\n");
  write_text(path("texts/b.txt"), "second\n");
  write_text(path("texts/c.md"), "third\n");
  const std::string run =
      done({"data", "text", path("texts"), "--suffix", ".txt", "--out", path("joined.txt")});
  EXPECT_THAT(run, HasSubstr("13 bytes"));
  EXPECT_EQ(read_file(path("joined.txt")), "first\nsecond\n");
  // Each begins in a line of its own, also where the one before has no newline at its end.
  write_text(path("lines.jsonl"), "{\"text\": \"one\"}\n{\"text\": \"two\"}\n");
  EXPECT_THAT(done({"data", "text", path("lines.jsonl"), "--out", path("lines.txt")}),
              HasSubstr(" 7 bytes"));
  EXPECT_EQ(read_file(path("lines.txt")), "one\ntwo");

  write_text(path("texts/a.txt"), std::string("bi\0nary", 7));
  expect_refused(tessera({"data", "text", path("texts"), "--out", path("joined.txt")}), 3,
                 "a.txt: byte 2");
  EXPECT_EQ(read_file(path("joined.txt")), "first\nsecond\n") << "what was there is lost";
  expect_refused(tessera({"data", "text", path("texts"), "--suffix", ".none", "--out", "x"}), 3,
                 ".none");
  expect_refused(tessera({"data", "text", path("texts/b.txt"), "--suffix", ".txt", "--out", "x"}),
                 2, "b.txt is a file; a suffix ('.txt') chooses among the files of a folder");
  expect_refused(tessera({"data", "text", "--suffix", ".txt", "--out", "x"}), 2, "name the folder");
}

TEST_F(TokenizerVerb, DataTextWritesEachDocumentAsAFile) {
  std::filesystem::create_directories(path("texts/more"));
  write_text(path("texts/a.txt"), "first\n");
  write_text(path("texts/more/GFDL-1.2"), "second\n");
  const std::string run = done({"data", "text", path("texts"), "--documents", path("each/one")});
  EXPECT_THAT(run, HasSubstr("2 documents, 13 bytes"));
  EXPECT_EQ(read_file(path("each/one/a.txt")), "first\n");
  EXPECT_EQ(read_file(path("each/one/more/GFDL-1.2.txt")), "second\n");
  EXPECT_THAT(done({"data", "text", path("texts"), "--suffix", "a.txt", "--documents", path("a")}),
              HasSubstr(" 1 document, 6 bytes"));

  write_text(path("texts/more/a.txt"), "third\n");
  write_text(path("texts/a"), "fourth\n");
  write_text(path("texts/b.jsonl"), R"({"id": "x/1", "text": "x"})"
                                    "\n"
                                    R"({"id": "y/1", "text": "y"})"
                                    "\n");
  const Outcome alike = tessera({"data", "text", path("texts"), "--documents", path("other")});
  EXPECT_EQ(alike.status, 0);
  EXPECT_EQ(alike.err, "'a.txt' is written to a%2Etxt: its id cannot be the name of its file\n");
  EXPECT_EQ(read_file(path("other/a.txt")), "fourth\n");
  EXPECT_EQ(read_file(path("other/a%2Etxt")), "first\n");
  EXPECT_EQ(read_file(path("other/more/a.txt")), "third\n");
  EXPECT_EQ(read_file(path("other/b.jsonl:x/1.txt")), "x");
  EXPECT_EQ(read_file(path("other/b.jsonl:y/1.txt")), "y");
  expect_refused(tessera({"data", "text", path("texts"), "--documents", path("other")}), 2,
                 "already exists; name a new folder");
  write_text(path("texts/c.txt"), "caf\xE9");
  expect_refused(tessera({"data", "text", path("texts"), "--documents", path("none")}), 3,
                 "c.txt: byte 3");
  EXPECT_FALSE(std::filesystem::exists(path("none")));
  expect_refused(tessera({"data", "text", path("texts")}), 2, "--documents");
  expect_refused(
      tessera({"data", "text", path("texts"), "--out", path("x"), "--documents", path("y")}), 2,
      "--documents");
}

TEST_F(TokenizerVerb, NothingIsWrittenOverOrAmongWhatIsRead) {
  std::filesystem::create_directories(path("texts/more"));
  write_text(path("texts/a.txt"), "first\n");
  const auto refuse = [&](const Arguments& command, const std::string& message) {
    expect_refused(tessera(command), 2, message);
    EXPECT_EQ(read_file(path("texts/a.txt")), "first\n");
  };
  const std::string page = path("page.html");
  write_text(page, "<p>A page</p>");
  refuse({"data", "text", page, "--out", path("texts/../page.html")}, "which this command reads");
  EXPECT_EQ(read_file(page), "<p>A page</p>");
  const Arguments join = {"data", "text", path("texts"), "--suffix", ".txt", "--out"};
  refuse(joined(join, {path("texts/more/all.txt")}), "would be among the texts of");
  std::filesystem::create_directory_symlink(path("texts"), path("link"));
  refuse(joined(join, {path("link/all.txt")}), "would be among the texts of");
  refuse({"data", "text", path("texts"), "--documents", path("texts/each")},
         "would be among the texts of");
  refuse({"tokenizer", "train", path("text.txt"), path("texts"), "--out", path("texts/t.json")},
         "would be among the texts of");
  refuse({"tokenizer", "train", path("texts/a.txt"), "--out", path("texts/a.txt")},
         "which this command reads");
  EXPECT_FALSE(std::filesystem::exists(path("texts/t.json")));
  // Nobody reads these.
  for (const std::string file : {"texts/all.md", "texts/.all.txt", "all.txt", "texts-all.txt"}) {
    done(joined(join, {path(file)}));
    EXPECT_EQ(read_file(path(file)), "first\n") << file;
  }
}

}  // namespace
}  // namespace tessera::cli
