#include "python/networks/open_model.h"

#include <ATen/ATen.h>

#include <utility>

#include "tessera/base/config.h"
#include "tessera/base/error.h"

namespace tessera::python {
namespace {

std::optional<ops::WeightType> numbers_of(const std::optional<std::string>& name,
                                          std::string_view what) {
  if (!name) return {};
  return config::enum_value<ops::WeightType>(*name, what);
}

WritingOptions checked(WritingOptions options) {
  options.check();
  return options;
}

}  // namespace

OpenModel::OpenModel(const std::filesystem::path& path, const std::optional<std::string>& weights,
                     const std::optional<std::string>& pairs, const std::string& device)
    : folder(ModelFolder::load(
          path, {numbers_of(weights, "weights"), numbers_of(pairs, "pairs"), device})) {}

WrittenText::WrittenText(OpenModel& model, const std::string& prompt, const WritingOptions& options)
    : model_(model),
      prompt_(model.folder.encode_prompt(prompt)),
      options_(checked(model.folder.with_tokenizer(options))),
      session_(*model.folder.model, natural_reading(*model.folder.model)),
      writer_(options_, /*sequence=*/0, prompt_.size()),
      ended_(options_.max_tokens == 0) {}

std::optional<Written> WrittenText::next() {
  const Turn turn(model_.turns);
  if (ended_) return {};
  const at::Tensor logits =
      session_.read({unread_ ? Tokens{*unread_} : prompt_}).contiguous();  // [1, V]
  Written written = writer_.draw({logits.data_ptr<float>(), static_cast<size_t>(logits.size(1))},
                                 session_.tokens().front());
  unread_ = written.token->token;
  ended_ = written.finish.has_value();
  return written;
}

OpenSession::OpenSession(std::shared_ptr<OpenModel> model)
    : model_(std::move(model)),
      session_(*model_->folder.model, natural_reading(*model_->folder.model)) {}

void OpenSession::read(const std::string& text) {
  const Tokens more = model_->folder.encode(text);
  check_argument(!more.empty(), "the text is empty; there is nothing to read");
  const Turn turn(model_->turns);
  session_.read({more});
}

Generation OpenSession::generate(const WritingOptions& options, const OnProgress& on_progress) {
  GenerateOptions writing;
  static_cast<WritingOptions&>(writing) = model_->folder.with_tokenizer(options);
  const Turn turn(model_->turns);
  check_argument(!session_.tokens().empty(), "the session has read nothing yet; read() a text");
  int64_t written = 0;
  return continue_text(session_, writing, [&](const GeneratedToken&) {
    on_progress(++written, options.max_tokens);
    return true;
  });
}

Tokens OpenSession::tokens() const {
  const Turn turn(model_->turns);
  return session_.tokens().empty() ? Tokens() : session_.tokens().front();
}

OpenSession OpenSession::fork() const {
  const Turn turn(model_->turns);
  return *this;
}

}  // namespace tessera::python
