#include "tessera/store/complete.h"

#include "tessera/base/interrupt.h"
#include "tessera/store/recall.h"

namespace tessera::store {

TokenBytes bytes_after(const Tokenizer& tokenizer, const std::string& rest) {
  return [&tokenizer, text = RecitedText(tokenizer, rest)](int64_t token) mutable {
    const auto id = static_cast<int32_t>(token);
    return tokenizer.has_token(id) ? std::string(text.add(id)) : std::string();
  };
}

Finish complete(const QuestionedStore& store, const Question& question,
                const WritingOptions& options, const std::function<void(const Written&)>& on_news) {
  WritingOptions own = options;
  own.token_bytes = bytes_after(store.tokenizer(), question.rest);
  own.end_of_text = store.tokenizer().end_of_text();
  own.check();
  check_prompt(store, question.tokens.size());
  if (own.max_tokens == 0) return Finish::kMaxTokens;
  const StoreReader reader(store);
  TextWriter writer(own, 0, question.tokens.size());
  std::vector<int64_t> text(question.tokens.begin(), question.tokens.end());
  const auto next = [&] {
    if (InterruptGuard::interrupted()) return writer.end(Finish::kInterrupted);
    const std::span<const int64_t> read = text;
    const Prediction prediction = std::move(reader.predict({&read, 1}).front());
    const bool begun = text.size() > question.tokens.size();
    if (!goes_on(prediction.best, begun)) return writer.end(Finish::kNotStored);
    return writer.draw(prediction.logits, text);
  };
  for (;;) {
    const Written written = next();
    if (written.token) text.push_back(written.token->token);
    on_news(written);
    if (written.finish) return *written.finish;
  }
}

}  // namespace tessera::store
