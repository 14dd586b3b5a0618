#include "program/model_cli/text_writing.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>

#include "program/cli/program.h"
#include "program/model_jobs/model_jobs.h"
#include "tessera/base/config.h"
#include "tessera/base/file.h"
#include "tessera/base/interrupt.h"
#include "tessera/infer/inspection.h"
#include "tessera/model/language_model.h"

namespace tessera::cli {
namespace {

constexpr int64_t kSideBySide = 32;  // continuations that are written together

/// Throws UsageError where so many tokens would be read past the window by a model that cannot go
/// on there, or for a session that cannot be saved there.
void check_window(const GenerateCommand& command, const ModelFolder& folder, Reading reading,
                  int64_t tokens) {
  const LanguageModel& model = *folder.model;
  if (tokens <= model.window()) return;
  if (reading == Reading::kStreaming && !model.reads_past_window())
    throw UsageError(
        "--reading streaming: {} tokens do not fit the window of {} tokens, and a {} cannot read "
        "past its window; leave --reading out, or lower --max-tokens",
        tokens, model.window(), model.kind());
  if (reading == Reading::kWindowed && !command.save_session.empty())
    throw UsageError(
        "--save-session: {} tokens do not fit the window of {} tokens, past which windowed reading "
        "has no state to save; lower --max-tokens",
        tokens, model.window());
}

/// The tokens that may be written after a prompt, as a number that a text's length can be added to.
int64_t most_tokens(const GenerateCommand& command) {
  return std::min(command.generate.max_tokens, INT64_MAX / 2);
}

/// The tokens of each prompt. Throws UsageError where what is read of a text, all but its last
/// token, does not fit.
std::vector<Tokens> encoded_prompts(const GenerateCommand& command, const ModelFolder& folder) {
  std::vector<Tokens> prompts;
  for (const auto& text : command.prompts) {
    prompts.push_back(folder.encode_prompt(text));
    check_window(command, folder, command.generate.reading.value_or(Reading::kWindowed),
                 std::ssize(prompts.back()) + most_tokens(command) - 1);
  }
  return prompts;
}

Reading reading_of(const GenerateCommand& command, const ModelFolder& folder) {
  return command.generate.reading.value_or(natural_reading(*folder.model));
}

/// Throws UsageError on options that the model cannot follow, and SystemError where no session can
/// be saved, before a word is printed or read.
void check_writing(const GenerateCommand& command, const ModelFolder& folder) {
  const MemoryBound bound = command.generate.bound;
  command.generate.check();
  StreamingSession(*folder.model, reading_of(command, folder), bound);
  folder.model->bounded_state(bound);
  if (!command.save_session.empty()) check_writable(command.save_session);
}

/// Continuations on standard output, their number and speed on standard error.
class Output {
 public:
  Output(const GenerateCommand& command, const ModelFolder& folder, int64_t continuations)
      : command_(command), folder_(folder), streams_(continuations == 1 && !command.json) {}

  void begin(const std::string& prompt) {
    if (streams_) show(prompt);
  }
  /// Shows the text of a single continuation as it comes.
  OnToken on_token() {
    return [this](const GeneratedToken& token) {
      ++tokens_;
      if (streams_) show(token.text);
      return true;
    };
  }
  void end(const std::string& prompt, int64_t sample, const Generation& generation) {
    if (command_.json) {
      config::Json json = jobs::Generate::Answer{folder_, prompt, generation}.json();
      json["sample"] = sample;
      print_json(json);
    } else if (streams_) {
      output_.write("\n");
    } else {
      if (command_.samples > 1 && printed_ > 0) fmt::print("---------------\n");
      output_.write(prompt + generation.text + "\n");
    }
    ++printed_;
    std::fflush(stdout);
  }
  void statistics() const {
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
    say("{} tokens, {:.1f} tokens/s\n", tokens_, tokens_ / seconds);
  }

 private:
  void show(std::string_view text) {
    output_.write(text);
    std::fflush(stdout);
  }

  const GenerateCommand& command_;
  const ModelFolder& folder_;
  bool streams_;
  TextOutput output_;
  int64_t tokens_ = 0, printed_ = 0;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

/// A session for one text: an empty one, or that of --load-session.
class Session {
 public:
  Session(const GenerateCommand& command, const ModelFolder& folder)
      : command_(command), folder_(folder), session_(begun()) {}

  /// Reads more of the text: the prompt, or a line. Nothing is read where it is empty and something
  /// was read before.
  void read(const std::string& text) {
    if (text.empty() && !session_.tokens().empty()) return;
    const Tokens ids = folder_.encode_prompt(text);
    check_window(command_, folder_, session_.reading(), length() + std::ssize(ids) + most());
    session_.read({ids});
  }
  Generation go_on(const OnToken& on_token, uint64_t sequence = 0) {
    check_window(command_, folder_, session_.reading(), length() + most());
    return continue_text(session_, command_.generate, on_token, sequence);
  }
  void save() const {
    if (!command_.save_session.empty()) session_.save(command_.save_session);
  }

