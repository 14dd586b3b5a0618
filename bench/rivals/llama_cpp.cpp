// Drives llama.cpp's library through its public headers, for bench/rivals/llama_cpp.sh:
//
//   llama_cpp write f32|f16|q8_0 FILE   a model of GPT-2's size with random weights
//   llama_cpp time FILE THREADS         one line of JSON: tokens a second
//
// Reading: a prompt of 256 tokens, into an empty memory. Writing: one token at a time, behind 256
// tokens, in one stream and in 16. The best of several, as in bench/infer/decoding.cpp.
#include <ggml-backend.h>
#include <ggml.h>
#include <gguf.h>
#include <llama.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace {

constexpr int64_t kVocabulary = 50257, kLayers = 12, kChannels = 768, kWindow = 1024;
constexpr int kPrompt = 256, kSteps = 32, kRepetitions = 5, kStreams = 16;

[[noreturn]] void fail(const std::string& message) {
  std::fprintf(stderr, "llama_cpp: %s\n", message.c_str());
  std::exit(1);
}

/// A model file in memory: its keys and tensors.
class Writer {
 public:
  explicit Writer(ggml_type type)
      : type_(type),
        tensors_(ggml_init({size_t{1} << 30, nullptr, /*no_alloc=*/false})),
        file_(gguf_init_empty()) {}

  gguf_context* file() { return file_; }
  /// Random numbers, in the type of the model where `matrix`, else floats.
  void add(const std::string& name, int64_t columns, int64_t rows, bool matrix) {
    std::vector<float> numbers(columns * rows);
    std::normal_distribution<float> normal(0, 0.02f);
    for (float& number : numbers) number = rows == 1 ? 1 : normal(random_);
    ggml_tensor* tensor =
        rows == 1 ? ggml_new_tensor_1d(tensors_, GGML_TYPE_F32, columns)
                  : ggml_new_tensor_2d(tensors_, matrix ? type_ : GGML_TYPE_F32, columns, rows);
    ggml_set_name(tensor, name.c_str());
    ggml_quantize_chunk(tensor->type, numbers.data(), tensor->data, 0, rows, columns, nullptr);
    gguf_add_tensor(file_, tensor);
  }

 private:
  ggml_type type_;
  ggml_context* tensors_;
  gguf_context* file_;
  std::mt19937 random_{1};
};

int write_model(const std::string& type, const char* path) {
  const ggml_type number = type == "f32"    ? GGML_TYPE_F32
                           : type == "f16"  ? GGML_TYPE_F16
                           : type == "q8_0" ? GGML_TYPE_Q8_0
                                            : GGML_TYPE_COUNT;
  if (number == GGML_TYPE_COUNT) fail("the type is f32, f16 or q8_0");
  Writer writer(number);
  gguf_set_val_str(writer.file(), "general.architecture", "gpt2");
  gguf_set_val_str(writer.file(), "tokenizer.ggml.model", "none");
  gguf_set_val_u32(writer.file(), "gpt2.vocab_size", kVocabulary);
  gguf_set_val_u32(writer.file(), "gpt2.context_length", kWindow);
  gguf_set_val_u32(writer.file(), "gpt2.embedding_length", kChannels);
  gguf_set_val_u32(writer.file(), "gpt2.feed_forward_length", 4 * kChannels);
  gguf_set_val_u32(writer.file(), "gpt2.block_count", kLayers);
  gguf_set_val_u32(writer.file(), "gpt2.attention.head_count", 12);
  gguf_set_val_f32(writer.file(), "gpt2.attention.layer_norm_epsilon", 1e-5f);
  writer.add("token_embd.weight", kChannels, kVocabulary, true);
  writer.add("position_embd.weight", kChannels, kWindow, false);
  for (const char* part : {"output_norm.weight", "output_norm.bias"})
    writer.add(part, kChannels, 1, false);
  for (int64_t layer = 0; layer < kLayers; ++layer) {
    const std::string block = "blk." + std::to_string(layer) + ".";
    const auto linear = [&](const std::string& name, int64_t in, int64_t out) {
      writer.add(block + name + ".weight", in, out, true);
      writer.add(block + name + ".bias", out, 1, false);
    };
    for (const char* norm :
         {"attn_norm.weight", "attn_norm.bias", "ffn_norm.weight", "ffn_norm.bias"})
      writer.add(block + norm, kChannels, 1, false);
    linear("attn_qkv", kChannels, 3 * kChannels);
    linear("attn_output", kChannels, kChannels);
    linear("ffn_up", kChannels, 4 * kChannels);
    linear("ffn_down", 4 * kChannels, kChannels);
  }
  return gguf_write_to_file(writer.file(), path, /*only_meta=*/false) ? 0 : 1;
}

