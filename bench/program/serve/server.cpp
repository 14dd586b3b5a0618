// What a request costs beside the library call behind it, and what writing texts side by side
// gains: tokens per second of 1, 4 and 16 streams of one model.
//   build/release/tessera_bench program/serve/server --benchmark_counters_tabular=true

#include <benchmark/benchmark.h>

#include <future>
#include <thread>

#include "bench/support/program.h"
#include "program/serve/server.h"
#include "tessera/infer/generate.h"
#include "tessera/model/gpt.h"
#include "tessera/model/memory_mosaic.h"
#include "tests/program/serve/raw_client.h"

namespace tessera::bench::server {
namespace {

using namespace tessera::serve;

constexpr int64_t kTokens = 64;  // that each text writes

template <typename Model, typename Config>
std::shared_ptr<LanguageModel> model_of(int64_t layers, int64_t heads, int64_t channels) {
  Config config;
  config.vocabulary = 4096;
  config.window = 256;
  config.layers = layers;
  config.heads = heads;
  config.channels = channels;
  auto model = std::make_shared<Model>(config);
  model->initialise(1);
  model->eval();
  return model;
}

/// A model under the name "m", with a tokenizer that has as many ids as bytes.
ServedModel served(std::shared_ptr<LanguageModel> model) {
  const EngineOptions options;
  auto engine = std::make_unique<Engine>(decoder_of(model, options.memory), options);
  return {"m", "model", Tokenizer::bytes(EndOfText::kPresent), model, std::move(engine)};
}

void library_call(benchmark::State& state) {
  const auto model = model_of<MemoryMosaic, MemoryMosaicConfig>(1, 2, 32);
  GenerateOptions options;
  options.max_tokens = 1;
  for (auto _ : state) generate(*model, {{{104, 105}, 0}}, options);
}
void request_over_http(benchmark::State& state) {
  Service service;
  service.models.add(served(model_of<MemoryMosaic, MemoryMosaicConfig>(1, 2, 32)));
  ServerOptions options;
  options.http.port = 0;
  Server server(service, options);
  std::thread thread([&] { server.run(); });
  {
    RawClient client(server.port());  // a connection that is kept
    const std::string asked =
        asking("POST", "/v1/completions", R"({"prompt":"hi","max_tokens":1,"seed":0})");
    for (auto _ : state) {
      client.send(asked);
      if (!client.answer().whole) state.SkipWithError("the answer was cut off");
    }
  }
  server.stop();
  thread.join();
}
/// Texts that are written at once, each kTokens long, after prompts of 8 tokens that differ.
void write_side_by_side(benchmark::State& state, const std::shared_ptr<LanguageModel>& model) {
  const ServedModel served_model = served(model);
  const size_t streams = state.range(0);
  for (auto _ : state) {
    std::vector<std::promise<void>> ended(streams);
    std::vector<Engine::Ticket> tickets;
    for (size_t i = 0; i < streams; ++i) {
      TextJob job;
      for (int64_t t = 0; t < 8; ++t) job.prompt.push_back(7 * t + i);
      job.writing.max_tokens = kTokens;
      job.writing.sampling.seed = i;
      job.writing.token_bytes = [](int64_t) { return std::string("a"); };
      job.on_news = [&done = ended[i]](Written&& news) {
        if (news.finish) done.set_value();
      };
      EngineRequest request;
      request.texts.push_back(std::move(job));
      tickets.push_back(served_model.engine->submit(std::move(request)));
    }
    for (auto& one : ended) one.get_future().wait();
  }
  state.counters["tokens/s"] =
      benchmark::Counter(static_cast<double>(state.iterations() * kTokens * state.range(0)),
                         benchmark::Counter::kIsRate);
}

void mosaic_streams(benchmark::State& state) {
  static const auto model = model_of<MemoryMosaic, MemoryMosaicConfig>(6, 6, 384);
  write_side_by_side(state, model);
}
void gpt_streams(benchmark::State& state) {
  static const auto model = model_of<Gpt, GptConfig>(6, 6, 384);
  write_side_by_side(state, model);
}

const Program program("program/serve/server", [] {
  for (const auto& [name, ask] : {std::pair("library_call", &library_call),
                                  std::pair("request_over_http", &request_over_http)})
    benchmark::RegisterBenchmark(name, ask)->Unit(benchmark::kMicrosecond)->UseRealTime();
  for (const auto& [name, write] :
       {std::pair("mosaic_streams", &mosaic_streams), std::pair("gpt_streams", &gpt_streams)})
    benchmark::RegisterBenchmark(name, write)
        ->Arg(1)
        ->Arg(4)
        ->Arg(16)
        ->Unit(benchmark::kMillisecond)
        ->UseRealTime();
});

}  // namespace
}  // namespace tessera::bench::server
