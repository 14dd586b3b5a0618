// A memory of texts learns two poems in one pass, recites one from its beginning, gives no answer
// to a verse that it never saw, and forgets: its matrix is then, bit for bit, one that never held
// the poem.
//
// Expected output:
//   Tyger Tyger, burning bright, In the forests of the night;
//   never seen: no answer
//   forgotten: the matrix of the other poem alone

#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/data/tokenizer.h"
#include "tessera/memo/likelihood_decoder.h"
#include "tessera/memo/text_memory.h"
#include "tessera/memo/text_reader.h"

namespace {

constexpr std::string_view kTyger = "Tyger Tyger, burning bright, In the forests of the night;";
constexpr std::string_view kLamb =
    "Little Lamb who made thee Dost thou know who made thee Gave thee life & bid thee feed.";

using Tokens = std::vector<int32_t>;

/// What the memory says comes next, token by token, as long as it was stored for certain.
Tokens recite(const tessera::memo::TextMemory& memory, const Tokens& prompt) {
  const std::vector<double> prior(memory.config().vocabulary, 1.0);
  const tessera::memo::LikelihoodDecoder decoder(prior, memory.noise(), /*error_rate=*/0.001);
  tessera::memo::TextReader reader(memory);
  for (const int32_t token : prompt) reader.append(token);
  Tokens recited;
  for (;;) {
    const tessera::memo::NextToken next = decoder.best(reader.scores());
    if (!next.recalled) return recited;
    recited.push_back(next.token);
    reader.append(next.token);
  }
}

bool equal(const tessera::memo::ExactCorrelationMemory& a,
           const tessera::memo::ExactCorrelationMemory& b) {
  for (int64_t row = 0; row < a.rows(); ++row)
    for (int64_t column = 0; column < a.columns(); ++column)
      if (a.entry(row, column) != b.entry(row, column)) return false;
  return true;
}

void run() {
  const auto tokenizer = tessera::Tokenizer::bytes(tessera::EndOfText::kAbsent);
  const Tokens tyger = tokenizer.encode(kTyger), lamb = tokenizer.encode(kLamb);
  const tessera::memo::TextMemoryConfig config{.dimension = 512,
                                               .vocabulary = tokenizer.vocabulary_size()};
  tessera::memo::TextMemory memory(config), other(config);
  memory.memorize(tessera::memo::one_piece(tyger));
  memory.memorize(tessera::memo::one_piece(lamb));
  other.memorize(tessera::memo::one_piece(lamb));

  const std::string prompt = "Tyger Tyger, burning";
  const std::string recited = tokenizer.decode(recite(memory, tokenizer.encode(prompt)));
  std::printf("%s%s\n", prompt.c_str(), recited.c_str());
  const Tokens unknown = tokenizer.encode("The fields from Islington to Marybone");
  std::printf("never seen: %s\n", recite(memory, unknown).empty() ? "no answer" : "an answer");
  memory.forget(tessera::memo::one_piece(tyger));
  const bool forgotten = equal(memory.shards()[0].matrix(), other.shards()[0].matrix());
  std::printf("forgotten: %s\n",
              forgotten ? "the matrix of the other poem alone" : "something is left");
}

}  // namespace

int main() {
  try {
    run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "memorise_text: %s\n", error.what());
    return 1;
  }
}
