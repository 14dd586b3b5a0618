// Loss of a model on chapters of a book whose other chapters are memorised in a store:
//   tessera_bench lab/study/model_with_store MODEL BOOK.txt [CHAPTERS]
// A line that begins with "CHAPTER" begins a chapter; only so many are read. Of each eight chapters
// one is held out, one is for choosing the weight of the kNN-LM's rule, and six are memorised, with
// the model's tokenizer, in a store planned for an error of 0.01. All losses are nats per token,
// reading streaming.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "bench/support/program.h"
#include "tessera/base/file.h"
#include "tessera/infer/evaluation.h"
#include "tessera/infer/memory_mixture.h"
#include "tessera/infer/model_folder.h"
#include "tessera/memo/recall_predictor.h"
#include "tessera/model/language_model.h"
#include "tessera/store/memo_store.h"
#include "tessera/store/memo_writer.h"
#include "tessera/store/recall.h"
#include "tessera/store/store_token_memory.h"
#include "tests/support/temporary_folder.h"

namespace tessera::bench::model_with_store {
namespace {

constexpr double kWeights[] = {0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.7};

std::vector<std::string> chapters_of(const std::string& book) {
  std::vector<std::string> chapters(1);
  for (size_t at = 0; at < book.size();) {
    const size_t end = std::min(book.find('\n', at), book.size() - 1) + 1;
    const std::string_view line(book.data() + at, end - at);
    if (line.starts_with("CHAPTER") || line.starts_with("Chapter")) chapters.emplace_back();
    chapters.back() += line;
    at = end;
  }
  std::erase_if(chapters, [](const std::string& chapter) { return chapter.size() < 2000; });
  return chapters;
}

/// Sums over the tokens of some texts.
struct Losses {
  int64_t tokens = 0;
  double model = 0, mixed = 0;
  std::vector<double> by_weight = std::vector<double>(std::size(kWeights));
};

class Measurement {
 public:
  Measurement(const std::filesystem::path& model, const std::filesystem::path& store)
      : folder_(ModelFolder::load(model)),
        store_(store),
        memory_(store, model, folder_.tokenizer) {}

  void add(const std::string& text, Losses& losses) const {
    at::NoGradGuard no_grad;
    const auto tokens = folder_.tokenizer.encode(text);
    LanguageModel& model = *folder_.model;
    const at::Tensor read =
        at::tensor(at::ArrayRef<int32_t>(tokens), at::kLong).narrow(0, 0, std::ssize(tokens) - 1);
    MemoryMixture mixture(memory_);
    const store::StoreReader store(store_);
    const std::vector<int64_t> ids(tokens.begin(), tokens.end());
    read_pieces(model, read.unsqueeze(0), model.empty_state(),
                [&](const at::Tensor& hidden, int64_t first) {
                  const at::Tensor logits =
                      model.logits(hidden[0]).to(at::kFloat).contiguous();  // [t, V]
                  const at::Tensor logs = logits.log_softmax(-1).to(at::kDouble);
                  for (int64_t t = 0; t < logits.size(0); ++t) {
                    const int32_t next = tokens[first + t + 1];
                    mixture.append(tokens[first + t]);
                    mixture.predict({logits.data_ptr<float>() + t * logits.size(1),
                                     static_cast<size_t>(logits.size(1))});
                    const std::span<const int64_t> text = std::span(ids).first(first + t + 1);
                    add(logs[t][next].item<double>(), mixture.log_gain(next),
                        std::exp(store.predict({&text, 1}).front().logits[next]), losses);
                  }
                });
  }

  double evaluated(const std::string& text, bool with_memory) const {
    const auto tokens = folder_.tokenizer.encode(text);
    LossByPosition losses;
    evaluate_text(*folder_.model, at::tensor(at::ArrayRef<int32_t>(tokens), at::kLong),
                  {.reading = Reading::kStreaming, .memory = with_memory ? &memory_ : nullptr},
                  losses);
    return losses.mean();
  }

 private:
  static void add(double log_model, double gain, double store, Losses& losses) {
    ++losses.tokens;
    losses.model -= log_model;
    losses.mixed -= log_model + gain;
    for (size_t i = 0; i < std::size(kWeights); ++i)
      losses.by_weight[i] -=
          std::log((1 - kWeights[i]) * std::exp(log_model) + kWeights[i] * store);
  }

  ModelFolder folder_;
  store::MemoStore store_;
  store::StoreTokenMemory memory_;
};

void memorize(const std::filesystem::path& store, const std::filesystem::path& model,
              const std::vector<std::string>& chapters) {
  const Tokenizer tokenizer = Tokenizer::load(model / "tokenizer.json");
  std::vector<std::vector<int32_t>> documents;
  for (const auto& text : chapters) documents.push_back(tokenizer.encode(text));
  memo::TextMemoryConfig config{.vocabulary = tokenizer.vocabulary_size()};
  const memo::SizePlan plan = memo::plan_memory(
      documents, config, 0, [](const auto& predictor) { return predictor.plan_for(0.01); });
  config.dimension = plan.dimension.value();
  store::MemoStore::create(store, config, tokenizer);
  store::MemoWriter writer(store);
  for (size_t i = 0; i < chapters.size(); ++i)
    writer.memorize(std::to_string(i), chapters[i], store::Duplicates::kRefuse);
  writer.checkpoint();
  fmt::print("memorised: {} chapters, {} tokens, dimension {}\n", chapters.size(),
             writer.ledger().totals().tokens, config.dimension);
}

void forget_all(const std::filesystem::path& store) {
  store::MemoWriter writer(store);
  for (const auto& document : writer.ledger().documents()) writer.forget(document.id);
  writer.checkpoint();
}

void run(const std::filesystem::path& model, const std::string& book, size_t most,
         const std::filesystem::path& store) {
  std::vector<std::string> memorised, held_out, tuning;
  auto chapters = chapters_of(read_file(book));
  chapters.resize(std::min(chapters.size(), most));
  for (size_t i = 0; i < chapters.size(); ++i)
    (i % 8 == 3 ? held_out : i % 8 == 7 ? tuning : memorised).push_back(chapters[i]);
  memorize(store, model, memorised);
  Losses chosen, found, known;
  {
    const Measurement measurement(model, store);
    for (const auto& text : tuning) measurement.add(text, chosen);
    for (const auto& text : held_out) measurement.add(text, found);
    measurement.add(memorised.front(), known);
  }
  const size_t best = std::ranges::min_element(chosen.by_weight) - chosen.by_weight.begin();
  const auto print = [&](const char* texts, const Losses& losses) {
    const double tokens = losses.tokens;
    fmt::print("{:<20} {:>7} {:>8.4f} {:>8.4f} {:>8.4f}\n", texts, losses.tokens,
               losses.model / tokens, losses.mixed / tokens, losses.by_weight[best] / tokens);
  };
  fmt::print("chapters              tokens    model   +store  kNN-LM (weight {})\n",
             kWeights[best]);
  print("held out", found);
  print("for the weight", chosen);
  print("one memorised", known);
  forget_all(store);
  const Measurement after(model, store);
  fmt::print("after forgetting: model {:.17g}, with the store {:.17g}\n",
             after.evaluated(held_out.front(), false), after.evaluated(held_out.front(), true));
}

const Program program("lab/study/model_with_store", "MODEL BOOK.txt [CHAPTERS]",
                      [](const Words& words) {
                        const test::TemporaryFolder folder;
                        run(words[0], words[1], words.size() > 2 ? std::stoul(words[2]) : SIZE_MAX,
                            folder / "store");
                      });

}  // namespace
}  // namespace tessera::bench::model_with_store
