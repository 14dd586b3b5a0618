#include "tessera/plan/ranked_law.h"

#include <algorithm>
#include <cmath>

#include "tessera/base/error.h"
#include "tessera/plan/association_task.h"

namespace tessera::theory {
namespace {

constexpr int64_t kExactRanks = 10000;
constexpr double kStep = 1.01;

/// p (1 - p)^T of one input.
double unseen_part(double p, double samples) {
  return p < 1 ? p * std::exp(samples * std::log1p(-p)) : 0.0;
}

}  // namespace

RankedLaw RankedLaw::zipf(int64_t inputs, double alpha) {
  check_argument(inputs > 0, "RankedLaw: {} inputs; at least one is needed", inputs);
  check_argument(alpha > 0 && std::isfinite(alpha),
                 "RankedLaw: the exponent alpha is {}; it must be positive", alpha);
  RankedLaw law;
  law.inputs_ = inputs;
  for (int64_t x = 1; x <= std::min(inputs, kExactRanks); ++x)
    law.steps_.push_back({1, std::pow(static_cast<double>(x), -alpha)});
  const auto end = static_cast<double>(inputs) + 1;
  for (double from = kExactRanks + 1; from < end;) {
    const double to = std::min(end, std::floor(from * kStep));
    // The midpoint rule: the sum of x^-alpha over the step, spread evenly.
    const double a = from - 0.5, b = to - 0.5;
    const double sum = alpha == 1 ? std::log(b / a)
                                  : (std::pow(b, 1 - alpha) - std::pow(a, 1 - alpha)) / (1 - alpha);
    law.steps_.push_back({to - from, sum / (to - from)});
    from = to;
  }
  double total = 0;
  for (auto step = law.steps_.rbegin(); step != law.steps_.rend(); ++step)
    total += step->count * step->probability;
  for (Step& step : law.steps_) step.probability /= total;
  return law;
}

RankedLaw RankedLaw::counted(std::span<const double> counts) {
  RankedLaw law;
  for (const double p : counted_task(counts, 1).law) {
    if (!law.steps_.empty() && law.steps_.back().probability == p)
      law.steps_.back().count += 1;
    else
      law.steps_.push_back({1, p});
    ++law.inputs_;
  }
  return law;
}

double RankedLaw::unseen_mass(double samples) const {
  double mass = 0;
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step)
    mass += step->count * unseen_part(step->probability, samples);
  return mass;
}

}  // namespace tessera::theory
