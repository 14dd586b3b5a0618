#include "tessera/text/corpus.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numbers>
#include <unordered_set>

#include "tessera/base/checksum.h"
#include "tessera/base/config.h"
#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/base/interrupt.h"
#include "tessera/base/progress.h"
#include "tessera/base/suggestion.h"
#include "tessera/base/utf8.h"
#include "tessera/data/bpe_trainer.h"
#include "tessera/data/text_source.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using config::Json;

StoryWriter story_writer;

struct Files {
  fs::path tokenizer, tokens, record;
  explicit Files(const fs::path& folder)
      : tokenizer(folder / "tokenizer.json"),
        tokens(folder / "tokens.safetensors"),
        record(folder / "corpus.json") {}
};

bool is_learned(const std::string& tokenizer) {
  return tokenizer == "bpe" || tokenizer == "byte" || tokenizer == "character";
}

/// Sizes and times of the files of a text and its tokenizer, by which a change is noticed.
Json fingerprint(const CorpusConfig& config) {
  Json files = Json::array();
  const auto add_file = [&](const fs::path& path) {
    std::string name = path.native();
    if (utf8::valid_prefix(name) < name.size()) name = utf8::printable(name);  // JSON needs UTF-8
    files.push_back(
        {name, fs::file_size(path), fs::last_write_time(path).time_since_epoch().count()});
  };
  const auto add = [&](const std::string& path) {
    if (fs::is_regular_file(path)) add_file(path);
    if (fs::is_directory(path))
      for (const auto& entry : fs::recursive_directory_iterator(path))
        if (entry.is_regular_file()) add_file(entry.path());
  };
  add(config.text);
  if (!is_learned(config.tokenizer)) add(config.tokenizer);
  std::sort(files.begin(), files.end());
  return files;
}

/// Throws where a signal has come: nothing that a run needs has been written yet.
void stop_if_interrupted(std::string_view doing) {
  InterruptGuard::stop_if_interrupted(fmt::format(
      "stopped while {}, before the first step; there is nothing to resume yet", doing));
}

/// Throws unless a run that began with the configuration `known` may continue with `now`.
void check_same_corpus(const Json& known, const Json& now, const fs::path& folder) {
  for (const auto& [key, value] : now.items())
    if (known.value(key, Json()) != value)
      throw UsageError(
          "{} was written with data.{} = {}, now it is {}; give the same value, or choose another "
          "folder",
          folder.native(), key, known.value(key, Json()).dump(), value.dump());
}

/// Throws DataError unless it is one.
Json read_record(const fs::path& path) {
  Json record = config::read_json(path);
  // Corpora of earlier versions lack keys that were added since: they have the default.
  if (record.is_object() && record.contains("config") && record["config"].is_object()) {
    Json complete = config::to_json(CorpusConfig());
    complete.update(record["config"]);
    record["config"] = std::move(complete);
  }
  const bool whole = record.is_object() && record.contains("files") && record.contains("config") &&
                     record["config"].is_object() && record.contains("description") &&
                     record["description"].is_string() && record.contains("tokens") &&
                     record["tokens"].is_string();
  if (!whole)
    throw DataError(path.native(),
                    "is not the record of a corpus; remove it to encode the text again");
  return record;
}

TextSource source_of(const CorpusConfig& config, const fs::path& folder) {
  if (config.stories > 0)
    return story_writer.write(config.stories, static_cast<uint64_t>(config.stories_seed));
  return config.text.empty() ? TextSource::automatic(folder)
                             : TextSource::from_path(config.text, config.suffix);
}

Tokenizer learn_bpe(const TextSource& source, int64_t vocabulary, std::FILE* stream) {
  BpeTrainer trainer({.vocabulary_size = vocabulary});
  {
    Progress progress(stream, "Counting words", source.bytes());
    for_each_document(source, [&](std::string_view text) {
      const int64_t before = trainer.text_bytes();
      const auto advance = [&](int64_t bytes) {
        stop_if_interrupted("counting words");
        progress.update(before + bytes);
      };
      trainer.add_text(text, advance);
      advance(std::ssize(text));
    });
  }
  Progress progress(stream, "Learning tokens", vocabulary);
  return trainer.train([&](int64_t tokens, int64_t) {
    stop_if_interrupted("learning the tokens");
    progress.update(tokens);
  });
}

Tokenizer learn_characters(const TextSource& source) {
  std::string characters;  // each once
  std::unordered_set<char32_t> seen;
  for_each_document(source, [&](std::string_view text) {
    stop_if_interrupted("reading the text");
    while (!text.empty())
      if (const char32_t character = utf8::take(text); seen.insert(character).second)
        utf8::append(characters, character);
  });
  return Tokenizer::characters(characters, EndOfText::kPresent);
}

Tokenizer tokenizer_of(const CorpusConfig& config, const TextSource& source, std::FILE* stream) {
  if (config.tokenizer == "bpe") return learn_bpe(source, config.vocabulary, stream);
  if (config.tokenizer == "byte") return Tokenizer::bytes(EndOfText::kPresent);
  if (config.tokenizer == "character") return learn_characters(source);
  return Tokenizer::load(config.tokenizer);
}