void read(llama_context* context, std::vector<llama_token>& tokens) {
  if (llama_decode(context,
                   llama_batch_get_one(tokens.data(), static_cast<int32_t>(tokens.size()))))
    fail("llama_decode failed");
  llama_synchronize(context);
}

template <typename Work>
double seconds(Work&& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

llama_context* make_context(llama_model* model, int threads, int streams) {
  llama_context_params parameters = llama_context_default_params();
  parameters.n_ctx = 512 * streams;
  parameters.n_seq_max = streams;
  parameters.n_threads = parameters.n_threads_batch = threads;
  llama_context* context = llama_init_from_model(model, parameters);
  if (!context) fail("cannot make a context");
  return context;
}

/// Seconds for one token in each of the streams, behind the prompt.
double seconds_of_step(llama_context* context, const std::vector<llama_token>& prompt) {
  llama_batch batch = llama_batch_init(kPrompt, 0, 1);
  const auto decode = [&](int count, auto token, auto position, auto stream, bool output) {
    batch.n_tokens = count;
    for (int i = 0; i < count; ++i) {
      batch.token[i] = token(i);
      batch.pos[i] = position(i);
      batch.n_seq_id[i] = 1;
      batch.seq_id[i][0] = stream(i);
      batch.logits[i] = output;
    }
    if (llama_decode(context, batch)) fail("llama_decode failed");
    llama_synchronize(context);
  };
  for (int s = 0; s < kStreams; ++s)
    decode(
        kPrompt, [&](int i) { return prompt[i]; }, [](int i) { return i; }, [s](int) { return s; },
        /*output=*/false);
  double best = 1e9;
  for (int step = 0; step < kSteps / 4; ++step)
    best = std::min(best, seconds([&] {
                      decode(
                          kStreams, [](int) { return 1; }, [step](int) { return kPrompt + step; },
                          [](int i) { return i; }, /*output=*/true);
                    }));
  llama_batch_free(batch);
  return best;
}

int time_model(const char* path, int threads) {
  llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
  const char* backends = std::getenv("LLAMA_BACKENDS");
  ggml_backend_load_all_from_path(backends ? backends : ".");
  llama_backend_init();
  llama_model* model = llama_model_load_from_file(path, llama_model_default_params());
  if (!model) fail(std::string("cannot load ") + path);
  llama_context* context = make_context(model, threads, 1);
  std::vector<llama_token> prompt(kPrompt), token = {1};
  for (int t = 0; t < kPrompt; ++t) prompt[t] = (t * t * 31 + 7 * t) % kVocabulary;
  double reading = 1e9, writing = 1e9;
  for (int repetition = 0; repetition < kRepetitions; ++repetition) {
    llama_memory_clear(llama_get_memory(context), true);
    reading = std::min(reading, seconds([&] { read(context, prompt); }));
    for (int step = 0; step < kSteps; ++step)
      writing = std::min(writing, seconds([&] { read(context, token); }));
  }
  const double step = seconds_of_step(make_context(model, threads, kStreams), prompt);
  std::printf("{\"reading\": %.1f, \"writing\": %.2f, \"writing_streams\": %.1f}\n",
              kPrompt / reading, 1 / writing, kStreams / step);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::string(argv[1]) == "write") return write_model(argv[2], argv[3]);
  if (argc == 4 && std::string(argv[1]) == "time") return time_model(argv[2], std::atoi(argv[3]));
  std::fprintf(stderr, "usage: llama_cpp write f32|f16|q8_0 FILE | time FILE THREADS\n");
  return 2;
}