 private:
  StreamingSession begun() const {
    if (!command_.load_session.empty())
      return StreamingSession::load(*folder_.model, command_.load_session);
    return StreamingSession(*folder_.model, reading_of(command_, folder_), command_.generate.bound);
  }
  int64_t length() const {
    return session_.tokens().empty() ? 0 : std::ssize(session_.tokens().front());
  }
  int64_t most() const { return most_tokens(command_); }

  const GenerateCommand& command_;
  const ModelFolder& folder_;
  StreamingSession session_;
};

/// Samples of every prompt, many side by side.
void write_texts(const GenerateCommand& command, const ModelFolder& folder) {
  const std::vector<Tokens> prompts = encoded_prompts(command, folder);
  const int64_t all = std::ssize(prompts) * command.samples;
  Output output(command, folder, all);
  output.begin(command.prompts.front());
  for (int64_t first = 0; first < all && !InterruptGuard::interrupted(); first += kSideBySide) {
    const int64_t end = std::min(first + kSideBySide, all);
    std::vector<Prompt> some;
    for (int64_t i = first; i < end; ++i)
      some.push_back({prompts[i / command.samples], static_cast<uint64_t>(i % command.samples)});
    const auto generations = generate(*folder.model, some, command.generate, output.on_token());
    for (int64_t i = first; i < end; ++i)
      output.end(command.prompts[i / command.samples], i % command.samples, generations[i - first]);
  }
  output.statistics();
}

/// Samples that go on with one session.
void write_session(const GenerateCommand& command, const ModelFolder& folder) {
  const std::string& prompt = command.prompts.front();
  Output output(command, folder, command.samples);
  Session begun(command, folder);
  begun.read(prompt);
  output.begin(prompt);
  for (int64_t sample = 0; sample < command.samples && !InterruptGuard::interrupted(); ++sample) {
    Session session = begun;
    output.end(prompt, sample, session.go_on(output.on_token(), sample));
    session.save();
  }
  output.statistics();
}

}  // namespace

void write_samples(const GenerateCommand& command, const ModelFolder& folder) {
  const InterruptGuard interrupt;
  check_writing(command, folder);
  if (command.load_session.empty() && command.save_session.empty())
    write_texts(command, folder);
  else
    write_session(command, folder);
  InterruptGuard::stop_if_interrupted("interrupted");
}

void write_beams(const GenerateCommand& command, const ModelFolder& folder) {
  BeamOptions beam;
  beam.beams = *command.beams;
  beam.length_penalty = command.length_penalty.value_or(beam.length_penalty);
  beam.max_tokens = command.generate.max_tokens;
  beam.end_of_text = command.generate.end_of_text;
  beam.reading = command.generate.reading;
  beam.bound = command.generate.bound;
  const InterruptGuard interrupt;
  const std::vector<Tokens> prompts = encoded_prompts(command, folder);
  for (size_t i = 0; i < prompts.size(); ++i) {
    const std::string& prompt = command.prompts[i];
    std::vector<Hypothesis> hypotheses = beam_search(*folder.model, prompts[i], beam);
    if (beam.max_tokens == 0) hypotheses.emplace_back();  // as samples do: the prompt alone
    for (const auto& found : hypotheses) {
      Tokens written = found.tokens;
      if (found.ended) written.pop_back();
      const std::string text = folder.text_of(written);
      if (command.json)
        print_json(
            {{"prompt", prompt},
             {"text", text},
             {"finish", config::enum_name(found.ended ? Finish::kEndOfText : Finish::kMaxTokens)},
             {"tokens", json_of(found.tokens, folder.tokenizer)},
             {"log_probability", found.log_probability},
             {"score", found.score}});
      else
        TextOutput().write(fmt::format("{:9.3f}  {}{}\n", found.score, prompt, text));
    }
    InterruptGuard::stop_if_interrupted("interrupted");
  }
}

void write_in_turns(const GenerateCommand& command, const ModelFolder& folder) {
  check_writing(command, folder);
  const bool asks = ::isatty(STDIN_FILENO) != 0;
  Session session(command, folder);
  Output output(command, folder, 1);
  std::string line = command.prompts.front();
  bool given = !line.empty();
  for (;; given = false) {
    if (!given) {
      if (asks) say("> ");
      if (!std::getline(std::cin, line)) break;
      if (line.ends_with('\r')) line.pop_back();
    }
    const InterruptGuard interrupt;
    session.read(line);
    output.end(line, 0, session.go_on(output.on_token()));
    session.save();
  }
  if (asks) say("\n");
  output.statistics();
}

}  // namespace tessera::cli
