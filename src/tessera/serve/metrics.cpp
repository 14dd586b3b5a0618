#include "tessera/serve/metrics.h"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::serve {
namespace {

/// A label's value, with what has a meaning in the format escaped.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\' || c == '"') result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result;
}

}  // namespace

std::string metric_line(const std::string& name, const std::map<std::string, std::string>& labels,
                        double value) {
  std::string inside;
  for (const auto& [label, text] : labels)
    inside += fmt::format("{}{}=\"{}\"", inside.empty() ? "" : ",", label, escaped(text));
  return fmt::format("{}{} {}\n", name, inside.empty() ? "" : "{" + inside + "}", value);
}

std::string metric_head(const std::string& name, const std::string& type, const std::string& help) {
  return fmt::format("# HELP {0} {2}\n# TYPE {0} {1}\n", name, type, help);
}

void Histogram::observe(double seconds) {
  const std::lock_guard lock(mutex_);
  ++counts_[std::lower_bound(kBounds.begin(), kBounds.end(), seconds) - kBounds.begin()];
  sum_ += seconds;
}

std::string Histogram::text(const std::string& name, const std::string& help) const {
  const std::lock_guard lock(mutex_);
  std::string text = metric_head(name, "histogram", help);
  int64_t count = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    count += counts_[i];
    const std::string bound = i < kBounds.size() ? fmt::format("{}", kBounds[i]) : "+Inf";
    text += metric_line(name + "_bucket", {{"le", bound}}, static_cast<double>(count));
  }
  return text + fmt::format("{0}_sum {1}\n{0}_count {2}\n", name, sum_, count);
}

void Metrics::count(const std::string& route, int status, double seconds) {
  request_seconds.observe(seconds);
  const std::lock_guard lock(mutex_);
  ++requests_[{route, status}];
}

std::string Metrics::text() const {
  std::string text =
      metric_head("tessera_requests_total", "counter", "Requests answered, by route and status.");
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, count] : requests_)
      text += metric_line("tessera_requests_total",
                          {{"route", key.first}, {"status", std::to_string(key.second)}},
                          static_cast<double>(count));
  }
  return text + request_seconds.text("tessera_request_seconds", "Time to answer a request.") +
         first_token_seconds.text("tessera_first_token_seconds",
                                  "Time from a request to the first token of its answer.");
}

}  // namespace tessera::serve
