// tessera tokenizer train | encode | decode

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "tessera/base/config.h"
#include "tessera/base/file.h"
#include "tessera/base/progress.h"
#include "tessera/cli/program.h"
#include "tessera/data/bpe_trainer.h"
#include "tessera/data/text_source.h"
#include "tessera/data/tokenizer.h"

namespace tessera::cli {
namespace {

std::string read_input(const std::string& path) {
  if (path != "-") return read_file(path);
  return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
}

struct TrainOptions {
  std::vector<std::string> texts;
  std::string kind = "bpe";
  int64_t vocabulary = 4096;
  std::string out;
};

Tokenizer train_bpe(const std::vector<std::string>& texts, int64_t vocabulary) {
  BpeTrainer trainer({.vocabulary_size = vocabulary});
  for (const auto& text : texts) trainer.add_text(text);
  Progress progress(stderr, "Learning tokens", vocabulary);
  return trainer.train([&](int64_t tokens) { progress.update(tokens); });
}

Tokenizer train(const TrainOptions& options, const std::vector<std::string>& texts) {
  if (options.kind == "byte") return Tokenizer::bytes(EndOfText::kPresent);
  if (options.kind == "character")
    return Tokenizer::characters(fmt::format("{}", fmt::join(texts, "")), EndOfText::kPresent);
  return train_bpe(texts, options.vocabulary);
}

void run_train(const TrainOptions& options) {
  std::vector<std::string> texts;
  for (const auto& path : options.texts) texts.push_back(read_input(path));
  const Tokenizer tokenizer = train(options, texts);
  tokenizer.save(options.out);
  size_t bytes = 0, tokens = 0;
  for (const auto& text : texts) {
    bytes += text.size();
    tokens += tokenizer.encode(text).size();
  }
  fmt::print("{}: {}, {:.3f} bytes per token on {} bytes of text\n", options.out,
             tokenizer.description(), static_cast<double>(bytes) / std::max<size_t>(tokens, 1),
             bytes);
}

struct CodeOptions {
  std::string tokenizer, input = "-";
  bool special = false, json = false;
};

void run_encode(const CodeOptions& options) {
  const Tokenizer tokenizer = Tokenizer::load(options.tokenizer);
  const auto ids =
      tokenizer.encode(read_input(options.input),
                       options.special ? SpecialTokens::kRecognised : SpecialTokens::kAsText);
  if (options.json)
    fmt::print("{}\n", config::Json(ids).dump());
  else
    fmt::print("{}\n", fmt::join(ids, " "));
}

/// Ids as whitespace-separated numbers or a JSON array.
std::vector<int32_t> parse_ids(const std::string& text, const std::string& source) {
  std::vector<int32_t> ids;
  const std::string separators = " \t\r\n,[]";
  for (size_t at = text.find_first_not_of(separators); at != std::string::npos;) {
    const size_t end = std::min(text.find_first_of(separators, at), text.size());
    int32_t id = 0;
    const auto [stop, failure] = std::from_chars(text.data() + at, text.data() + end, id);
    if (failure != std::errc() || stop != text.data() + end)
      throw DataError(source, "byte {}: '{}' is not a token id", at, text.substr(at, end - at));
    ids.push_back(id);
    at = text.find_first_not_of(separators, end);
  }
  return ids;
}

void run_decode(const CodeOptions& options) {
  const Tokenizer tokenizer = Tokenizer::load(options.tokenizer);
  const std::string source = options.input == "-" ? "standard input" : options.input;
  const auto ids = parse_ids(read_input(options.input), source);
  for (int32_t id : ids)
    if (!tokenizer.has_token(id))
      throw DataError(source, "id {} stands for nothing in {}", id, tokenizer.description());
  const std::string text = tokenizer.decode(ids);
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void add_code_options(CLI::App& verb, CodeOptions& options, const char* input_help) {
  verb.add_option("--tokenizer", options.tokenizer,
                  "tokenizer.json, a folder that holds one, or a folder with GPT-2's files")
      ->required();
  verb.add_option("input", options.input, input_help)->capture_default_str();
}

}  // namespace

void add_tokenizer(CLI::App& program) {
  CLI::App* verb =
      program.add_subcommand("tokenizer", "Train a tokenizer; turn text into ids and back");
  verb->require_subcommand(1);

  auto training = std::make_shared<TrainOptions>();
  CLI::App* train = verb->add_subcommand("train", "Learn a tokenizer from text files");
  train->add_option("text", training->texts, "Text files (-: standard input)")->required();
  train->add_option("--kind", training->kind, "bpe, byte or character")
      ->check(CLI::IsMember({"bpe", "byte", "character"}))
      ->capture_default_str();
  train->add_option("--vocabulary", training->vocabulary, "Tokens of a BPE vocabulary")
      ->check(CLI::Range(int64_t{257}, int64_t{1} << 20))
      ->capture_default_str();
  train->add_option("--out", training->out, "The tokenizer.json to write")->required();
  train->callback([training] { run_train(*training); });

  auto encoding = std::make_shared<CodeOptions>();
  CLI::App* encode = verb->add_subcommand("encode", "Print the ids of a text");
  add_code_options(*encode, *encoding, "Text file (-: standard input)");
  encode->add_flag("--special", encoding->special,
                   "Recognise special tokens such as <|endoftext|>");
  encode->add_flag("--json", encoding->json, "Print a JSON array");
  encode->callback([encoding] { run_encode(*encoding); });

  auto decoding = std::make_shared<CodeOptions>();
  CLI::App* decode = verb->add_subcommand("decode", "Print the text of ids");
  add_code_options(*decode, *decoding, "File of ids, spaced or a JSON array (-: standard input)");
  decode->callback([decoding] { run_decode(*decoding); });
}

}  // namespace tessera::cli
