#include "tessera/memo/recital.h"

#include <algorithm>
#include <cmath>

#include "tessera/memo/detail/log_sum.h"
#include "tessera/memo/text_reader.h"

namespace tessera::memo {
namespace {

constexpr size_t kAhead = 8;         // tokens
constexpr size_t kPaths = 16;        // continuations kept
constexpr double kHopeless = 8;      // nats behind the best
constexpr double kFollowsAll = 0.9;  // prior of following the whole context

}  // namespace

/// Compared with paths of `ahead` steps: after an end of text its merit counts for each step
/// missing.
double Recital::Path::rank(size_t ahead) const {
  const auto missing = static_cast<double>(ahead - steps.size());
  return log_prior + merit + (state == kEndOfText ? missing * steps.back().merit : 0);
}

/// The largest evidence over its beginnings.
double Recital::Path::evidence() const {
  double sum = log_prior, most = kLogZero;
  for (const Step& step : steps) most = std::max(most, sum += step.evidence);
  return most;
}

Recital::Recital(const ReadableMemory& memory, const LikelihoodDecoder& decoder,
                 std::span<const int32_t> context, std::optional<int32_t> end_of_text)
    : memory_(memory), decoder_(decoder), end_of_text_(end_of_text) {
  context_.assign(context.begin(), context.end());
  drop_unread_context();
  const auto all = static_cast<int64_t>(context_.size());
  for (const int64_t length : memory.window_lengths())
    if (length < all) paths_.push_back({.followed = length});
  for (Path& path : paths_)
    path.log_prior = std::log((1 - kFollowsAll) / static_cast<double>(paths_.size()));
  paths_.push_back({.followed = all, .log_prior = std::log(paths_.empty() ? 1.0 : kFollowsAll)});
}

std::optional<NextToken> Recital::next() {
  while (can_look_further()) look_further();
  if (paths_.empty()) return std::nullopt;
  const Path& best = *std::ranges::max_element(
      paths_, {}, [ahead = ahead()](const Path& path) { return path.rank(ahead); });
  if (best.evidence() <= -std::log(decoder_.error_rate())) return std::nullopt;
  NextToken token = first_of(best);
  recite(token.token);
  return token;
}

void Recital::drop_unread_context() {
  const int64_t unread = static_cast<int64_t>(context_.size()) - memory_.window_lengths().back();
  if (unread > 0) context_.erase(context_.begin(), context_.begin() + unread);
}

bool Recital::can_look_further() const {
  return std::ranges::any_of(paths_, [](const Path& path) {
    return path.state == Path::kOpen && path.steps.size() < kAhead;
  });
}

/// Steps of the longest path.
size_t Recital::ahead() const {
  size_t most = 0;
  for (const Path& path : paths_) most = std::max(most, path.steps.size());
  return most;
}

/// Extends every path by one token and keeps the best.
void Recital::look_further() {
  std::vector<Path> open;
  std::erase_if(paths_, [&](Path& path) {
    const bool is_open = path.state == Path::kOpen;
    if (is_open) open.push_back(std::move(path));
    return is_open;
  });
  extend(open);
  const auto rank = [ahead = ahead()](const Path& path) { return path.rank(ahead); };
  std::ranges::sort(paths_, std::greater(), rank);
  const double least = rank(paths_.front()) - kHopeless;
  std::erase_if(paths_, [&](const Path& path) { return rank(path) < least; });
  if (paths_.size() > kPaths) paths_.resize(kPaths);
}

/// Reads what follows these paths. Those that differ only in what they follow have one text.
void Recital::extend(const std::vector<Path>& open) {
  std::vector<std::vector<int32_t>> texts;
  std::vector<std::vector<const Path*>> with_text;
  for (const Path& path : open) {
    std::vector<int32_t> text = context_;
    for (const Step& step : path.steps) text.push_back(step.token.token);
    const auto known = std::ranges::find(texts, text);
    if (known == texts.end()) {
      texts.push_back(std::move(text));
      with_text.push_back({&path});
    } else {
      with_text[static_cast<size_t>(known - texts.begin())].push_back(&path);
    }
  }
  const std::vector<std::span<const int32_t>> contexts(texts.begin(), texts.end());
  read_contexts(memory_, contexts, [&](size_t i, const WindowScores& scores) {
    for (const Path* path : with_text[i])
      for (Path& longer : continued(*path, scores)) paths_.push_back(std::move(longer));
  });
}

/// The path extended by each of the tokens that most probably follow.
std::vector<Recital::Path> Recital::continued(const Path& path, const WindowScores& scores) const {
  const auto followed = path.followed + static_cast<int64_t>(path.steps.size());
  const int64_t windows =
      std::ranges::upper_bound(scores.lengths(), followed) - scores.lengths().begin();
  std::vector<LikelihoodDecoder::Depth> candidates;
  if (windows > 0) candidates = decoder_.depths(scores, windows, kHopeless);
  if (candidates.empty()) {
    Path lost = path;
    lost.state = Path::kLost;
    return {std::move(lost)};
  }
  std::ranges::sort(candidates, std::greater(), &LikelihoodDecoder::Depth::log_probability);
  if (candidates.size() > kPaths) candidates.resize(kPaths);
  std::vector<Path> paths;
  for (const auto& candidate : candidates) {
    Path& longer = paths.emplace_back(path);
    longer.steps.push_back(step_to(candidate, scores, windows));
    longer.merit += longer.steps.back().merit;
    if (candidate.token == end_of_text_) longer.state = Path::kEndOfText;
  }
  return paths;
}

/// The step to a token that must have been stored with this number of windows.
Recital::Step Recital::step_to(const LikelihoodDecoder::Depth& depth, const WindowScores& scores,
                               int64_t windows) const {
  Step step;
  step.merit = depth.log_probability - LikelihoodDecoder::log_expected(windows);
  step.evidence = depth.evidence;
  step.token.token = depth.token;
  step.token.matched_length = scores.lengths()[static_cast<size_t>(windows) - 1];
  step.token.recalled = true;
  step.token.window_scores = scores.of_token(depth.token);
  for (int64_t k = 0; k < windows; ++k)
    step.token.score += step.token.window_scores[static_cast<size_t>(k)];
  return step;
}

/// The first token of a path, with the probability that all paths together give it.
NextToken Recital::first_of(const Path& best) const {
  NextToken token = best.steps.front().token;
  token.evidence = best.evidence();
  double all = 0, its = 0;  // relative to the best
  for (const Path& path : paths_) {
    if (path.steps.empty()) continue;
    const double weight = std::exp(path.rank(ahead()) - best.rank(ahead()));
    all += weight;
    if (path.steps.front().token.token == token.token) its += weight;
  }
  const double stored = 1 / (1 + std::exp(-token.evidence));
  token.probability = stored * its / all;
  return token;
}

/// Moves on by one token; only the paths that begin with it remain: none after an end of text.
void Recital::recite(int32_t token) {
  if (token == end_of_text_) return paths_.clear();
  context_.push_back(token);
  drop_unread_context();
  std::erase_if(paths_, [&](const Path& path) {
    return path.steps.empty() || path.steps.front().token.token != token;
  });
  for (Path& path : paths_) {
    path.merit -= path.steps.front().merit;
    path.steps.erase(path.steps.begin());
    ++path.followed;
  }
}

}  // namespace tessera::memo
