#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "program/serve/api_error.h"
#include "program/serve/fields.h"
#include "program/serve/sent_events.h"
#include "program/serve/service.h"
#include "tessera/base/config.h"
#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/train/metrics_log.h"

namespace tessera::serve {
namespace {

using config::Json;
namespace fs = std::filesystem;

constexpr auto kBetweenReads = std::chrono::milliseconds(250);  // of a file that may grow
constexpr auto kSignOfLife = std::chrono::seconds(5);
constexpr std::streamoff kTailBytes = 1 << 16;  // of a log, with its last line
constexpr std::streamoff kReadBytes = 1 << 20;  // of a log, at once

/// Whether there is this file; not where it is a link, or cannot be looked at.
bool has_file(const fs::path& file) {
  std::error_code failure;
  return fs::is_regular_file(fs::symlink_status(file, failure));
}

/// Runs in the folder, by name. What a request names is looked up here and never becomes a path.
/// What is below the folder and cannot be looked into is no run.
std::map<std::string, fs::path> runs_in(const std::string& folder) {
  std::map<std::string, fs::path> runs;
  if (folder.empty()) return runs;
  for (const auto& entry : fs::directory_iterator(folder))
    if (has_file(entry.path() / MetricsLog::kFile))
      runs.emplace(entry.path().filename().native(), entry.path());
  return runs;
}

fs::path run_of(const Service& service, const Request& request) {
  const auto runs = runs_in(service.runs);
  const auto found = runs.find(request.values.at("run"));
  if (found == runs.end())
    throw ApiError(404, "there is no run '{}' in the folder given with --runs",
                   request.values.at("run"))
        .with_code("run_not_found");
  return found->second;
}

/// A file of the run that a request names, which not every run has.
fs::path file_of_run(const Service& service, const Request& request, const char* name) {
  const fs::path file = run_of(service, request) / name;
  if (!has_file(file))
    throw ApiError(404, "the run '{}' has no {} yet", request.values.at("run"), name);
  return file;
}

/// The next whole lines of a file from byte `from` on, which is moved behind them; all that there
/// are, in several calls. Throws DataError on a line that is longer than what is read at once.
std::vector<std::string> lines_after(const fs::path& file, std::streamoff& from) {
  std::ifstream stream(file, std::ios::binary | std::ios::ate);
  const std::streamoff size = stream.tellg();
  if (size < from) from = 0;  // the run began once more
  stream.seekg(from);
  std::string bytes(std::clamp<std::streamoff>(size - from, 0, kReadBytes), '\0');
  stream.read(bytes.data(), std::ssize(bytes));
  bytes.resize(static_cast<size_t>(stream.gcount()));
  std::vector<std::string> lines;
  size_t begin = 0;
  for (size_t end; (end = bytes.find('\n', begin)) != std::string::npos; begin = end + 1)
    lines.push_back(bytes.substr(begin, end - begin));
  if (lines.empty() && std::ssize(bytes) == kReadBytes)
    throw DataError(file.native(), "the line from byte {} on has more than {} bytes", from,
                    kReadBytes);
  from += static_cast<std::streamoff>(begin);
  return lines;
}

Json last_line(const fs::path& file) {
  std::streamoff from = std::max<std::streamoff>(0, file_bytes(file) - kTailBytes);
  const auto lines = lines_after(file, from);
  return lines.empty() ? Json(nullptr) : Json::parse(lines.back(), nullptr, false);
}

Response list_runs(const Service& service) {
  Json list = Json::array();
  for (const auto& [name, path] : runs_in(service.runs)) {
    std::error_code gone;
    const auto written = fs::last_write_time(path / MetricsLog::kFile, gone);
    if (gone) continue;
    Json last = last_line(path / MetricsLog::kFile);
    list.push_back({{"id", name},
                    {"object", "run"},
                    {"modified", unix_seconds(std::chrono::file_clock::to_sys(written))},
                    {"last", last.is_discarded() ? Json(nullptr) : std::move(last)},
                    {"has_model", has_file(path / "model" / "config.json")},
                    {"has_report", has_file(path / "report.html")}});
  }
  return json_response({{"object", "list"}, {"data", std::move(list)}});
}

/// Sends the lines there are and then each new one, until the client or the server ends it.
void follow(EventStream& stream, const fs::path& file, const std::atomic<bool>& stopping) {
  SentEvents events(stream);
  std::streamoff from = 0;
  while (!stopping && !events.has_left(kSignOfLife)) {
    for (const auto& line : lines_after(file, from)) events.send(line);
    std::this_thread::sleep_for(kBetweenReads);
  }
}

/// One of the clients that follow runs, of which there are only so many: each holds a thread.
std::shared_ptr<const void> follower(Service& service) {
  const std::shared_ptr<const void> place(nullptr, [&](const void*) { --service.followers; });
  if (++service.followers > kFollowers)
    throw ApiError(503, "{} clients follow runs already; try again later", kFollowers)
        .with_code("overloaded")
        .retry_after(10);
  return place;
}

Response run_metrics(Service& service, const Request& request) {
  const fs::path file = run_of(service, request) / MetricsLog::kFile;
  if (flag(request, "follow")) {
    auto response =
        Response::of_events([file, place = follower(service), &stopping = service.stopping](
                                EventStream& events) { follow(events, file, stopping); });
    response.follows = true;
    return response;
  }
  Response response{.content_type = "application/x-ndjson"};
  std::streamoff from = 0;
  for (auto lines = lines_after(file, from);
       !lines.empty() && std::ssize(response.body) <= service.limits.answer_bytes;
       lines = lines_after(file, from))
    for (const std::string& line : lines) response.body += line + "\n";
  return response;
}

Response run_config(const Service& service, const Request& request) {
  const fs::path file = file_of_run(service, request, "config.toml");
  try {
    return json_response(config::read_toml(file));
  } catch (const UsageError& damage) {  // of the file, no mistake of the client's
    throw std::runtime_error(damage.what());
  }
}

/// The run's own page, kept away from this server's.
Response run_report(const Service& service, const Request& request) {
  const fs::path file = file_of_run(service, request, "report.html");
  return {.content_type = "text/html; charset=utf-8",
          .body = read_file(file, static_cast<uint64_t>(service.limits.answer_bytes)),
          .headers = {{"Content-Security-Policy",
                       "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
                       "img-src data:; sandbox allow-scripts"},
                      {"X-Content-Type-Options", "nosniff"}}};
}

}  // namespace

void add_run_routes(Router& router, Service& service) {
  router.add("GET", "/v1/runs", [&](const Request&) { return list_runs(service); });
  const auto add = [&](const std::string& path, auto&& answer) {
    router.add("GET", "/v1/runs/{run}" + path,
               [&service, answer](const Request& request) { return answer(service, request); });
  };
  add("/metrics", run_metrics);
  add("/config", run_config);
  add("/report", run_report);
}

}  // namespace tessera::serve
