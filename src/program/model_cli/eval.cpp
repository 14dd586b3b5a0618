// tessera eval --model DIR --data FILE [--per-position CSV]

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "program/cli/program.h"
#include "program/model_cli/evaluation_share.h"
#include "program/model_cli/model_verbs.h"
#include "program/model_cli/several_processes.h"
#include "program/model_cli/store_memory.h"
#include "tessera/base/config.h"
#include "tessera/base/file.h"
#include "tessera/base/interrupt.h"
#include "tessera/base/progress.h"
#include "tessera/base/safetensors.h"
#include "tessera/data/text_source.h"
#include "tessera/infer/evaluation.h"
#include "tessera/infer/model_folder.h"
#include "tessera/report/table.h"
#include "tessera/train/processes.h"

namespace tessera::cli {
namespace {

struct EvalArguments {
  std::string model, store, data, suffix, per_position;
  NumberTypes types;
  EvaluationOptions evaluation;
  bool json = false;
};

struct Result {
  LossByPosition by_position;
  int64_t bytes = 0;  // of the predicted tokens' text
};

/// Bytes of all tokens but the first.
int64_t predicted_bytes(const Tokenizer& tokenizer, const at::Tensor& ids) {
  int64_t bytes = 0;
  for (int64_t i = 1; i < ids.size(0); ++i)
    bytes += std::ssize(tokenizer.token_bytes(static_cast<int32_t>(ids.data_ptr<int64_t>()[i])));
  return bytes;
}

/// This process's share. Long documents in windows are read by all processes, which take turns with
/// the batches; others by one process each.
Result evaluate(const ModelFolder& folder, const TextSource& source,
                const EvaluationOptions& options, EvaluationShare& share) {
  options.check(*folder.model);
  const InterruptGuard interrupt;
  Progress progress(share.leads() ? stderr : nullptr, "Evaluating",
                    static_cast<int64_t>(source.bytes()));
  const bool in_one_piece = options.reading == Reading::kStreaming || options.memory;
  EvaluationOptions in_turn = options;
  in_turn.takes_next = [&share] { return share.takes_batch(); };
  Result result;
  int64_t before = 0;  // bytes of the documents before
  const auto evaluate_document = [&](std::string_view text) {
    InterruptGuard::stop_if_interrupted("interrupted");
    const auto show = [&](double part) {
      progress.update(before + static_cast<int64_t>(part * text.size()),
                      fmt::format("{} tokens", result.by_position.tokens()));
    };
    show(0);
    const bool together = !in_one_piece && text.size() > EvaluationShare::kLongBytes;
    if (together || share.takes_document(text.size())) {
      const at::Tensor ids = together ? share.encode_together(text) : share.encode(text);
      if (!together || share.leads()) result.bytes += predicted_bytes(folder.tokenizer, ids);
      evaluate_text(*folder.model, ids, together ? in_turn : options, result.by_position,
                    [&](int64_t done) { show(static_cast<double>(done) / ids.size(0)); });
    }
    before += std::ssize(text);
    show(0);
  };
  source.for_each([&](const std::string&, std::string_view text) {
    for_each_document(text, evaluate_document);
  });
  return result;
}

void write_positions(const LossByPosition& losses, const std::string& path) {
  Table table("", {"position", "loss"});
  for (int64_t position = 0; position < losses.positions(); ++position)
    table.add_row({position + 1, losses.at(position)});
  write_file(path, table.csv());
}

/// As the command line gave it; nothing where it did not.
std::string given_name(std::optional<ops::WeightType> type) {
  return type ? std::string(config::enum_name(*type)) : "";
}

/// Throws UsageError unless all processes evaluate the same.
void require_same_evaluation(Processes& processes, const EvalArguments& options,
                             const ModelFolder& folder, const TextSource& source) {
  const auto weights =
      safetensors::File::open(std::filesystem::path(options.model) / "model.safetensors");
  processes.require_equal("model", fmt::format("{} {}", config::Json(weights.metadata()).dump(),
                                               folder.tokenizer.digest()));
  processes.require_equal(
      "text", fmt::format("{} documents, {} bytes", source.documents(), source.bytes()));
  const EvaluationOptions& how = options.evaluation;
  processes.require_equal(
      "evaluation",
      fmt::format("weights {}, pairs {}, store {}, {}, stride {}, batch {}",
                  given_name(options.types.weights), given_name(options.types.pairs), options.store,
                  config::enum_name(how.reading), how.stride, how.batch));
}

/// What the processes found together, the same in all of them.
Result total(Processes& processes, const Result& own) {
  const at::Tensor positions = at::zeros({processes.count()}, at::kLong);
  positions[processes.rank()] = own.by_position.positions();
  const at::Tensor bytes = at::full({1}, own.bytes, at::kLong);
  processes.sum({positions, bytes});
  const at::Tensor totals = at::zeros({2, positions.max().item<int64_t>()}, at::kDouble);
  totals.narrow(1, 0, own.by_position.positions()).copy_(own.by_position.totals());
  processes.sum({totals});
  return {LossByPosition(totals), bytes.item<int64_t>()};
}

void run_eval(const EvalArguments& options) {
  if (options.types.pairs && options.evaluation.reading == Reading::kWindowed)
    throw UsageError(
        "--pairs says how memories keep what they have read; windows start from nothing: give "
        "--reading streaming, too");
  const auto processes = meet_processes(Rendezvous::from_environment());
  const ModelFolder folder = ModelFolder::load(options.model, options.types);
  const TextSource source = TextSource::from_path(options.data, options.suffix);
  const auto memory = store_memory(folder, options.model, options.store);
  EvaluationOptions evaluation = options.evaluation;
  evaluation.memory = memory.get();
  if (processes) require_same_evaluation(*processes, options, folder, source);
  EvaluationShare share(folder.tokenizer, processes.get());
  Result result = evaluate(folder, source, evaluation, share);
  if (processes) result = total(*processes, result);
  if (!share.leads()) return;
  if (result.by_position.tokens() == 0)
    throw DataError(options.data, "has fewer than two tokens, so there is nothing to predict");
  const double loss = result.by_position.mean();
  const double bits = loss * result.by_position.tokens() / std::numbers::ln2 / result.bytes;
  if (options.json)
    print_json({{"tokens", result.by_position.tokens()},
                {"bytes", result.bytes},
                {"loss", loss},
                {"perplexity", std::exp(loss)},
                {"bits_per_byte", bits}});
  else
    fmt::print("{} tokens, {} bytes\nloss {:.4f} nats/token\nperplexity {:.2f}\n{:.4f} bits/byte\n",
               result.by_position.tokens(), result.bytes, loss, std::exp(loss), bits);
  if (!options.per_position.empty()) write_positions(result.by_position, options.per_position);
}

}  // namespace

void add_eval(Verb& program) {
  auto options = std::make_shared<EvalArguments>();
  Verb& verb = program.verb("eval", "Loss, perplexity and bits per byte of a model on a text");
  verb.option("--model", options->model, "Model directory").required();
  add_number_types(verb, options->types);
  verb.option("--store", options->store, kStoreHelp);
  verb.option("--data", options->data, "Text file, or a folder of them").required();
  verb.option("--suffix", options->suffix,
              "Read only the files of a folder whose names end in this");
  verb.options(options->evaluation);
  verb.option(
      "--per-position", options->per_position,
      "Write the loss at each position of the window, or of the document, to this CSV file");
  verb.flag("--json", options->json, "Print a JSON object");
  verb.run([options] { run_eval(*options); });
}

}  // namespace tessera::cli
