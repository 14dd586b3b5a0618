#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>
#include <utility>

#include "tessera/base/config.h"
#include "tessera/base/error.h"
#include "tessera/base/utf8.h"
#include "tessera/data/detail/tokenizer_content.h"
#include "tessera/data/tokenizer.h"

namespace tessera {
namespace {

using Json = nlohmann::json;
using NameToId = std::unordered_map<std::string, int32_t, StringHash, std::equal_to<>>;

// An id may leave holes below it, as in published vocabularies, but not much more than there are
// tokens: memory must stay in proportion to the file.
constexpr int64_t kSpareIds = 4096;

/// A byte-level BPE vocabulary as files describe it, tokens written in the byte alphabet.
struct BpeFile {
  std::vector<std::pair<std::string, int32_t>> vocabulary;
  std::vector<std::pair<std::string, std::string>> merges;
  std::vector<AddedToken> added_tokens;
  PreTokenRule rule;
};

/// The member of an object, null where it is absent.
const Json& member(const Json& object, const char* name) {
  static const Json kNull;
  const auto found = object.find(name);
  return found == object.end() ? kNull : *found;
}

bool flag(const Json& object, const char* name, bool otherwise, const std::string& source) {
  const Json& value = member(object, name);
  if (value.is_null()) return otherwise;
  if (!value.is_boolean()) throw DataError(source, "'{}' is neither true nor false", name);
  return value.get<bool>();
}

std::string type_of(const Json& object) {
  if (object.is_null()) return "none";
  const Json* type = object.is_object() ? &member(object, "type") : nullptr;
  return type != nullptr && type->is_string() ? type->get<std::string>() : "of no known type";
}

int32_t parse_id(const Json& value, const std::string& token, const std::string& source) {
  if (!value.is_number_integer() || value < 0 || value > INT32_MAX - 1)
    throw DataError(source, "token '{}' has the id {}, expected an integer from 0", token,
                    config::shown(value));
  return value.get<int32_t>();
}

std::vector<std::pair<std::string, int32_t>> parse_vocabulary(const Json& json,
                                                              const std::string& source) {
  if (!json.is_object()) throw DataError(source, "its vocabulary is not a table of tokens and ids");
  std::vector<std::pair<std::string, int32_t>> vocabulary;
  for (const auto& [token, id] : json.items())
    vocabulary.emplace_back(token, parse_id(id, token, source));
  return vocabulary;
}

/// "a b" as the two parts.
std::pair<std::string, std::string> split_merge(std::string_view text, size_t number,
                                                const std::string& source) {
  const size_t space = text.find(' ');
  if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos)
    throw DataError(source, "merge {} is '{}', expected two tokens with one space between", number,
                    text);
  return {std::string(text.substr(0, space)), std::string(text.substr(space + 1))};
}

std::vector<std::pair<std::string, std::string>> parse_merges(const Json& json,
                                                              const std::string& source) {
  if (!json.is_array()) throw DataError(source, "its merges are not a list");
  std::vector<std::pair<std::string, std::string>> merges;
  for (const Json& merge : json) {
    if (merge.is_string()) {
      merges.push_back(split_merge(merge.get_ref<const std::string&>(), merges.size(), source));
    } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() &&
               merge[1].is_string()) {
      merges.emplace_back(merge[0].get<std::string>(), merge[1].get<std::string>());
    } else {
      throw DataError(source, "merge {} is neither \"a b\" nor [\"a\", \"b\"]", merges.size());
    }
  }
  return merges;
}

std::vector<AddedToken> parse_added_tokens(const Json& json, const std::string& source) {
  std::vector<AddedToken> tokens;
  if (json.is_null()) return tokens;
  if (!json.is_array()) throw DataError(source, "its added_tokens are not a list");
  for (const Json& entry : json) {
    const Json& content = entry.is_object() ? member(entry, "content") : entry;
    if (!entry.is_object() || !content.is_string() || content.get_ref<const std::string&>().empty())
      throw DataError(source, "added token {} has no content", tokens.size());
    AddedToken token;
    token.name = content.get<std::string>();
    token.id = parse_id(member(entry, "id"), token.name, source);
    token.special = flag(entry, "special", false, source);
    token.early = !flag(entry, "normalized", !token.special, source);
    token.strips_left = flag(entry, "lstrip", false, source);
    token.strips_right = flag(entry, "rstrip", false, source);
    if (flag(entry, "single_word", false, source))
      throw DataError(source, "added token '{}' is single_word, which is not supported",
                      token.name);
    tokens.push_back(std::move(token));
  }
  return tokens;
}