void write_tokens(const TextSource& source, const Tokenizer& tokenizer, const fs::path& path,
                  std::FILE* stream) {
  Progress progress(stream, "Encoding", source.bytes());
  int64_t done = 0, document_end = 0;  // bytes
  const auto advance = [&](int64_t bytes, int64_t tokens) {
    stop_if_interrupted("encoding the text");
    done = bytes;
    progress.update(done, fmt::format("{} tokens", tokens));
  };
  constexpr int64_t kPiece = TextEncoder::kPieceBytes;
  TokenStreamWriter writer(path, tokenizer, [&](int64_t tokens) {
    advance(std::min(done + kPiece, document_end - 1), tokens);
  });
  for_each_document(source, [&](std::string_view text) {
    document_end += std::ssize(text);
    writer.add_document(text);
    advance(document_end, writer.tokens());
  });
  writer.finish();
}

/// Of the tokens and, in the header, of the tokenizer that wrote them.
std::string digest_of_file(const fs::path& path) {
  return checksum(MappedFile(path).text());
}

Corpus open_corpus(const CorpusConfig& config, const Files& files, const Json& record) {
  Tokenizer tokenizer = Tokenizer::load(files.tokenizer);
  const TokenStream all = TokenStream::open(files.tokens);
  if (all.info().tokenizer_digest != tokenizer.digest())
    throw DataError(files.tokens.native(), "was written with another tokenizer than {}",
                    files.tokenizer.native());
  const auto [training, validation] = all.split_tail(config.validation_share);
  const double bytes_per_token =
      static_cast<double>(validation.text_bytes(tokenizer)) / validation.size();
  const std::string tokens = digest_of_file(files.tokens);
  const auto expected = record["tokens"].get<std::string>();
  if (tokens != expected)
    throw DataError(files.tokens.native(), "is damaged: its checksum is {}, expected {}; remove {}",
                    tokens, expected, files.record.native());
  return {record["description"].get<std::string>(),
          tokenizer,
          training,
          validation,
          bytes_per_token,
          fmt::format("{} {}", tokens, config.validation_share)};
}

}  // namespace

void set_story_writer(const StoryWriter& writer) {
  story_writer = writer;
}

void CorpusConfig::check() const {
  config::check_demands(*this, "data");
  if (stories < 0 || stories > story_writer.most_stories)
    throw UsageError("data.stories is {}, expected 0 (none) to {}", stories,
                     story_writer.most_stories);
  if (stories > 0 && !text.empty())
    throw UsageError("data.stories is {} and data.text is '{}': give one of the two", stories,
                     text);
  const int64_t fewest = BpeTrainer::fewest_tokens(EndOfText::kPresent);
  if (tokenizer == "bpe" && (vocabulary < fewest || vocabulary > BpeTrainer::kMostTokens))
    throw UsageError("data.vocabulary is {}, expected {} (the 256 bytes and the end of text) to {}",
                     vocabulary, fewest, BpeTrainer::kMostTokens);
}

void CorpusConfig::check_tokenizer() const {
  if (!is_learned(tokenizer) && !fs::exists(tokenizer))
    throw UsageError(
        "data.tokenizer is '{}', expected bpe, byte, character, or the path of a tokenizer{}",
        tokenizer, suggestion(tokenizer, {"bpe", "byte", "character"}));
}

double Corpus::bits_per_byte(double nats_per_token) const {
  return nats_per_token / std::numbers::ln2 / bytes_per_token;
}

Corpus prepare_corpus(const CorpusConfig& config, const fs::path& folder, Start start,
                      std::FILE* progress) {
  config.check();
  const InterruptGuard guard;
  const Files files(folder);
  // What the files in the folder are made from.
  Json record = {{"config", config::to_json(config)}, {"files", fingerprint(config)}};
  if (fs::exists(files.record)) {
    const Json known = read_record(files.record);
    const bool same_files = known.at("files") == record["files"];
    if (start == Start::kResume) {
      check_same_corpus(known.at("config"), record["config"], folder);
      if (!same_files)
        show(progress, fmt::format("The text or its tokenizer has changed since {} was written; "
                                   "the run continues with the tokens there\n",
                                   folder.native()));
      return open_corpus(config, files, known);
    }
    if (same_files && known.at("config") == record["config"])
      return open_corpus(config, files, known);
  }
  config.check_tokenizer();
  const TextSource source = source_of(config, folder);
  const Tokenizer tokenizer = tokenizer_of(config, source, progress);
  fs::remove(files.record);  // what is written now does not belong to it
  tokenizer.save(files.tokenizer);
  write_tokens(source, tokenizer, files.tokens, progress);
  record["description"] = source.description();
  record["tokens"] = digest_of_file(files.tokens);
  write_file(files.record, record.dump(2) + "\n");
  return open_corpus(config, files, record);
}

}  // namespace tessera
