// tessera eval --model DIR --data FILE [--per-position CSV]

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "tessera/base/file.h"
#include "tessera/base/progress.h"
#include "tessera/cli/model_folder.h"
#include "tessera/cli/program.h"
#include "tessera/data/text_source.h"
#include "tessera/infer/evaluation.h"
#include "tessera/report/table.h"

namespace tessera::cli {
namespace {

struct Options {
  std::string model, data, suffix, per_position;
  int64_t batch = 8;
  bool json = false;
};

struct Result {
  LossByPosition by_position;
  int64_t bytes = 0;  // of the predicted tokens' text
};

/// Every token of every document but its first, in consecutive windows that share one token.
Result evaluate(const ModelFolder& folder, const TextSource& source, int64_t batch) {
  const int64_t window = folder.model->window();
  Progress progress(stderr, "Evaluating", static_cast<int64_t>(source.documents()));
  Result result;
  int64_t done = 0;
  source.for_each([&](const std::string&, std::string_view text) {
    const auto ids = folder.tokenizer.encode(text);
    const int64_t predicted = static_cast<int64_t>(ids.size()) - 1;
    for (int64_t i = 1; i <= predicted; ++i)
      result.bytes += folder.tokenizer.token_bytes(ids[i]).size();
    const at::Tensor all = at::tensor(at::ArrayRef<int32_t>(ids), at::kLong);
    for (int64_t begin = 0; begin < predicted;) {
      const int64_t whole = (predicted - begin) / window;  // full windows left
      const int64_t rows = std::min(batch, std::max<int64_t>(whole, 1));
      const int64_t length = whole > 0 ? window : predicted - begin;
      std::vector<at::Tensor> windows;
      for (int64_t row = 0; row < rows; ++row)
        windows.push_back(all.narrow(0, begin + row * length, length + 1));
      result.by_position.add(*folder.model, at::stack(windows));
      begin += rows * length;
      progress.update(done, fmt::format("{} tokens", result.by_position.tokens()));
    }
    progress.update(++done);
  });
  return result;
}

void write_positions(const LossByPosition& losses, const std::string& path) {
  Table table("", {"position", "loss"});
  for (int64_t position = 0; position < losses.positions(); ++position)
    table.add_row({position + 1, losses.at(position)});
  write_file(path, table.csv());
}

void run(const Options& options) {
  const ModelFolder folder = ModelFolder::load(options.model);
  const TextSource source = TextSource::from_path(options.data, options.suffix);
  const Result result = evaluate(folder, source, options.batch);
  if (result.by_position.tokens() == 0)
    throw DataError(options.data, "has fewer than two tokens, so there is nothing to predict");
  const double loss = result.by_position.mean();
  const double bits = loss * result.by_position.tokens() / std::numbers::ln2 / result.bytes;
  if (options.json)
    fmt::print("{}\n", config::Json{{"tokens", result.by_position.tokens()},
                                    {"bytes", result.bytes},
                                    {"loss", loss},
                                    {"perplexity", std::exp(loss)},
                                    {"bits_per_byte", bits}}
                           .dump());
  else
    fmt::print("{} tokens, {} bytes\nloss {:.4f} nats/token\nperplexity {:.2f}\n{:.4f} bits/byte\n",
               result.by_position.tokens(), result.bytes, loss, std::exp(loss), bits);
  if (!options.per_position.empty()) write_positions(result.by_position, options.per_position);
}

}  // namespace

void add_eval(Verb& program) {
  auto options = std::make_shared<Options>();
  Verb& verb = program.verb("eval", "Loss, perplexity and bits per byte of a model on a text");
  verb.option("--model", options->model, "Model directory").required();
  verb.option("--data", options->data, "Text file, or a folder of them").required();
  verb.option("--suffix", options->suffix,
              "Read only the files of a folder whose names end in this");
  verb.option("--per-position", options->per_position,
              "Write the loss at each position of the window to this CSV file");
  verb.option("--batch", options->batch, "Windows evaluated together").at_least(1);
  verb.flag("--json", options->json, "Print a JSON object");
  verb.run([options] { run(*options); });
}

}  // namespace tessera::cli
