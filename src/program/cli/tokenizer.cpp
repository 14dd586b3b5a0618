// tessera tokenizer train | encode | decode

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <functional>
#include <nlohmann/json.hpp>

#include "program/cli/program.h"
#include "program/jobs/file_documents.h"
#include "program/jobs/tokenizer_jobs.h"
#include "tessera/base/config.h"
#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/base/interrupt.h"
#include "tessera/base/number.h"
#include "tessera/data/bpe_trainer.h"
#include "tessera/data/text_source.h"
#include "tessera/data/tokenizer.h"

namespace tessera::cli {
namespace {

constexpr int64_t kBpeVocabulary = 4096;

enum class Kind { kBpe, kByte, kCharacter };
constexpr std::array<std::string_view, 3> enum_names(Kind) {
  return {"bpe", "byte", "character"};
}

struct TrainOptions {
  std::vector<std::string> texts;
  Kind kind = Kind::kBpe;
  std::optional<int64_t> vocabulary;
  std::string suffix, out;
};

Tokenizer train_bpe(const std::vector<std::string>& texts, int64_t vocabulary) {
  BpeTrainer trainer({.vocabulary_size = vocabulary});
  for (const auto& text : texts)
    for_each_document(text, [&](std::string_view document) { trainer.add_text(document); });
  JobBar bar("Learning tokens");
  return trainer.train(std::ref(bar));
}

Tokenizer train(const TrainOptions& options, const std::vector<std::string>& texts) {
  if (options.kind == Kind::kByte) return Tokenizer::bytes(EndOfText::kPresent);
  if (options.kind == Kind::kCharacter)
    return Tokenizer::characters(fmt::format("{}", fmt::join(texts, "")), EndOfText::kPresent);
  return train_bpe(texts, options.vocabulary.value_or(kBpeVocabulary));
}

/// Of standard input, of a file, or of each file of a folder whose name ends in the suffix.
std::vector<std::string> read_texts(const TrainOptions& options) {
  std::vector<std::string> texts;
  for (const auto& path : options.texts)
    if (path == "-" && options.suffix.empty())
      texts.push_back(jobs::read_input(path));
    else
      TextSource::from_path(path, options.suffix)
          .for_each([&](const std::string&, std::string_view text) { texts.emplace_back(text); });
  return texts;
}

void run_train(const TrainOptions& options) {
  if (options.vocabulary && options.kind != Kind::kBpe)
    throw UsageError("--vocabulary is the size of a BPE; bytes and characters have their own");
  check_not_input("--out", options.out, options.texts, options.suffix);
  check_writable(options.out);
  const std::vector<std::string> texts = read_texts(options);
  const Tokenizer tokenizer = train(options, texts);
  {
    const InterruptGuard guard;  // a signal waits until all is written
    tokenizer.save(options.out);
    InterruptGuard::stop_if_interrupted("interrupted after " + options.out + " was written");
  }
  size_t bytes = 0, tokens = 0;
  for (const auto& text : texts) {
    bytes += text.size();
    tokens += tokenizer.encode(text).size();
  }
  fmt::print("{}: {}, {:.3f} bytes per token on {} bytes of text\n", options.out,
             tokenizer.description(), static_cast<double>(bytes) / std::max<size_t>(tokens, 1),
             bytes);
}

struct EncodeOptions {
  std::string tokenizer, input = "-";
  jobs::Encode job;
  bool json = false;
};

void run_encode(EncodeOptions& options) {
  const Tokenizer tokenizer = Tokenizer::load(options.tokenizer);
  std::vector<int64_t> ids;
  const auto encode = [&] { ids = options.job.run(tokenizer).tokens; };
  if (options.job.text.empty()) {
    options.job.text = jobs::read_input(options.input);
    saying_source(jobs::name_of_input(options.input), encode);
  } else {
    jobs::on_given_text(encode, "--text: ");
  }
  if (options.json)
    fmt::print("{}\n", config::Json(ids).dump());
  else
    fmt::print("{}\n", fmt::join(ids, " "));
}

struct DecodeOptions {
  std::string tokenizer, input = "-";
  jobs::Decode job;
};

constexpr std::string_view kSeparators = " \t\r\n,";

/// The numbers of JSON arrays.
std::vector<int64_t> parse_json_ids(const std::string& text, const std::string& source) {
  std::vector<int64_t> ids;
  for (size_t begin = 0; begin != std::string::npos;) {
    const size_t end = std::min(text.find(']', begin), text.size() - 1) + 1;
    for (const config::Json& item : config::parse_json(text.substr(begin, end - begin), source)) {
      const auto id = number_from<int64_t>(item.dump());
      if (!id) throw DataError(source, "{} is not a token id", item.dump());
      ids.push_back(*id);
    }
    begin = text.find_first_not_of(kSeparators, end);
  }
  return ids;
}

/// Ids as whitespace-separated numbers or as JSON arrays.
std::vector<int64_t> parse_ids(const std::string& text, const std::string& source) {
  std::vector<int64_t> ids;
  const size_t begin = text.find_first_not_of(kSeparators);
  if (begin != std::string::npos && text[begin] == '[') return parse_json_ids(text, source);
  for (size_t at = begin; at != std::string::npos;) {
    const size_t end = std::min(text.find_first_of(kSeparators, at), text.size());
    const std::string word = text.substr(at, end - at);
    const auto id = number_from<int64_t>(word);
    if (!id) throw DataError(source, "byte {}: '{}' is not a token id", at, word);
    ids.push_back(*id);
    at = text.find_first_not_of(kSeparators, end);
  }
  return ids;
}

/// The text of the ids in a file, where an unknown one is bad data.
std::string decoded_input(const Tokenizer& tokenizer, const std::string& input) {
  const std::string source = jobs::name_of_input(input);
  const jobs::Decode job{parse_ids(jobs::read_input(input), source)};
  try {
    return job.run(tokenizer).text;
  } catch (const UsageError& unknown) {
    throw DataError(source, "{}", unknown.what());
  }
}

void run_decode(const DecodeOptions& options) {
  const Tokenizer tokenizer = Tokenizer::load(options.tokenizer);
  const std::string text = options.job.tokens.empty() ? decoded_input(tokenizer, options.input)
                                                      : options.job.run(tokenizer).text;
  TextOutput().write(text);
}

void add_tokenizer_option(Verb& verb, std::string& tokenizer) {
  verb.option("--tokenizer", tokenizer,
              "tokenizer.json, a folder that holds one, or a folder with GPT-2's files")
      .required();
}

}  // namespace

void add_tokenizer(Verb& program) {
  Verb& verb =
      program.verb("tokenizer", "Train a tokenizer, encode texts as token ids, decode ids");

  auto training = std::make_shared<TrainOptions>();
  Verb& train = verb.verb("train", "Learn a tokenizer from texts");
  train.option("text", training->texts, "Text files, or folders of them (-: standard input)")
      .required();
  train.option("--suffix", training->suffix,
               "Read only the files of a folder whose names end in this");
  train.option("--kind", training->kind, "What a token is made of");
  train.option("--vocabulary", training->vocabulary, "Size of a BPE vocabulary (4096 unless given)")
      .between(257, 1 << 20);
  train.option("--out", training->out, "The tokenizer.json to write").required();
  train.run([training] { run_train(*training); });

  auto encoding = std::make_shared<EncodeOptions>();
  Verb& encode = verb.verb(jobs::Encode::kName, jobs::Encode::kHelp);
  add_tokenizer_option(encode, encoding->tokenizer);
  Option text = encode.options(encoding->job).front();
  text.required(false);
  encode.option("input", encoding->input, "Text file (-: standard input)").excludes(text);
  encode.flag("--json", encoding->json, "Print a JSON array");
  encode.run([encoding] { run_encode(*encoding); });

  auto decoding = std::make_shared<DecodeOptions>();
  Verb& decode = verb.verb(jobs::Decode::kName, jobs::Decode::kHelp);
  add_tokenizer_option(decode, decoding->tokenizer);
  Option tokens = decode.options(decoding->job).front();
  tokens.required(false);
  decode
      .option("input", decoding->input,
              "File of token ids, separated by spaces or as a JSON array (-: standard input)")
      .excludes(tokens);
  decode.run([decoding] { run_decode(*decoding); });
}

}  // namespace tessera::cli
