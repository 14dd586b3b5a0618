#include "tessera/store/recall.h"

#include <algorithm>
#include <cmath>

#include "tessera/base/error.h"
#include "tessera/base/interrupt.h"
#include "tessera/memo/recital.h"

namespace tessera::store {

namespace {

/// How often each token occurs in the documents, plus 1.
std::vector<double> prior_of(const QuestionedStore& store) {
  const std::vector<int64_t> counts = store.token_counts();
  std::vector<double> prior(counts.begin(), counts.end());
  for (double& weight : prior) weight += 1;
  return prior;
}

bool decodes_by_likelihood(const QuestionedStore& store) {
  return store.config().memory.code == memo::WindowCodeKind::kBound;
}

/// Whether tokens with these sources stand one after the other in a document, or both in none.
bool stand_in_a_row(const std::vector<Source>& one, const std::vector<Source>& next) {
  if (one.empty() || next.empty()) return one.empty() && next.empty();
  return next.front().document == one.front().document &&
         next.front().position == one.front().position + 1;
}

/// The documents in which as long a text stands before the token as in the best source's.
std::vector<std::string> others_as_good(const std::vector<Source>& best) {
  std::vector<std::string> documents;
  for (const Source& source : best)
    if (source.matched_length == best.front().matched_length &&
        source.document != best.front().document)
      documents.push_back(source.document);
  return documents;
}

/// Continues a text from a store's memory: looking ahead if it decodes by likelihood, else as the
/// paper does.
class Continuation {
 public:
  Continuation(const QuestionedStore& store, std::span<const int32_t> context, double error_rate)
      : reader_(store, error_rate), text_(store.memory()), noise_(store.memory().noise()) {
    if (decodes_by_likelihood(store))
      recital_.emplace(store.memory(), reader_.decoder(), context, store.tokenizer().end_of_text());
    else
      for (const int32_t token : context) text_.append(token);
  }

  std::optional<memo::NextToken> next() {
    if (recital_) return recital_->next();
    const memo::NextToken next = text_.recall(noise_);
    if (!goes_on(next, reciting_)) return std::nullopt;
    reciting_ = true;
    text_.append(next.token);
    return next;
  }