/// The vector of tokens that the largest id asks for.
std::vector<std::string> room_for_tokens(const BpeFile& file, const std::string& source) {
  int64_t largest = -1;
  for (const auto& [token, id] : file.vocabulary) largest = std::max<int64_t>(largest, id);
  for (const auto& token : file.added_tokens) largest = std::max<int64_t>(largest, token.id);
  const int64_t count = file.vocabulary.size() + file.added_tokens.size();
  if (largest >= 2 * count + kSpareIds)
    throw DataError(source, "has {} tokens but ids up to {}; it is damaged", count, largest);
  return std::vector<std::string>(largest + 1);
}

void place_token(std::vector<std::string>& tokens, int32_t id, const std::string& name,
                 std::string bytes, const std::string& source) {
  if (bytes.empty()) throw DataError(source, "the token of id {} is empty", id);
  if (!tokens[id].empty())
    throw DataError(source, "the id {} belongs to '{}' and to another token", id, name);
  tokens[id] = std::move(bytes);
}

std::vector<std::string> place_tokens(const BpeFile& file, const NameToId& ids,
                                      const std::string& source) {
  std::vector<std::string> tokens = room_for_tokens(file, source);
  NameToId added;
  for (const auto& token : file.added_tokens)
    if (!added.emplace(token.name, token.id).second)
      throw DataError(source, "the added token '{}' is there twice", token.name);
  for (const auto& [name, id] : file.vocabulary) {
    const auto same = added.find(name);
    if (same != added.end() && same->second != id)
      throw DataError(source, "'{}' is an added token and another token too", name);
    // The name of an added token is its text, even where it could be read in the alphabet.
    const auto bytes = same == added.end() ? alphabet_to_bytes(name) : name;
    if (!bytes)
      throw DataError(source, "token '{}' of id {} is not written in the byte-level alphabet", name,
                      id);
    place_token(tokens, id, name, *bytes, source);
  }
  for (const auto& token : file.added_tokens)
    if (!ids.contains(token.name)) place_token(tokens, token.id, token.name, token.name, source);
  return tokens;
}

std::array<int32_t, 256> find_bytes(const NameToId& ids, const std::vector<std::string>& tokens,
                                    const std::string& source) {
  std::array<int32_t, 256> byte_ids;
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text(1, static_cast<char>(byte));
    const auto found = ids.find(bytes_to_alphabet(text));
    if (found == ids.end() || tokens[found->second] != text)
      throw DataError(source, "has no token for the byte 0x{:02X}; it is not a byte-level BPE",
                      byte);
    byte_ids[byte] = found->second;
  }
  return byte_ids;
}

std::vector<BpeModel::Merge> resolve_merges(const BpeFile& file, const NameToId& ids,
                                            const std::vector<std::string>& tokens,
                                            const std::string& source) {
  std::vector<BpeModel::Merge> merges;
  const auto id_of = [&](const std::string& name) {
    const auto found = ids.find(name);
    if (found == ids.end())
      throw DataError(source, "merge {} needs the token '{}', which the vocabulary lacks",
                      merges.size(), name);
    return found->second;
  };
  for (const auto& [left, right] : file.merges) {
    const BpeModel::Merge merge{id_of(left), id_of(right), id_of(left + right)};
    if (tokens[merge.left] + tokens[merge.right] != tokens[merge.result])
      throw DataError(source, "merge {} gives '{}', which stands for other bytes", merges.size(),
                      left + right);
    merges.push_back(merge);
  }
  return merges;
}

