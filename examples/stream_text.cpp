// A model directory, as `tessera train` writes it, continues a prompt: first with generate(), as
// the program does, then by hand with a StreamingSession, one token at a time.
//
//   tessera train examples/configs/tiny.toml --out runs/tiny
//   stream_text runs/tiny/model "And the king said"
//
// Expected output: the prompt with its most probable continuation, as it is written, the same text
// as `tessera generate --model runs/tiny/model --prompt "And the king said" --max-tokens 30
// --temperature 0 --ignore-end` prints, and then
//   by hand: the same 30 tokens

#include <ATen/ATen.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>

#include "tessera/infer/generate.h"
#include "tessera/infer/model_folder.h"
#include "tessera/infer/streaming_session.h"
#include "tessera/model/language_model.h"

namespace {

constexpr int64_t kTokens = 30;

/// The most probable continuation. The memories keep every pair, so nothing is read twice.
tessera::Tokens continue_by_hand(tessera::LanguageModel& model, const tessera::Tokens& prompt) {
  tessera::StreamingSession session(model, tessera::natural_reading(model));
  at::Tensor logits = session.add({prompt});  // [1, V]
  tessera::Tokens written;
  while (std::ssize(written) < kTokens) {
    written.push_back(logits.argmax(1).item<int64_t>());
    logits = session.step({written.back()});
  }
  return written;
}

void run(const std::filesystem::path& path, const std::string& text) {
  const auto folder = tessera::ModelFolder::load(path);
  const tessera::Tokens prompt = folder.encode(text);

  tessera::GenerateOptions options;
  options.max_tokens = kTokens;
  options.ignore_end = true;
  options.sampling.temperature = 0;
  std::printf("%s", text.c_str());
  const auto generations = tessera::generate(
      *folder.model, {{prompt}}, folder.with_tokenizer(options),
      [](const tessera::GeneratedToken& token) {
        std::printf("%.*s", static_cast<int>(token.text.size()), token.text.data());
        std::fflush(stdout);
        return true;  // go on
      });

  tessera::Tokens generated;
  for (const auto& token : generations.front().tokens) generated.push_back(token.token);
  const bool same = continue_by_hand(*folder.model, prompt) == generated;
  std::printf("\nby hand: %s %d tokens\n", same ? "the same" : "other than these",
              static_cast<int>(generated.size()));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: stream_text MODEL_DIRECTORY PROMPT\n");
    return 2;
  }
  try {
    run(argv[1], argv[2]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "stream_text: %s\n", error.what());
    return 1;
  }
}
