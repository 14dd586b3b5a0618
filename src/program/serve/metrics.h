#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace tessera::serve {

/// How often a time was observed, by size. From any thread.
class Histogram {
 public:
  void observe(double seconds);
  /// Its lines in Prometheus' text format, under this name.
  std::string lines(const std::string& name,
                    const std::map<std::string, std::string>& labels = {}) const;

 private:
  static constexpr std::array<double, 14> kBounds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                                     0.25,  0.5,    1,     2.5,  5,     10,   60};
  mutable std::mutex mutex_;
  std::array<int64_t, kBounds.size() + 1> counts_ = {};  // the last one: above all bounds
  double sum_ = 0;
};

/// What a server has done so far.
class Metrics {
 public:
  /// A request that was answered, or refused. route: the pattern of its path, such as
  /// "/v1/completions"; "none" where there is no such path, "refused" where no route got to see it.
  void count(const std::string& route, int status, double seconds);

  Histogram first_token_seconds;

  /// The requests and the histograms in Prometheus' text format.
  std::string text() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, int64_t> requests_;  // by route and status
  std::map<std::string, Histogram> request_seconds_;         // by route
};

/// One line of Prometheus' text format, `labels` being pairs of names and values.
std::string metric_line(const std::string& name, const std::map<std::string, std::string>& labels,
                        double value);
/// The two lines that come before those of one metric. type: "counter", "gauge".
std::string metric_head(const std::string& name, const std::string& type, const std::string& help);

}  // namespace tessera::serve
