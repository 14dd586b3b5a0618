#include "tessera/memo/recital.h"

#include <algorithm>
#include <cmath>

#include "tessera/memo/detail/depth_mixture.h"
#include "tessera/memo/text_reader.h"

namespace tessera::memo {
namespace {

constexpr size_t kAhead = 8;         // tokens
constexpr size_t kPaths = 16;        // kept, of those with equally many tokens
constexpr double kHopeless = 8;      // nats behind the best of these
constexpr double kRival = 5;         // nats behind the best; others do not make it less probable
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
    : memory_(memory), decoder_(decoder), end_of_text_(end_of_text) {
  context_.assign(context.begin(), context.end());
  drop_unread_context();
  const auto all = std::ssize(context_);
  for (const int64_t length : memory.window_lengths())
    if (length < all) paths_.push_back({.followed = length});
  for (Path& path : paths_)
    path.log_prior = std::log((1 - kFollowsAll) / static_cast<double>(paths_.size()));
  paths_.push_back({.followed = all, .log_prior = std::log(paths_.empty() ? 1.0 : kFollowsAll)});
  for (Path& path : paths_) path.rank = rank_of(path);
}

std::optional<NextToken> Recital::next() {
  if (paths_.empty()) return std::nullopt;
  while (const Path* path = to_read()) extend(*path);
  const Path& best = best_path();
  if (best.evidence() <= -std::log(decoder_.error_rate())) return std::nullopt;
  NextToken token = first_of(best);
  recite(token.token);
  return token;
}

void Recital::drop_unread_context() {
  const int64_t unread = std::ssize(context_) - memory_.window_lengths().back();
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

/// Of those that are not read on.
const Recital::Path& Recital::best_path() const {
  return *std::ranges::max_element(paths_, {}, [](const Path& path) {
    return path.state == Path::kRead ? kLogZero : path.rank;
  });
}

/// The best path, if more of it is to be read, else the best one that begins with another token and
/// may make the best one's first token less probable. None if all is known that matters.
const Recital::Path* Recital::to_read() const {
  const auto is_open = [](const Path& path) {
    return path.state == Path::kOpen && path.steps.size() < kAhead;
  };
  const Path& best = best_path();
  if (is_open(best)) return &best;
  if (best.steps.empty()) return nullptr;  // nothing stored continues here
  const Path* rival = nullptr;
  for (const Path& path : paths_)
    if (is_open(path) && path.rank > best.rank - kRival &&
        path.tokens().front() != best.tokens().front() && (!rival || path.rank > rival->rank))
      rival = &path;
  return rival;
}

/// Reads what follows a path, and those that differ from it only in what they follow.
void Recital::extend(const Path& best) {
  std::vector<int32_t> text = context_;
  std::ranges::copy(best.tokens(), std::back_inserter(text));
  const auto ahead = std::span<const int32_t>(text).subspan(context_.size());
  const std::span<const int32_t> context = text;
  std::vector<Path> longer;
  read_contexts(memory_, {&context, 1}, [&](size_t, const WindowScores& scores) {
    for (Path& path : paths_) {
      if (path.state != Path::kOpen || !std::ranges::equal(path.tokens(), ahead)) continue;
      const std::vector<Path> continued = this->continued(path, scores);
      path.state = continued.empty() ? Path::kLost : Path::kRead;
      path.rank = rank_of(path);
      longer.insert(longer.end(), continued.begin(), continued.end());
    }
  });
  std::ranges::move(longer, std::back_inserter(paths_));
  drop_hopeless();
}

/// The path extended by each of the tokens that most probably follow; none if nothing does.
std::vector<Recital::Path> Recital::continued(const Path& path, const WindowScores& scores) const {
  const int64_t windows = windows_behind(path, path.steps.size());
  if (windows == 0) return {};
  std::vector<LikelihoodDecoder::Depth> candidates = decoder_.depths(scores, windows, kHopeless);
  std::ranges::sort(candidates, std::greater(), &LikelihoodDecoder::Depth::log_probability);
  if (candidates.size() > kPaths) candidates.resize(kPaths);
  std::vector<Path> paths;
  for (const auto& candidate : candidates) {
    Path& longer = paths.emplace_back(path);
    longer.steps.push_back(step_to(candidate, scores, windows));
    longer.merit += longer.steps.back().merit;
    if (candidate.token == end_of_text_) longer.state = Path::kEndOfText;
    longer.rank = rank_of(longer);
  }
  return paths;
}

/// Keeps the best paths of each number of steps.
void Recital::drop_hopeless() {
  std::ranges::stable_sort(paths_, std::greater(), &Path::log_posterior);
  std::vector<size_t> kept(kAhead + 1, 0);
  std::vector<double> best(kAhead + 1, 0);
  std::erase_if(paths_, [&](const Path& path) {
    const size_t steps = path.steps.size();
    if (kept[steps] == 0) best[steps] = path.log_posterior();
    return path.log_posterior() < best[steps] - kHopeless || kept[steps]++ >= kPaths;
  });
}

/// The step to a token that must have been stored with this number of windows.
Recital::Step Recital::step_to(const LikelihoodDecoder::Depth& depth, const WindowScores& scores,
                               int64_t windows) const {
  Step step;
  step.merit = depth.log_probability - LikelihoodDecoder::log_expected(windows);
  step.evidence = depth.evidence;
  step.token.token = depth.token;
  step.token.matched_length = scores.lengths()[windows - 1];
  step.token.recalled = true;
  step.token.window_scores = scores.of_token(depth.token);
  for (int64_t k = 0; k < windows; ++k) step.token.score += step.token.window_scores[k];
  return step;
}

/// The first token of a path, with the probability that all paths together give it.
NextToken Recital::first_of(const Path& best) const {
  NextToken token = best.steps.front().token;
  token.evidence = best.evidence();
  double all = 0, its = 0;  // relative to the best
  for (const Path& path : paths_) {
    if (path.steps.empty() || path.state == Path::kRead || path.rank < best.rank - kRival) continue;
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
