#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "tessera/base/utf8.h"
#include "tessera/data/detail/tokenizer_content.h"
#include "tessera/data/tokenizer.h"

namespace tessera {
namespace {

std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump();
}

std::string write_added_token(const AddedToken& token) {
  return fmt::format(
      "    {{\"id\": {}, \"content\": {}, \"single_word\": false, \"lstrip\": {}, \"rstrip\": {}, "
      "\"normalized\": {}, \"special\": {}}}",
      token.id, json_text(token.name), token.strips_left, token.strips_right, !token.early,
      token.special);
}

/// The lines of a JSON list or table.
std::string joined(const std::vector<std::string>& lines) {
  return lines.empty() ? "" : fmt::format("\n{}\n  ", fmt::join(lines, ",\n"));
}

std::string write_byte_level(const PreTokenRule& rule) {
  return fmt::format(
      "{{\"type\": \"ByteLevel\", \"add_prefix_space\": {}, \"trim_offsets\": true, "
      "\"use_regex\": {}}}",
      rule.add_prefix_space, rule.split && !rule.pattern);
}

std::string write_pre_tokenizer(const PreTokenRule& rule) {
  if (!rule.pattern) return write_byte_level(rule);
  return fmt::format(
      "{{\"type\": \"Sequence\", \"pretokenizers\": [\n  {{\"type\": \"Split\", \"pattern\": "
      "{{\"Regex\": {}}}, \"behavior\": \"Isolated\", \"invert\": false}},\n  {}]}}",
      json_text(rule.pattern->text()), write_byte_level(rule));
}

std::string write_hugging_face(const TokenizerContent& content, const BpeModel& bpe) {
  std::vector<std::string> written;
  for (const auto& bytes : content.tokens) written.push_back(bytes_to_alphabet(bytes));
  std::vector<std::string> added, vocabulary, merges;
  for (const auto& token : content.added_tokens) {
    // Hugging Face's library looks its id up in the vocabulary, and counts on from there if it is
    // missing.
    written[token.id] = token.name;
    added.push_back(write_added_token(token));
  }
  for (size_t id = 0; id < written.size(); ++id)
    if (!written[id].empty())
      vocabulary.push_back(fmt::format("    {}: {}", json_text(written[id]), id));
  for (const auto& [left, right, result] : bpe.merges())
    merges.push_back("    " + json_text(written[left] + " " + written[right]));
  const PreTokenRule& rule = bpe.rule();
  return fmt::format(
      "{{\n\"version\": \"1.0\",\n\"truncation\": null,\n\"padding\": null,\n"
      "\"added_tokens\": [{}],\n\"normalizer\": null,\n\"pre_tokenizer\": {},\n"
      "\"post_processor\": null,\n\"decoder\": {},\n\"model\": {{\n  \"type\": \"BPE\",\n"
      "  \"dropout\": null,\n  \"unk_token\": null,\n  \"continuing_subword_prefix\": null,\n"
      "  \"end_of_word_suffix\": null,\n  \"fuse_unk\": false,\n  \"byte_fallback\": false,\n"
      "  \"ignore_merges\": {},\n  \"vocab\": {{{}}},\n  \"merges\": [{}]\n}}\n}}\n",
      joined(added), write_pre_tokenizer(rule), write_byte_level(rule), rule.ignore_merges,
      joined(vocabulary), joined(merges));
}

}  // namespace

std::string write_tokenizer_json(const TokenizerContent& content) {
  if (const auto* bpe = std::get_if<BpeModel>(&content.model))
    return write_hugging_face(content, *bpe);
  const std::string end_of_text = content.end_of_text ? json_text(kEndOfTextName) : "null";
  std::string_view format = kBytesFormat;
  std::string extra;
  if (const auto* model = std::get_if<CharacterModel>(&content.model)) {
    format = kCharactersFormat;
    std::string characters;
    for (char32_t c : model->characters()) utf8::append(characters, c);
    extra = fmt::format(",\n\"characters\": {}", json_text(characters));
  }
  return fmt::format("{{\n\"format\": \"{}\",\n\"version\": {},\n\"end_of_text\": {}{}\n}}\n",
                     format, kFormatVersion, end_of_text, extra);
}

}  // namespace tessera
