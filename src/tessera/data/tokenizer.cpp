#include "tessera/data/tokenizer.h"

#include <utility>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/base/utf8.h"
#include "tessera/data/detail/tokenizer_content.h"
#include "tessera/data/text_encoder.h"

namespace tessera {
namespace {

constexpr uint64_t kLargestFile = uint64_t{256} << 20;  // bytes

/// FNV-1a over all that decides the ids.
class Digest {
 public:
  void add(uint64_t number) {
    for (int i = 0; i < 8; ++i) add_byte(static_cast<uint8_t>(number >> 8 * i));
  }
  void add(std::string_view text) {
    add(text.size());
    for (char byte : text) add_byte(static_cast<uint8_t>(byte));
  }
  uint64_t value() const { return value_; }

 private:
  void add_byte(uint8_t byte) { value_ = (value_ ^ byte) * 0x100000001B3; }
  uint64_t value_ = 0xCBF29CE484222325;
};

uint64_t digest_of(const TokenizerContent& content) {
  Digest digest;
  digest.add(content.model.index());
  digest.add(content.tokens.size());
  for (const auto& token : content.tokens) digest.add(token);
  for (const auto& token : content.added_tokens) {
    digest.add(token.name);
    digest.add(static_cast<uint64_t>(token.id));
    digest.add(token.special | token.early << 1 | token.strips_left << 2 | token.strips_right << 3);
  }
  if (const auto* bpe = std::get_if<BpeModel>(&content.model)) {
    const PreTokenRule& rule = bpe->rule();
    digest.add(rule.split | rule.add_prefix_space << 1 | rule.ignore_merges << 2);
    if (rule.pattern) digest.add(rule.pattern->text());
    for (const auto& merge : bpe->merges()) {
      digest.add(static_cast<uint64_t>(merge.left));
      digest.add(static_cast<uint64_t>(merge.right));
      digest.add(static_cast<uint64_t>(merge.result));
    }
  }
  return digest.value();
}

void append_end_of_text(TokenizerContent& content, EndOfText end_of_text) {
  if (end_of_text == EndOfText::kAbsent) return;
  content.end_of_text = static_cast<int32_t>(content.tokens.size());
  content.tokens.emplace_back(kEndOfTextName);
  content.added_tokens.push_back({std::string(kEndOfTextName), *content.end_of_text});
}

}  // namespace

Tokenizer::Tokenizer(TokenizerContent content)
    : content_(std::make_shared<const TokenizerContent>(std::move(content))),
      digest_(digest_of(*content_)) {}

Tokenizer Tokenizer::bytes(EndOfText end_of_text) {
  TokenizerContent content{ByteModel{}, {}, {}, {}};
  for (int byte = 0; byte < 256; ++byte) content.tokens.emplace_back(1, static_cast<char>(byte));
  append_end_of_text(content, end_of_text);
  return Tokenizer(std::move(content));
}

Tokenizer Tokenizer::characters(std::string_view text, EndOfText end_of_text) {
  if (text.empty()) throw DataError("text", "is empty: there is no character to learn");
  const size_t valid = utf8::valid_prefix(text);
  if (valid != text.size()) throw DataError("text", "byte {} is not valid UTF-8", valid);
  std::vector<bool> seen(0x110000);
  while (!text.empty()) seen[utf8::take(text)] = true;
  std::vector<char32_t> characters;
  std::vector<std::string> tokens;
  for (char32_t c = 0; c < seen.size(); ++c) {
    if (!seen[c]) continue;
    characters.push_back(c);
    utf8::append(tokens.emplace_back(), c);
  }
  TokenizerContent content{CharacterModel(std::move(characters)), std::move(tokens), {}, {}};
  append_end_of_text(content, end_of_text);
  return Tokenizer(std::move(content));
}

Tokenizer Tokenizer::gpt2(std::string_view encoder_json, std::string_view vocab_bpe,
                          const std::string& source) {
  return Tokenizer(parse_gpt2(encoder_json, vocab_bpe, source));
}

Tokenizer Tokenizer::parse(std::string_view json, const std::string& source) {
  return Tokenizer(parse_tokenizer_json(json, source));
}

Tokenizer Tokenizer::load(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) return parse(read_file(path, kLargestFile), path);
  if (std::filesystem::exists(path / "tokenizer.json")) return load(path / "tokenizer.json");
  for (const auto& [vocabulary, merges] :
       {std::pair{"encoder.json", "vocab.bpe"}, std::pair{"vocab.json", "merges.txt"}}) {
    if (!std::filesystem::exists(path / vocabulary)) continue;
    return gpt2(read_file(path / vocabulary, kLargestFile), read_file(path / merges, kLargestFile),
                path);
  }
  throw DataError(path.native(),
                  "holds no tokenizer: neither tokenizer.json nor encoder.json with vocab.bpe nor "
                  "vocab.json with merges.txt");
}

void Tokenizer::save(const std::filesystem::path& path) const {
  write_file(path, to_json());
}

std::string Tokenizer::to_json() const {
  return write_tokenizer_json(*content_);
}

std::vector<int32_t> Tokenizer::encode(std::string_view text, SpecialTokens special) const {
  std::vector<int32_t> ids;
  TextEncoder(*this, special).append(text, ids);
  return ids;
}

std::string Tokenizer::decode(std::span<const int32_t> ids) const {
  std::string text;
  for (int32_t id : ids) text += token_bytes(id);
  return text;
}

bool Tokenizer::has_token(int32_t id) const {
  return id >= 0 && static_cast<size_t>(id) < content_->tokens.size() &&
         !content_->tokens[id].empty();
}

std::string_view Tokenizer::token_bytes(int32_t id) const {
  check_argument(has_token(id), "Tokenizer: the id {} stands for no token, ids go up to {}", id,
                 vocabulary_size() - 1);
  return content_->tokens[id];
}

int64_t Tokenizer::vocabulary_size() const {
  return std::ssize(content_->tokens);
}

std::optional<int32_t> Tokenizer::end_of_text() const {
  return content_->end_of_text;
}

std::string Tokenizer::description() const {
  constexpr std::string_view kKinds[] = {"bytes", "characters", "byte-level BPE"};
  return fmt::format("{}, {} tokens", kKinds[content_->model.index()], vocabulary_size());
}

std::string bytes_of(const Tokenizer& tokenizer, int64_t token) {
  if (!std::in_range<int32_t>(token)) return {};
  const auto id = static_cast<int32_t>(token);
  return tokenizer.has_token(id) ? std::string(tokenizer.token_bytes(id)) : std::string();
}

std::string shown_token(const Tokenizer& tokenizer, int64_t token) {
  const std::string bytes = bytes_of(tokenizer, token);
  if (bytes.empty()) return fmt::format("token:{}", token);
  if (utf8::valid_prefix(bytes) == bytes.size()) return bytes;
  std::string shown = "bytes:";
  for (const char byte : bytes) shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  return shown;
}

}  // namespace tessera
