#include "program/serve/metrics.h"

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

std::string Histogram::lines(const std::string& name,
                             const std::map<std::string, std::string>& labels) const {
  const std::lock_guard lock(mutex_);
  std::string text;
  int64_t count = 0;
  auto with_bound = labels;
  for (size_t i = 0; i < counts_.size(); ++i) {
    count += counts_[i];
    with_bound["le"] = i < kBounds.size() ? fmt::format("{}", kBounds[i]) : "+Inf";
    text += metric_line(name + "_bucket", with_bound, static_cast<double>(count));
  }
  return text + metric_line(name + "_sum", labels, sum_) +
         metric_line(name + "_count", labels, static_cast<double>(count));
}

void Metrics::count(const std::string& route, int status, double seconds) {
  const std::lock_guard lock(mutex_);
  ++requests_[{route, status}];
  request_seconds_[route].observe(seconds);
}

std::string Metrics::text() const {
  std::string text = metric_head("tessera_requests_total", "counter",
                                 "Requests answered or refused, by route and status.");
  const std::lock_guard lock(mutex_);
  for (const auto& [key, count] : requests_)
    text += metric_line("tessera_requests_total",
                        {{"route", key.first}, {"status", std::to_string(key.second)}},
                        static_cast<double>(count));
  text += metric_head("tessera_request_seconds", "histogram",
                      "Time to answer a request, to the last byte, by route.");
  for (const auto& [route, seconds] : request_seconds_)
    text += seconds.lines("tessera_request_seconds", {{"route", route}});
  return text +
         metric_head("tessera_first_token_seconds", "histogram",
                     "Time from a request to the first token of its answer.") +
         first_token_seconds.lines("tessera_first_token_seconds");
}

}  // namespace tessera::serve