 private:
  StoreReader reader_;
  std::optional<memo::Recital> recital_;
  memo::TextReader text_;  // if there is no recital
  double noise_;
  bool reciting_ = false;
};

/// The last tokens, as many as the longest window has.
template <typename Token>
std::span<const Token> context_of(const QuestionedStore& store, std::span<const Token> text) {
  const size_t longest = store.memory().window_lengths().back();
  return text.last(std::min(text.size(), longest));
}

}  // namespace

StoreReader::StoreReader(const QuestionedStore& store, double error_rate)
    : store_(store), decoder_(prior_of(store), store.memory().noise(), error_rate) {}

std::vector<memo::NextToken> StoreReader::next_of(
    std::span<const std::span<const int32_t>> contexts) const {
  if (!decodes_by_likelihood(store_)) return memo::recall_contexts(store_.memory(), contexts);
  std::vector<memo::NextToken> tokens;
  memo::read_contexts(store_.memory(), contexts, [&](size_t, const memo::WindowScores& scores) {
    tokens.push_back(decoder_.best(scores));
  });
  return tokens;
}

bool StoreReader::continues(std::span<const int32_t> prompt) const {
  check_prompt(store_, prompt.size());
  const auto context = context_of(store_, prompt);
  if (!decodes_by_likelihood(store_))
    return goes_on(next_of({&context, 1}).front(), /*begun=*/false);
  return memo::Recital(store_.memory(), decoder_, context, store_.tokenizer().end_of_text())
      .next()
      .has_value();
}

std::vector<Prediction> StoreReader::predict(
    std::span<const std::span<const int64_t>> texts) const {
  std::vector<std::vector<int32_t>> contexts;
  for (const auto text : texts) {
    const auto last = context_of(store_, text);
    contexts.emplace_back(last.begin(), last.end());
  }
  const std::vector<std::span<const int32_t>> views(contexts.begin(), contexts.end());
  const bool by_likelihood = decodes_by_likelihood(store_);
  std::vector<Prediction> predictions;
  const auto add = [&](size_t, const memo::WindowScores& scores) {
    Prediction& next = predictions.emplace_back();
    if (by_likelihood) next.best = decoder_.best(scores);
    for (const double log : decoder_.log_probabilities(scores))
      next.logits.push_back(static_cast<float>(log));
  };
  if (by_likelihood) {
    memo::read_contexts(store_.memory(), views, add);
  } else {
    const auto best = memo::recall_contexts(store_.memory(), views, add);
    for (size_t i = 0; i < best.size(); ++i) predictions[i].best = best[i];
  }
  return predictions;
}

std::vector<RecitedPassage> passages_of(const Recall& recall) {
  std::vector<RecitedPassage> passages;
  for (size_t i = 0; i < recall.tokens.size(); ++i) {
    const memo::NextToken& token = recall.tokens[i];
    const std::vector<Source>& best = recall.sources[i].best;
    if (i == 0 || !stand_in_a_row(recall.sources[i - 1].best, best)) {
      passages.push_back(
          {.first = i, .matched_length = token.matched_length, .probability = token.probability});
      if (!best.empty()) passages.back().source = best.front();
    }
    RecitedPassage& passage = passages.back();
    passage.last = i;
    passage.last_line = best.empty() ? 0 : best.front().line;
    passage.matched_length = std::min(passage.matched_length, token.matched_length);
    passage.probability = std::min(passage.probability, token.probability);
    passage.also_in = others_as_good(best);
  }
  return passages;
}

void check_prompt(const QuestionedStore& store, size_t tokens) {
  const int64_t shortest = memo::window_lengths(store.config().memory).front();
  check_argument(static_cast<int64_t>(tokens) >= shortest,
                 "the prompt has {} token{}; this store needs at least {}", tokens,
                 tokens == 1 ? "" : "s", shortest);
}

bool goes_on(const memo::NextToken& next, bool begun) {
  return next.recalled || (begun && next.evidence > std::log(0.1 / 0.9));
}

Recall recall(const QuestionedStore& store, std::span<const int32_t> prompt,
              const RecallOptions& options,
              const std::function<void(const memo::NextToken&)>& on_token) {
  check_prompt(store, prompt.size());
  check_argument(
      options.error_rate == kErrorRate || decodes_by_likelihood(store),
      "error_rate is {}, but a store with the paper's code has no error rate; leave it out",
      options.error_rate);
  const auto context = context_of(store, prompt);
  std::vector<int32_t> text(context.begin(), context.end());
  Continuation continuation(store, context, options.error_rate);
  Recall result;
  while (std::ssize(result.tokens) < options.tokens) {
    const std::optional<memo::NextToken> next = continuation.next();
    if (!next) {
      result.finish = Finish::kNotStored;
      break;
    }
    if (next->token == store.tokenizer().end_of_text()) {
      result.finish = Finish::kEndOfText;
      break;
    }
    text.push_back(next->token);
    result.tokens.push_back(*next);
    if (on_token) on_token(*next);
  }
  result.sources = store.sources(text, context.size(), options.sources);
  return result;
}

std::string_view RecitedText::add(int32_t token) {
  std::string_view bytes = tokenizer_.token_bytes(token);
  const auto repeated = std::ranges::mismatch(bytes, rest_);
  rest_.erase(rest_.begin(), repeated.in2);
  bytes.remove_prefix(repeated.in1 - bytes.begin());
  if (!bytes.empty()) rest_.clear();
  text_ += bytes;
  return bytes;
}

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
  const bool continues = reader.continues(question.tokens);
  const auto next = [&] {
    if (InterruptGuard::interrupted()) return writer.end(Finish::kInterrupted);
    const std::span<const int64_t> read = text;
    const Prediction prediction = std::move(reader.predict({&read, 1}).front());
    if (!continues || !goes_on(prediction.best, /*begun=*/true))
      return writer.end(Finish::kNotStored);
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
