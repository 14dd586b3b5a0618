// What a training step would take on many hosts, by a model that is fitted to a measurement of two:
//   tessera_bench report/hosts HOSTS.csv PICTURE.svg
// HOSTS.csv: written by bench/train/hosts.sh. Prints a table and writes the picture.
//
// The model. Each host computes one micro-batch in `alone` seconds. The gradients, G bytes in b
// buckets, are added up in a ring: 2 (N - 1) messages of each bucket, one after the other, so that
//   exchange(N) = 2 (N - 1) b latency + 2 (N - 1) / N  G / bandwidth
// where latency and bandwidth are fitted to the exchanges of two hosts (least squares of the
// relative errors). Of the exchange no more is hidden behind the backward pass than was measured,
// and never the last bucket.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "bench/support/program.h"
#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/report/line_chart.h"

namespace tessera::bench::hosts {
namespace {

constexpr double kBucket = 1 << 20;  // numbers, as train/processes.h has it
const std::vector<double> kHosts = {2, 4, 8, 16, 32, 64, 128, 256, 512};

/// One line of the measurement, in seconds.
struct Measured {
  double channels = 0, parameters = 0, bytes = 0, alone = 0, exchange = 0, local = 0, link = 0;

  double buckets() const { return std::ceil(parameters / kBucket); }
  /// Of the exchange, what goes on during the backward pass.
  double hidden() const { return std::clamp(exchange - (link - alone), 0.0, exchange); }
};

std::vector<Measured> read_measurement(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::vector<Measured> all;
  for (std::getline(file, line); std::getline(file, line);) {
    std::ranges::replace(line, ',', ' ');
    std::istringstream numbers(line);
    Measured m;
    if (!(numbers >> m.channels >> m.parameters >> m.bytes >> m.alone >> m.exchange >> m.local >>
          m.link))
      throw DataError(path, "'{}' is not a line of bench/train/hosts.sh", line);
    if (!(m.exchange > 0))
      throw DataError(path, "has an exchange of {} s, expected above 0; measure on a quiet machine",
                      m.exchange);
    all.push_back(m);
  }
  if (all.size() < 2) throw DataError(path, "has {} lines, expected at least 2", all.size());
  return all;
}

struct Network {
  double latency = 0;          ///< seconds of one message
  double seconds_of_byte = 0;  ///< 1 / bandwidth
};

/// Least squares for 1 = (2 b latency + bytes / bandwidth) / exchange; what would be negative is 0.
Network fit(const std::vector<Measured>& measured) {
  double xx = 0, xy = 0, yy = 0, xt = 0, yt = 0;
  for (const Measured& m : measured) {
    const double x = 2 * m.buckets() / m.exchange, y = m.bytes / m.exchange;
    xx += x * x, xy += x * y, yy += y * y, xt += x, yt += y;
  }
  const double determinant = xx * yy - xy * xy;
  Network network = {(xt * yy - yt * xy) / determinant, (yt * xx - xt * xy) / determinant};
  if (!(network.latency >= 0)) network = {0, yt / yy};
  if (!(network.seconds_of_byte >= 0)) network = {xt / xx, 0};
  return network;
}

double exchange(const Measured& m, const Network& network, double hosts) {
  return 2 * (hosts - 1) * m.buckets() * network.latency +
         2 * (hosts - 1) / hosts * m.bytes * network.seconds_of_byte;
}

double step(const Measured& m, const Network& network, double hosts) {
  const double all = exchange(m, network, hosts);
  return m.alone + std::max(all - m.hidden(), all / m.buckets());
}

const Program program("report/hosts", "HOSTS.csv PICTURE.svg", [](const Words& words) {
  const auto measured = read_measurement(words[0]);
  const Network network = fit(measured);
  fmt::print("fitted: {:.2f} ms for a message, {:.0f} Mbit/s\n", 1000 * network.latency,
             8e-6 / network.seconds_of_byte);
  LineChart chart("Model of a training step on many hosts, fitted to a measurement of two",
                  {"hosts", Scale::kLog},
                  {"share of the step that is computing", Scale::kLinear, 0, 1});
  fmt::print("{:>9} {:>6} {:>10} {:>11} {:>6}\n", "MB", "hosts", "exchange s", "step s", "share");
  for (const Measured& m : measured) {
    Series series = {fmt::format("{:.2g} MB", m.bytes / 1e6), {}};
    for (const double hosts : kHosts) {
      const double seconds = step(m, network, hosts);
      series.points.push_back({hosts, m.alone / seconds});
      if (hosts == 8 || hosts == 64 || hosts == 512)
        fmt::print("{:9.1f} {:6.0f} {:10.3f} {:11.3f} {:6.2f}\n", m.bytes / 1e6, hosts,
                   exchange(m, network, hosts), seconds, m.alone / seconds);
    }
    chart.add(std::move(series));
  }
  write_file(words[1], chart.svg());
});

}  // namespace
}  // namespace tessera::bench::hosts
