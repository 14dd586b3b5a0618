#include "tessera/study/corpus.h"

#include <cmath>
#include <numbers>
#include <optional>

#include "tessera/base/config.h"
#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/base/progress.h"
#include "tessera/data/bpe_trainer.h"
#include "tessera/data/text_source.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using config::Json;

struct Files {
  fs::path tokenizer, tokens, record;
  explicit Files(const fs::path& folder)
      : tokenizer(folder / "tokenizer.json"),
        tokens(folder / "tokens.safetensors"),
        record(folder / "corpus.json") {}
};

/// Sizes and times of the files of a text: they change when the text does.
Json fingerprint(const std::string& text) {
  Json files = Json::array();
  const auto add = [&](const fs::path& path) {
    files.push_back({path.native(), fs::file_size(path),
                     fs::last_write_time(path).time_since_epoch().count()});
  };
  if (fs::is_regular_file(text)) add(text);
  if (fs::is_directory(text))
    for (const auto& entry : fs::recursive_directory_iterator(text))
      if (entry.is_regular_file()) add(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

/// What the files in the folder were made from.
Json record_of(const CorpusConfig& config) {
  return {{"config", config::to_json(config)}, {"files", fingerprint(config.text)}};
}

TextSource source_of(const CorpusConfig& config, const fs::path& folder) {
  return config.text.empty() ? TextSource::automatic(folder)
                             : TextSource::from_path(config.text, config.suffix);
}

Tokenizer learn_bpe(const TextSource& source, int64_t vocabulary, std::FILE* stream) {
  BpeTrainer trainer({.vocabulary_size = vocabulary});
  {
    Progress progress(stream, "Counting words", static_cast<int64_t>(source.documents()));
    int64_t done = 0;
    source.for_each([&](const std::string&, std::string_view text) {
      trainer.add_text(text);
      progress.update(++done);
    });
  }
  Progress progress(stream, "Learning tokens", vocabulary);
  return trainer.train([&](int64_t tokens) { progress.update(tokens); });
}

Tokenizer learn_characters(const TextSource& source) {
  std::string all;
  source.for_each([&](const std::string&, std::string_view text) { all += text; });
  return Tokenizer::characters(all, EndOfText::kPresent);
}

Tokenizer tokenizer_of(const CorpusConfig& config, const TextSource& source, std::FILE* stream) {
  if (config.tokenizer == "bpe") return learn_bpe(source, config.vocabulary, stream);
  if (config.tokenizer == "byte") return Tokenizer::bytes(EndOfText::kPresent);
  if (config.tokenizer == "character") return learn_characters(source);
  return Tokenizer::load(config.tokenizer);
}

void write_tokens(const TextSource& source, const Tokenizer& tokenizer, const fs::path& path,
                  std::FILE* stream) {
  Progress progress(stream, "Encoding", static_cast<int64_t>(source.documents()));
  TokenStreamWriter writer(path, tokenizer);
  int64_t done = 0;
  source.for_each([&](const std::string&, std::string_view text) {
    writer.add_document(text);
    progress.update(++done, fmt::format("{} tokens", writer.tokens()));
  });
  writer.finish();
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
  const uint64_t digest = tokenizer.digest() ^ std::hash<std::string>()(record["config"].dump());
  return {record["description"].get<std::string>(), tokenizer,       training,
          validation,                               bytes_per_token, digest};
}

}  // namespace

double Corpus::bits_per_byte(double nats_per_token) const {
  return nats_per_token / std::numbers::ln2 / bytes_per_token;
}

Corpus prepare_corpus(const CorpusConfig& config, const fs::path& folder, std::FILE* progress) {
  if (!(config.validation_share > 0 && config.validation_share < 1))
    throw UsageError("data.validation_share is {}, expected a share between 0 and 1",
                     config.validation_share);
  const Files files(folder);
  Json record = record_of(config);
  if (fs::exists(files.record)) {
    Json known = config::read_json(files.record);
    if (known.value("config", Json()) == record["config"] &&
        known.value("files", Json()) == record["files"] && known.contains("description"))
      return open_corpus(config, files, known);
  }
  const TextSource source = source_of(config, folder);
  const Tokenizer tokenizer = tokenizer_of(config, source, progress);
  tokenizer.save(files.tokenizer);
  write_tokens(source, tokenizer, files.tokens, progress);
  record["description"] = source.description();
  write_file(files.record, record.dump(2) + "\n");
  return open_corpus(config, files, record);
}

}  // namespace tessera
