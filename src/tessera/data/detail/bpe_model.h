#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tessera/data/detail/pre_token_scanner.h"

namespace tessera {

/// The alphabet in which byte-level BPE files write bytes as printable characters (Radford et al.
/// 2019, encoder.py): the 188 printable characters of Latin-1 stand for themselves, the other 68
/// bytes, in order, for U+0100 and what follows.
char32_t byte_to_character(uint8_t byte);

std::string bytes_to_alphabet(std::string_view bytes);

/// The bytes that `written` (valid UTF-8) stands for; nothing if a character is not of the
/// alphabet.
std::optional<std::string> alphabet_to_bytes(std::string_view written);

/// How byte-level BPE makes pre-tokens of text.
struct PreTokenRule {
  bool split = true;              // by a pattern; otherwise the whole text is one pre-token
  bool add_prefix_space = false;  // put a space before text that does not start with one
  bool ignore_merges = false;     // a pre-token that is a token stays whole
  std::shared_ptr<const PreTokenPattern> pattern = nullptr;  // null: GPT-2's
};

struct StringHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

/// Byte-level byte pair encoding (Sennrich et al. 2016, Radford et al. 2019): in each pre-token,
/// starting from single bytes, the adjacent pair whose merge has the lowest rank is joined, the
/// leftmost first, until no pair has a merge. O(n log n) in a pre-token's length.
class BpeModel {
 public:
  /// left and right stand side by side and become result; a merge's rank is its place in the list.
  struct Merge {
    int32_t left, right, result;
  };

  /// What one encoding thread keeps between calls: the scanner and the pre-tokens seen so far.
  class Workspace {
   private:
    friend class BpeModel;
    struct Symbol {
      int32_t id, previous, next;  // neighbours by index, -1 at the ends
    };
    struct Candidate {
      int32_t rank, position, left, right;
    };
    struct Slice {
      size_t begin, count;  // in `known_ids`
    };

    PreTokenScanner scanner;
    std::unordered_map<std::string, Slice, StringHash, std::equal_to<>> known;
    std::vector<int32_t> known_ids;
    std::vector<Symbol> symbols;
    std::vector<Candidate> heap;
    std::string prefixed;
  };

  /// tokens: the bytes of every id; byte_ids: the token of every single byte. Where a pair of ids
  /// is listed twice, the later merge counts, as in the implementations this follows.
  BpeModel(const std::vector<std::string>& tokens, const std::array<int32_t, 256>& byte_ids,
           std::vector<Merge> merges, PreTokenRule rule);

  /// Appends the ids of `text`.
  void encode(std::string_view text, Workspace& workspace, std::vector<int32_t>& ids) const;

  const std::vector<Merge>& merges() const { return merges_; }
  const PreTokenRule& rule() const { return rule_; }

 private:
  size_t slot_of(uint64_t pair) const;
  void encode_word(std::string_view word, Workspace& workspace, std::vector<int32_t>& ids) const;
  void merge_word(std::string_view word, Workspace& workspace, std::vector<int32_t>& ids) const;
  void propose(int32_t position, Workspace& workspace) const;

  struct Slot {
    uint64_t pair;
    int32_t rank;  // -1: the slot is free
  };

  std::array<int32_t, 256> byte_ids_;
  std::vector<Merge> merges_;
  PreTokenRule rule_;
  std::vector<Slot> ranks_;  // open addressing, a power of two
  std::unordered_map<std::string, int32_t, StringHash, std::equal_to<>> whole_tokens_;
};

}  // namespace tessera
