#include "program/mcp/store_tools.h"

#include <filesystem>

#include "program/jobs/erase_job.h"
#include "program/jobs/job.h"
#include "program/jobs/store_jobs.h"
#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/base/utf8.h"
#include "tessera/store/memo_store.h"
#include "tessera/store/memo_writer.h"

namespace tessera::mcp {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kListed = 100;  // documents, where no limit is given

/// Sets a job's fields. Throws FieldError on an argument that is none of them, is missing or wrong.
void read_arguments(const nlohmann::json& arguments, const std::vector<config::Field>& fields) {
  config::fields_from_json(jobs::request_values(arguments, fields), fields, "");
}

template <typename Job>
Tool tool_of(Effect effect, const std::vector<config::Field>& fields) {
  Tool tool{.name = Job::kName, .help = Job::kHelp, .effect = effect, .schema = schema_of(fields)};
  if constexpr (requires { Job::kDoing; }) tool.doing = Job::kDoing;
  return tool;
}

template <typename Answer>
config::Json told(const Answer& answer) {
  return answer.json();
}

/// In passages: an entry for each token, as the verb and the server have it, would fill what an
/// assistant can keep in mind.
config::Json told(const jobs::Recall::Answer& answer) {
  const std::vector<memo::NextToken>& tokens = answer.recall.tokens;
  store::RecitedText text(answer.store.tokenizer(), answer.question.rest);
  config::Json passages = config::Json::array();
  for (const store::RecitedPassage& passage : store::passages_of(answer.recall)) {
    const size_t begin = text.text().size();
    for (size_t i = passage.first; i <= passage.last; ++i) text.add(tokens[i].token);
    config::Json entry = {{"text", text.text().substr(begin)},
                          {"document", nullptr},
                          {"probability", passage.probability}};
    if (passage.source)
      entry.update({{"document", passage.source->document},
                    {"line", passage.source->line},
                    {"last_line", passage.last_line},
                    {"also_in", passage.also_in}});
    passages.push_back(std::move(entry));
  }
  return {{"prompt", answer.prompt},
          {"read_as", answer.question.text},
          {"text", text.text()},
          {"finish", config::enum_name(answer.recall.finish)},
          {"passages", std::move(passages)}};
}

config::Json told(const jobs::Ask::Answer& answer) {
  config::Json data = config::Json::array();
  for (const jobs::Recall::Answer& one : answer.answers) data.push_back(told(one));
  return {{"object", "list"}, {"data", std::move(data)}};
}

/// Opens the store for each call: an open reader would keep other processes from erasing what they
/// forget. defaults: what an argument is that a call does not name.
template <typename Job>
Tool reading(const std::string& store, const Job& defaults = {}) {
  Tool tool = tool_of<Job>(Effect::kNone, config::fields_of(defaults));
  tool.call = [store, defaults](const nlohmann::json& arguments, const OnProgress& on_progress) {
    Job job = defaults;
    read_arguments(arguments, config::fields_of(job));
    return told(job.run(store::MemoStore(store), on_progress));
  };
  return tool;
}

Tool memorizing(const std::string& store) {
  Tool tool = tool_of<jobs::Memorize>(Effect::kEdits, config::fields_of(jobs::Memorize()));
  tool.call = [store](const nlohmann::json& arguments, const OnProgress& on_progress) {
    jobs::Memorize job;
    read_arguments(arguments, config::fields_of(job));
    store::MemoWriter writer(store);
    jobs::Memorize::Answer answer = job.run(writer, on_progress);
    try {
      writer.checkpoint(store::Readers::kPass);
    } catch (const store::ErasureDelayed&) {  // what is memorized stays so
      answer.erasure_pending = answer.outcome == store::Memorized::kReplaced;
    }
    return answer.json();
  };
  return tool;
}

/// Where a certificate of this name is written. Throws UsageError on a name that leads elsewhere,
/// or that a certificate has already.
fs::path place_of_certificate(const std::string& folder, const std::string& name) {
  const fs::path path = fs::path(folder) / name;
  if (path.filename() != name || path.extension() != ".json" || path.stem().empty() ||
      !utf8::is_printable(name))
    throw UsageError("certificate is '{}', expected the name of a file such as letters.json", name);
  for (const char* ending : {".json", ".html"})
    if (fs::path file = path; is_there(file.replace_extension(ending)))
      throw UsageError("the certificate {} already exists; give another name",
                       file.filename().native());
  return path;
}

/// The fields that an assistant may set.
std::vector<config::Field> erase_fields(const jobs::Erase& job, const StoreAccess& access) {
  auto fields = config::fields_of(job);
  std::erase_if(fields, [&](const config::Field& field) {
    return field.name == "key" || (field.name == "certificate" && access.certificates.empty());
  });
  for (config::Field& field : fields)
    if (field.name == "certificate")
      field.help =
          "name of a file such as letters.json: write a certificate there that shows that nothing "
          "is left, and a page beside it; the answer has the certificate too";
  return fields;
}

Tool forgetting(const StoreAccess& access) {
  Tool tool = tool_of<jobs::Erase>(Effect::kEdits, erase_fields({}, access));
  tool.call = [access](const nlohmann::json& arguments, const OnProgress& on_progress) {
    jobs::Erase job;
    read_arguments(arguments, erase_fields(job, access));
    if (!arguments.value("certificate", nlohmann::json()).is_null()) {
      job.certificate = place_of_certificate(access.certificates, job.certificate).native();
      job.key = access.key;
    } else {
      job.readers = store::Readers::kPass;
    }
    config::Json forgotten;
    const auto listed = [&](const jobs::Erase::Answer& answer) { forgotten = answer.json(); };
    try {
      return job.run(access.store, {.listed = listed}, on_progress).json();
    } catch (const store::ErasureDelayed&) {  // what is forgotten stays so
      if (!job.certificate.empty()) throw;
      forgotten["erasure_pending"] = true;
      return forgotten;
    }
  };
  return tool;
}

}  // namespace

std::vector<Tool> tools_of(const StoreAccess& access) {
  check_argument(access.certificates.empty() || fs::is_directory(access.certificates),
                 "'{}' is not a folder; certificates need one", access.certificates);
  const std::string& store = access.store;
  store::MemoStore{store};  // throws now, not at the first call
  std::vector<Tool> tools = {reading<jobs::Recall>(store),
                             reading<jobs::Ask>(store),
                             reading<jobs::Find>(store),
                             reading<jobs::Search>(store),
                             reading<jobs::Documents>(store, {.limit = kListed}),
                             reading<jobs::Show>(store),
                             reading<jobs::Stat>(store),
                             reading<jobs::Verify>(store),
                             memorizing(store),
                             forgetting(access)};
  if (access.read_only)
    std::erase_if(tools, [](const Tool& tool) { return tool.effect == Effect::kEdits; });
  return tools;
}

}  // namespace tessera::mcp
