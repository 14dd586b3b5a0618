// One contextual memory inside a network of your own. The task: read six random pairs of a letter
// and a digit, "q3 a7 x1 ...", then one of the letters again, and say its digit. The pairs are new
// in every sequence, so the answer cannot be learned by heart: it must be stored and retrieved.
//
// Expected output:
//   before training: right in fewer than half of 512 new sequences
//   after training: right in more than 99 % of 512 new sequences
//   token by token: the same answers

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/adam.h>

#include <cstdio>
#include <tuple>
#include <utility>

#include "tessera/memory/mosaic/context_memory.h"

namespace {

constexpr int64_t kLetters = 16, kDigits = 10, kPairs = 6, kChannels = 32;

struct Batch {
  at::Tensor tokens;   // [B, 2 * kPairs + 1]: letter, digit, letter, digit, ..., letter
  at::Tensor answers;  // [B], digits
};

Batch draw(int64_t sequences, at::Generator& random) {
  const auto whole = at::TensorOptions(at::kLong);
  // The letters of a sequence differ: the order of random numbers is a random order of letters.
  const at::Tensor letters =
      at::rand({sequences, kLetters}, random).argsort(int64_t{1}).narrow(1, 0, kPairs);
  const at::Tensor digits = at::randint(0, kDigits, {sequences, kPairs}, random, whole);
  const at::Tensor asked = at::randint(0, kPairs, {sequences, 1}, random, whole);
  const at::Tensor pairs = at::stack({letters, digits + kLetters}, 2).flatten(1);
  return {at::cat({pairs, letters.gather(1, asked)}, 1), digits.gather(1, asked).squeeze(1)};
}

/// Embedding, one memory unit beside a residual connection, and a linear map to the ten digits.
struct RecallNetwork : torch::nn::Module {
  RecallNetwork()
      : embedding(
            register_module("embedding", torch::nn::Embedding(kLetters + kDigits, kChannels))),
        memory(register_module("memory", tessera::ContextMemory(tessera::MemoryOptions{
                                             .channels = kChannels, .heads = 2}))),
        digits(register_module("digits", torch::nn::Linear(kChannels, kDigits))) {}

  /// tokens [B, T] -> logits [B, kDigits] after the last token.
  at::Tensor forward(const at::Tensor& tokens) {
    const at::Tensor x = embedding->forward(tokens);  // [B, T, C]
    return digits->forward((x + memory->forward(x)).select(1, -1));
  }

  /// The same with the memory's state carried from token to token, as a program would that meets
  /// them one by one.
  at::Tensor forward_by_token(const at::Tensor& tokens) {
    tessera::ContextMemoryState state;
    at::Tensor x, y;
    for (int64_t t = 0; t < tokens.size(1); ++t) {
      x = embedding->forward(tokens.narrow(1, t, 1));  // [B, 1, C]
      std::tie(y, state) = memory->read(x, std::move(state));
    }
    return digits->forward((x + y).select(1, -1));
  }

  torch::nn::Embedding embedding;
  tessera::ContextMemory memory;
  torch::nn::Linear digits;
};

double share_right(const at::Tensor& logits, const Batch& batch) {
  return logits.argmax(1).eq(batch.answers).to(at::kDouble).mean().item<double>();
}

}  // namespace

int main() {
  at::manual_seed(1);
  auto random = at::make_generator<at::CPUGeneratorImpl>(2);
  RecallNetwork network;
  const Batch test = draw(512, random);
  const double before = share_right(network.forward(test.tokens), test);
  std::printf("before training: right in %s of 512 new sequences\n",
              before < 0.5 ? "fewer than half" : "more than half");

  torch::optim::Adam optimizer(network.parameters(), torch::optim::AdamOptions(3e-3));
  for (int step = 0; step < 600; ++step) {
    const Batch batch = draw(64, random);
    optimizer.zero_grad();
    at::cross_entropy_loss(network.forward(batch.tokens), batch.answers).backward();
    optimizer.step();
  }

  const at::Tensor logits = network.forward(test.tokens);
  const double after = share_right(logits, test);
  std::printf("after training: right in %s of 512 new sequences\n",
              after > 0.99 ? "more than 99 %" : "too few");
  std::fprintf(stderr, "(%.1f %% before, %.1f %% after)\n", 100 * before, 100 * after);

  const at::Tensor one_by_one = network.forward_by_token(test.tokens);
  std::printf("token by token: %s\n",
              at::allclose(one_by_one, logits, 1e-3, 1e-4) ? "the same answers" : "other answers");
}
