#include "tessera/sampling/text_writer.h"

#include <algorithm>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/base/utf8.h"

namespace tessera {

TextStream::TextStream(const std::vector<std::string>& stop_strings)
    : stop_strings_(stop_strings.begin(), stop_strings.end()) {
  if (std::ranges::count(stop_strings, "") > 0)
    throw UsageError("a stop string is empty; leave it out");
}

std::string TextStream::push(std::string_view bytes) {
  if (stopped_) return {};
  for (const char byte : bytes) {
    held_ += byte;
    size_t complete = 0;  // the length of the longest that ends here
    for (TextMatcher& stop : stop_strings_)
      if (stop.add(byte)) complete = std::max(complete, stop.size());
    if (complete == 0) continue;
    const std::string text = release(held_.size() - complete);
    held_.clear();
    const std::string last = finish();
    stopped_ = true;
    return text + last;
  }
  size_t held_back = 0;
  for (const TextMatcher& stop : stop_strings_) held_back = std::max(held_back, stop.matched());
  return release(held_.size() - held_back);
}

std::string TextStream::finish() {
  std::string text = release(held_.size());
  if (!bytes_.empty()) text += utf8::kReplacement;
  bytes_.clear();
  return text;
}

std::string TextStream::release(size_t count) {
  bytes_ += held_.substr(0, count);
  held_.erase(0, count);
  std::string text;
  std::string_view rest = bytes_;
  while (!rest.empty()) {
    const utf8::Front front = utf8::front_of(rest);
    if (front.kind == utf8::Front::kUnfinished) break;
    text +=
        front.kind == utf8::Front::kCharacter ? rest.substr(0, front.length) : utf8::kReplacement;
    rest.remove_prefix(front.length);
  }
  bytes_.erase(0, bytes_.size() - rest.size());
  return text;
}

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