TokenizerContent build_bpe(BpeFile file, const std::string& source) {
  NameToId ids(file.vocabulary.begin(), file.vocabulary.end());
  std::vector<std::string> tokens = place_tokens(file, ids, source);
  const auto byte_ids = find_bytes(ids, tokens, source);
  auto merges = resolve_merges(file, ids, tokens, source);
  // Plain text must not become a special token by being one whole pre-token.
  std::vector<std::string> plain = tokens;
  for (const auto& token : file.added_tokens) plain[token.id].clear();
  const auto end_of_text = find_end_of_text(file.added_tokens);
  return {BpeModel(plain, byte_ids, std::move(merges), file.rule), std::move(tokens),
          std::move(file.added_tokens), end_of_text};
}

void require_type(const Json& part, const char* name, const char* expected,
                  const std::string& source) {
  if (type_of(part) != expected)
    throw DataError(source, "its {} is {}, only {} is supported", name, type_of(part), expected);
}

/// Refuses what would change the ids and is not implemented.
void require_plain_bpe(const Json& model, const std::string& source) {
  // Files from before the type was written hold BPE where they hold merges.
  if (!member(model, "type").is_null()) require_type(model, "model", "BPE", source);
  for (const char* name : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (!member(model, name).is_null() && member(model, name) != Json(""))
      throw DataError(source, "its model has a {}, which is not supported", name);
  if (!member(model, "dropout").is_null() && member(model, "dropout") != 0.0)
    throw DataError(source, "its model has dropout, which makes ids random; set it to null");
  if (flag(model, "byte_fallback", false, source))
    throw DataError(source, "its model has byte_fallback, which is not supported");
}

void require_flag(const Json& part, const char* name, bool otherwise, bool required,
                  const std::string& where, const std::string& source) {
  if (flag(part, name, otherwise, source) != required)
    throw DataError(source, "its {} with {} = {} is not supported", where, name, !required);
}

/// The pattern of a Split whose matches stand alone: {"type": "Split", "pattern": {"Regex": …},
/// "behavior": "Isolated", "invert": false}.
std::shared_ptr<const PreTokenPattern> parse_split(const Json& split, const std::string& source) {
  require_type(split, "pre_tokenizer before ByteLevel", "Split", source);
  const Json& pattern = member(split, "pattern");
  const Json& regex = pattern.is_object() ? member(pattern, "Regex") : Json();
  if (!regex.is_string())
    throw DataError(source, "its Split has no pattern by 'Regex'; others are not supported");
  if (member(split, "behavior") != "Isolated")
    throw DataError(source, "its Split has the behavior {}, only \"Isolated\" is supported",
                    config::shown(member(split, "behavior")));
  require_flag(split, "invert", false, false, "Split", source);
  try {
    return std::make_shared<const PreTokenPattern>(regex.get_ref<const std::string&>());
  } catch (const UsageError& error) {
    throw DataError(source, "its Split has the pattern {}: {}", regex.dump(), error.what());
  }
}

/// ByteLevel alone, or a Sequence of a Split and a ByteLevel that does not split again.
PreTokenRule parse_pre_tokenizer(const Json& pre_tokenizer, const std::string& source) {
  PreTokenRule rule;
  if (type_of(pre_tokenizer) != "Sequence") {
    require_type(pre_tokenizer, "pre_tokenizer", "ByteLevel", source);
    rule.add_prefix_space = flag(pre_tokenizer, "add_prefix_space", true, source);
    rule.split = flag(pre_tokenizer, "use_regex", true, source);
    return rule;
  }
  const Json& parts = member(pre_tokenizer, "pretokenizers");
  if (!parts.is_array() || parts.size() != 2)
    throw DataError(source,
                    "its pre_tokenizer is a Sequence of {} parts, only one of a Split and a "
                    "ByteLevel is supported",
                    parts.size());
  rule.pattern = parse_split(parts[0], source);
  require_type(parts[1], "pre_tokenizer after Split", "ByteLevel", source);
  require_flag(parts[1], "add_prefix_space", true, false, "ByteLevel after a Split", source);
  require_flag(parts[1], "use_regex", true, false, "ByteLevel after a Split", source);
  return rule;
}

TokenizerContent parse_hugging_face(const Json& json, const std::string& source) {
  const Json& model = member(json, "model");
  if (!model.is_object())
    throw DataError(source, "is not a tokenizer.json: it has neither a model nor a format");
  require_plain_bpe(model, source);
  if (!member(json, "normalizer").is_null())
    throw DataError(source, "its normalizer is {}, only none is supported",
                    type_of(member(json, "normalizer")));
  BpeFile file;
  file.rule = parse_pre_tokenizer(member(json, "pre_tokenizer"), source);
  require_type(member(json, "decoder"), "decoder", "ByteLevel", source);
  file.rule.ignore_merges = flag(model, "ignore_merges", false, source);
  file.vocabulary = parse_vocabulary(member(model, "vocab"), source);
  file.merges = parse_merges(member(model, "merges"), source);
  file.added_tokens = parse_added_tokens(member(json, "added_tokens"), source);
  return build_bpe(std::move(file), source);
}

TokenizerContent parse_own_format(const Json& json, const std::string& source) {
  const Json& format = member(json, "format");
  if (member(json, "version") != kFormatVersion)
    throw DataError(source, "has version {} of its format, expected {}",
                    config::shown(member(json, "version")), kFormatVersion);
  const Json& end = member(json, "end_of_text");
  if (!end.is_null() && end != kEndOfTextName)
    throw DataError(source, "end_of_text is neither null nor \"{}\"", kEndOfTextName);
  const EndOfText end_of_text = end.is_null() ? EndOfText::kAbsent : EndOfText::kPresent;
  if (format == kBytesFormat) return Tokenizer::bytes(end_of_text).content();
  const Json& characters = member(json, "characters");
  if (format != kCharactersFormat || !characters.is_string() ||
      characters.get_ref<const std::string&>().empty())
    throw DataError(source, "is neither a {} nor a {} with characters", kBytesFormat,
                    kCharactersFormat);
  return Tokenizer::characters(characters.get_ref<const std::string&>(), end_of_text).content();
}

}  // namespace

