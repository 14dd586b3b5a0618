// tessera serve [--model DIR] [--store DIR]

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <memory>
#include <ranges>
#include <set>
#include <thread>

#include "program/cli/program.h"
#include "program/model_cli/model_verbs.h"
#include "program/model_cli/packaged_examples.h"
#include "program/serve/log.h"
#include "program/serve/server.h"
#include "tessera/base/error.h"
#include "tessera/base/machine.h"
#include "tessera/hosts/stores_of_hosts.h"

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::vector<std::string> models, stores;
  Placement placement;
  std::string key_file, runs;
  hosts::HostOptions host;
  std::optional<double> memory;
  serve::EngineOptions engine;
  serve::ServerOptions server;
  serve::ServiceLimits limits;
  bool log = false;
};

int wake_up[2] = {-1, -1};  // a pipe: written to by a signal

extern "C" void ask_to_stop(int) {
  const char byte = 0;
  [[maybe_unused]] const auto written = ::write(wake_up[1], &byte, 1);
  std::signal(SIGINT, SIG_DFL);  // the next one ends the program at once
  std::signal(SIGTERM, SIG_DFL);
}

/// While it lives the first SIGINT or SIGTERM calls `stop`.
class StopSignal {
 public:
  explicit StopSignal(const std::function<void()>& stop) {
    if (::pipe(wake_up) != 0) throw SystemError("pipe", "create", errno);
    std::signal(SIGINT, ask_to_stop);
    std::signal(SIGTERM, ask_to_stop);
    waiting_ = std::thread([stop] {
      char byte;
      while (::read(wake_up[0], &byte, 1) < 0 && errno == EINTR) {
      }
      stop();
    });
  }
  ~StopSignal() {
    ask_to_stop(0);
    waiting_.join();
    for (const int end : wake_up) ::close(end);
  }
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

 private:
  std::thread waiting_;
};

/// A folder under a name.
struct Named {
  std::string name, folder;
};

/// "name=DIR", or DIR, whose name is its last part; runs/tiny/model is tiny. Throws UsageError
/// where there is no name.
Named parse_named(const std::string& text) {
  if (const size_t equals = text.find('='); equals != std::string::npos) {
    if (equals == 0) throw UsageError("'{}' has no name before '='", text);
    if (equals + 1 == text.size()) throw UsageError("'{}' has no folder behind '='", text);
    return {text.substr(0, equals), text.substr(equals + 1)};
  }
  if (hosts::is_address(text)) throw UsageError("stores at other hosts need a name, NAME={}", text);
  fs::path folder = fs::absolute(text).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();
  if (folder.filename() == "model" && folder.parent_path().has_filename())
    folder = folder.parent_path();
  if (!folder.has_filename()) throw UsageError("'{0}' needs a name, NAME={0}", text);
  return {folder.filename().native(), text};
}

/// "-" in the place of what could not be read of a request.
void log_answer(const serve::Request& request, int status, double seconds) {
  const auto shown = [](const std::string& text) { return text.empty() ? "-" : text; };
  serve::log_line(fmt::format("{} {} {} {} {:.1f} ms", request.client, shown(request.method),
                              shown(request.path), status, 1000 * seconds));
}

/// Stores at other hosts, "ADDRESS,ADDRESS", that answer together.
void add_hosts(const std::string& name, const std::string& list, const Options& options,
               serve::Service& service) {
  std::vector<std::string> addresses;
  for (const auto address : std::views::split(list, ','))
    addresses.emplace_back(address.begin(), address.end());
  service.together.emplace(
      name, std::make_shared<serve::ServedHosts>(std::move(addresses), options.host));
}

/// Where nothing was named, what comes with Tessera is served.
std::unique_ptr<ExampleStore> name_examples(Options& options) {
  if (!options.models.empty() || !options.stores.empty() || !options.runs.empty()) return nullptr;
  const fs::path model = packaged_model();
  auto store = std::make_unique<ExampleStore>(model);
  options.models = {"stories=" + model.native()};
  options.stores = {"storybook=" + store->folder().native()};
  say("Without --model, --store and --runs: the model that comes with Tessera and, until the "
      "server ends, a store of {} stories\n",
      ExampleStore::kStories);
  return store;
}

/// The models and the stores, under names that differ.
void load(const Options& options, serve::Service& service) {
  serve::EngineOptions engine = options.engine;
  engine.memory = std::make_shared<serve::MemoryBudget>(options.memory ? *options.memory * 1e9
                                                                       : physical_memory() / 4.0);
  std::set<std::string> names;
  const auto named = [&](const std::string& text) {
    const Named parsed = parse_named(text);
    if (!names.insert(parsed.name).second)
      throw UsageError("'{}' is the name of two models or stores; give one another name, NAME=DIR",
                       parsed.name);
    return parsed;
  };
  for (const auto& text : options.models) {
    const auto [name, folder] = named(text);
    service.models.add(serve::served_model(name, folder, engine, options.placement));
  }
  for (const auto& text : options.stores) {
    const auto [name, folder] = named(text);
    if (hosts::is_address(folder))
      add_hosts(name, folder, options, service);
    else
      service.models.add_store(name, folder, engine);
  }
}

