#include "tessera/memo/recital.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tessera/memo/detail/log_sum.h"
#include "tessera/memo/text_reader.h"

namespace tessera::memo {
namespace {

constexpr size_t kAhead = 8;         // tokens
constexpr size_t kPaths = 16;        // continuations read on behind each of them
constexpr double kHopeless = 8;      // nats behind the best
constexpr double kFollowsAll = 0.9;  // prior of following the whole context

}  // namespace

/// The largest evidence over its beginnings.
double Recital::Path::evidence() const {
  double sum = log_prior, most = kLogZero;
  for (const Step& step : steps) most = std::max(most, sum += step.evidence);
  return most;
}

Recital::Recital(const ReadableMemory& memory, const LikelihoodDecoder& decoder,
                 std::span<const int32_t> context, std::optional<int32_t> end_of_text)
    : memory_(memory), decoder_(decoder), end_of_text_(end_of_text), reads_(kAhead, 0) {
  context_.assign(context.begin(), context.end());
  drop_unread_context();
  const auto all = static_cast<int64_t>(context_.size());
  for (const int64_t length : memory.window_lengths())
    if (length < all) paths_.push_back({.followed = length});
  for (Path& path : paths_)
    path.log_prior = std::log((1 - kFollowsAll) / static_cast<double>(paths_.size()));
  paths_.push_back({.followed = all, .log_prior = std::log(paths_.empty() ? 1.0 : kFollowsAll)});
  for (Path& path : paths_) path.rank = rank_of(path);
}

std::optional<NextToken> Recital::next() {
  if (paths_.empty()) return std::nullopt;
  const Path* best = &best_path();
  for (; is_open(*best); best = &best_path()) extend(*best);
  if (best->evidence() <= -std::log(decoder_.error_rate())) return std::nullopt;
  NextToken token = first_of(*best);
  recite(token.token);
  return token;
}

void Recital::drop_unread_context() {
  const int64_t unread = static_cast<int64_t>(context_.size()) - memory_.window_lengths().back();
  if (unread > 0) context_.erase(context_.begin(), context_.begin() + unread);
}

/// How many windows must have been stored with the token behind this many steps of a path.
int64_t Recital::windows_behind(const Path& path, size_t steps) const {
  const auto lengths = memory_.window_lengths();
  return std::ranges::upper_bound(lengths, path.followed + static_cast<int64_t>(steps)) -
         lengths.begin();
}

/// What its posterior can become in kAhead steps. After an end of text its merit counts for each
/// step missing.
double Recital::rank_of(const Path& path) const {
  double rank = path.log_posterior();
  for (size_t step = path.steps.size(); step < kAhead; ++step) {
    if (path.state == Path::kOpen)
      rank -= LikelihoodDecoder::log_expected(std::max<int64_t>(1, windows_behind(path, step)));
    if (path.state == Path::kEndOfText) rank += path.steps.back().merit;
  }
  return rank;
}

const Recital::Path& Recital::best_path() const {
  return *std::ranges::max_element(paths_, {}, &Path::rank);
}

/// Whether there is more to read.
bool Recital::is_open(const Path& path) const {
  return path.state == Path::kOpen && path.steps.size() < kAhead;
}

/// Reads what follows a path, and those that differ from it only in what they follow.
void Recital::extend(const Path& best) {
  std::vector<int32_t> text = context_;
  for (const Step& step : best.steps) text.push_back(step.token.token);
  const auto ahead = std::span<const int32_t>(text).subspan(context_.size());
  const auto has_text = [&](const Path& path) {
    return is_open(path) && std::ranges::equal(path.steps, ahead, {},
                                               [](const Step& step) { return step.token.token; });
  };
  std::vector<Path> paths;
  std::ranges::copy_if(paths_, std::back_inserter(paths), has_text);
  std::erase_if(paths_, has_text);
  const std::span<const int32_t> context = text;
  if (++reads_[ahead.size()] <= kPaths)
    read_contexts(memory_, {&context, 1}, [&](size_t, const WindowScores& scores) {
      for (const Path& path : paths) add_continued(path, scores);
    });
  else
    for (const Path& path : paths) add_lost(path);
  drop_hopeless();
}

/// Adds the path extended by each of the tokens that most probably follow.
void Recital::add_continued(const Path& path, const WindowScores& scores) {
  const int64_t windows = windows_behind(path, path.steps.size());
  std::vector<LikelihoodDecoder::Depth> candidates;
  if (windows > 0) candidates = decoder_.depths(scores, windows, kHopeless);
  if (candidates.empty()) return add_lost(path);
  std::ranges::sort(candidates, std::greater(), &LikelihoodDecoder::Depth::log_probability);
  if (candidates.size() > kPaths) candidates.resize(kPaths);
  for (const auto& candidate : candidates) {
    Path& longer = paths_.emplace_back(path);
    longer.steps.push_back(step_to(candidate, scores, windows));
    longer.merit += longer.steps.back().merit;
    if (candidate.token == end_of_text_) longer.state = Path::kEndOfText;
    longer.rank = rank_of(longer);
  }
}

void Recital::add_lost(const Path& path) {
  Path& lost = paths_.emplace_back(path);
  lost.state = Path::kLost;
  lost.rank = rank_of(lost);
}

/// Drops the paths that are far behind another one after as many steps.
void Recital::drop_hopeless() {
  std::vector<double> best(kAhead + 1, -std::numeric_limits<double>::infinity());
  for (const Path& path : paths_) {
    double posterior = path.log_prior;
    best[0] = std::max(best[0], posterior);
    for (size_t step = 0; step < path.steps.size(); ++step)
      best[step + 1] = std::max(best[step + 1], posterior += path.steps[step].merit);
  }
  std::erase_if(paths_, [&](const Path& path) {
    return path.log_posterior() < best[path.steps.size()] - kHopeless;
  });
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
    const double weight = std::exp(path.rank - best.rank);
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
  std::shift_left(reads_.begin(), reads_.end(), 1);
  reads_.back() = 0;
  std::erase_if(paths_, [&](const Path& path) {
    return path.steps.empty() || path.steps.front().token.token != token;
  });
  for (Path& path : paths_) {
    path.merit -= path.steps.front().merit;
    path.steps.erase(path.steps.begin());
    ++path.followed;
    path.rank = rank_of(path);
  }
}

}  // namespace tessera::memo
