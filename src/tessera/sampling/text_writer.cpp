#include "tessera/sampling/text_writer.h"

#include <algorithm>
#include <utility>

#include "tessera/base/error.h"

namespace tessera {

void WritingOptions::check() const {
  sampling.check();
  if (max_tokens < 0) throw UsageError("max_tokens is {}, expected 0 or more", max_tokens);
  if (!stop.empty() && !token_bytes)
    throw UsageError("stop strings were given, but no tokenizer to find them with");
  if (std::ranges::count(stop, "") > 0) throw UsageError("a stop string is empty; leave it out");
}

TextWriter::TextWriter(const WritingOptions& options, uint64_t sequence, size_t prompt)
    : options_(&options), sequence_(sequence), prompt_(prompt), stream_(options.stop) {}

Written TextWriter::draw(std::span<const float> logits, std::span<const int64_t> context) {
  return add(draw_token(logits, context, options_->sampling, sequence_, prompt_));
}

Written TextWriter::add(ScoredToken token) {
  const int64_t id = token.token;
  ++written_;
  Written written = {.token = std::move(token)};
  if (options_->token_bytes && id != options_->end_of_text)
    written.text = stream_.push(options_->token_bytes(id));
  written.finish = reason_to_finish(id);
  if (written.finish) written.text += stream_.finish();
  return written;
}

Written TextWriter::end(Finish reason) {
  return {.text = stream_.finish(), .finish = reason};
}

std::optional<Finish> TextWriter::reason_to_finish(int64_t token) const {
  if (token == options_->end_of_text) return Finish::kEndOfText;
  if (stream_.stopped()) return Finish::kStopString;
  if (written_ == options_->max_tokens) return Finish::kMaxTokens;
  return std::nullopt;
}

}  // namespace tessera