void run(Options& options) {
  if (!options.key_file.empty()) options.server.access.keys = hosts::read_keys(options.key_file);
  options.server.check();
  std::signal(SIGPIPE, SIG_IGN);  // whoever read the log may have gone
  const auto examples = name_examples(options);
  serve::Service service;
  service.limits = options.limits;
  service.runs = options.runs;
  if (!options.runs.empty() && !fs::is_directory(options.runs))
    throw UsageError("--runs: '{}' is not a folder", options.runs);
  load(options, service);
  serve::Server server(service, options.server,
                       options.log ? log_answer : serve::Server::OnAnswer());
  const StopSignal signal([&] {
    serve::log_line("Answering what has begun; another signal stops at once");
    server.stop();
  });
  for (const auto& model : service.models.all())
    fmt::print("{}: {}, {}\n", model->name, model->kind, model->tokenizer.description());
  const std::string& host = options.server.http.host;
  fmt::print("Serving at {}://{}:{}\n", options.server.http.tls_key.empty() ? "http" : "https",
             host.find(':') == std::string::npos ? host : "[" + host + "]", server.port());
  std::fflush(stdout);
  server.run();
}

void add_limits(Verb& verb, Options& options) {
  verb.option("--max-clients", options.server.clients,
              "Maximum number of requests answered at once; others get status 503")
      .between(1, 4096);
  verb.option("--max-clients-per-key", options.server.clients_per_key,
              "Maximum number of requests answered at once per key, or per address where there "
              "are no keys; others get status 429 (0: no limit)")
      .between(0, 4096);
  verb.option("--max-rows", options.engine.rows,
              "Maximum number of texts that a model writes side by side")
      .between(1, 4096);
  verb.option("--max-queue", options.engine.queue,
              "Maximum texts that wait for a model; further requests get status 503")
      .at_least(1);
  verb.option("--max-body", options.server.http.body_bytes,
              "Size limit of a request's body, in bytes; larger ones get status 413")
      .between(1024, 1LL << 32);
  verb.option("--max-tokens-per-request", options.limits.tokens_per_request,
              "Maximum tokens that one request may have read and written, all its texts together; "
              "others get status 413")
      .at_least(1);
  verb.option("--max-answer", options.limits.answer_bytes,
              "Maximum bytes of an answer; requests that would get a larger one get status 413")
      .at_least(1024);
  verb.option("--memory", options.memory,
              "Memory limit for all texts together, in GB (default: a quarter of RAM)")
      .at_least(0.001);
  verb.option("--read-seconds", options.server.http.read_seconds,
              "Timeout for a request to arrive, in seconds")
      .at_least(0.1);
  verb.option("--idle-seconds", options.server.http.idle_seconds,
              "Seconds after which an idle connection is closed")
      .at_least(0.1);
  verb.option("--request-seconds", options.limits.request_seconds,
              "Timeout for an answer, in seconds")
      .at_least(0.1);
}

}  // namespace

void add_serve(Verb& program) {
  auto options = std::make_shared<Options>();
  Verb& verb =
      program.verb("serve", "Serve models and stores over HTTP, with an API for OpenAI's clients");
  verb.option("--model", options->models,
              "Model directory, or NAME=DIR; may be given several times. Requests that name no "
              "model get the first");
  add_placement(verb, options->placement);
  verb.option("--store", options->stores,
              "Store, or NAME=DIR; may be given several times. It is also a model of this name. Or "
              "NAME=ADDRESS,ADDRESS: stores at other hosts that answer together, each an address "
              "such as http://HOST:8080/v1/stores/NAME");
  verb.options(options->host);
  verb.option("--runs", options->runs, "Folder of run folders, shown with their metrics");
  verb.option("--host", options->server.http.host, "Address to serve at");
  verb.option("--port", options->server.http.port, "Port to serve at (0: any that is free)")
      .between(0, 65535);
  verb.option("--api-key-file", options->key_file,
              "File of keys, one a line; requests must bring one as 'Authorization: Bearer KEY'");
  verb.flag("--insecure", options->server.insecure,
            "Serve other machines without a key, where --host is not local");
  verb.option("--tls-cert", options->server.http.tls_certificate,
              "Certificate in PEM, with its intermediate ones; the server then speaks HTTPS");
  verb.option("--tls-key", options->server.http.tls_key, "Its private key in PEM");
  verb.option("--allowed-host", options->server.access.hosts,
              "Another name under which clients reach this server; may be given several times");
  verb.option("--cors", options->server.access.origin,
              "Origin of pages elsewhere that may use the API, such as https://example.org");
  add_limits(verb, *options);
  verb.flag("--log", options->log, "Print a line for every answer on standard error");
  verb.read_environment("TESSERA_");
  verb.footer([] {
    return std::string(
        "Without --model, --store and --runs, the model of short stories that comes with Tessera "
        "and a store of stories are served.\n"
        "Every option may also be given as an environment variable, --max-body as "
        "TESSERA_MAX_BODY.");
  });
  verb.run([options] { run(*options); });
}

}  // namespace tessera::cli