std::optional<int32_t> find_end_of_text(const std::vector<AddedToken>& added_tokens) {
  for (std::string_view name : {kEndOfTextName, std::string_view("<|end_of_text|>"),
                                std::string_view("</s>"), std::string_view("<eos>")})
    for (const auto& token : added_tokens)
      if (token.special && token.name == name) return token.id;
  return {};
}

TokenizerContent parse_tokenizer_json(std::string_view text, const std::string& source) {
  const Json json = config::parse_sorted_json(text, source);
  if (!json.is_object()) throw DataError(source, "is not a JSON object");
  return json.contains("format") ? parse_own_format(json, source)
                                 : parse_hugging_face(json, source);
}

TokenizerContent parse_gpt2(std::string_view encoder_json, std::string_view vocab_bpe,
                            const std::string& source) {
  BpeFile file;
  file.vocabulary = parse_vocabulary(config::parse_sorted_json(encoder_json, source), source);
  const size_t valid = utf8::valid_prefix(vocab_bpe);
  if (valid != vocab_bpe.size())
    throw DataError(source, "byte {} of the merges is not valid UTF-8", valid);
  if (vocab_bpe.starts_with("#version"))
    vocab_bpe.remove_prefix(std::min(vocab_bpe.find('\n'), vocab_bpe.size()));
  while (!vocab_bpe.empty()) {
    const size_t end = std::min(vocab_bpe.find('\n'), vocab_bpe.size());
    std::string_view line = vocab_bpe.substr(0, end);
    vocab_bpe.remove_prefix(std::min(end + 1, vocab_bpe.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) file.merges.push_back(split_merge(line, file.merges.size(), source));
  }
  for (const auto& [token, id] : file.vocabulary)
    if (token == kEndOfTextName) file.added_tokens.push_back({token, id});
  return build_bpe(std::move(file), source);
}

}  // namespace tessera
