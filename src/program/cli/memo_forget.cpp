// tessera memo forget STORE ID…

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "program/cli/memo_verbs.h"
#include "program/cli/program.h"
#include "program/jobs/erase_job.h"
#include "tessera/base/error.h"
#include "tessera/base/interrupt.h"
#include "tessera/base/number.h"

namespace tessera::cli {
namespace {

/// Warns of documents that say the same and stay.
void warn_of_shared(const std::vector<store::SharedPassages>& shared) {
  for (size_t i = 0; i < std::min(kMostPrinted, shared.size()); ++i)
    say("tessera: warning: '{}' stays and has {} in the same passages of twelve words or more "
        "({:.1f} % of the forgotten words stand there), the first one to line {}\n",
        shared[i].document, counted(shared[i].words, "word"), 100 * shared[i].share,
        shared[i].line);
  if (const std::string rest = unprinted(shared.size()); !rest.empty())
    say("tessera: warning: so do {}\n", rest);
}

void print_list(const jobs::Erase::Answer& answer) {
  for (const jobs::Forget::Answer& one : answer.documents)
    fmt::print("{}: would be forgotten, {} tokens\n", one.document.id, one.document.tokens);
  if (answer.documents.empty()) say("no document matches\n");
}

void print_certificate(const jobs::Erase& job, const store::Certificate& certificate) {
  int64_t bytes = 0;
  for (const auto& file : certificate.files) bytes += file.bytes;
  fmt::print("{}: certificate{}; nothing found in {}, {}; as a page: {}\n", job.certificate,
             job.key.empty() ? "" : ", signed", counted(std::ssize(certificate.files), "file"),
             readable_bytes(static_cast<double>(bytes)), job.page().native());
}

/// What the job would say in the words of its fields.
void check_options(const jobs::Erase& job) {
  if (job.ids.empty() && job.containing.empty() && job.meta.empty())
    throw UsageError(
        "say what to forget: documents by their ids or globs such as 'letters/*', --containing "
        "TEXT or --meta KEY=VALUE");
  if (!job.key.empty() && job.certificate.empty())
    throw UsageError("--key signs a certificate, which --certificate FILE asks for");
}

void run_forget(const Command<jobs::Erase>& command) {
  check_options(command.job);
  const InterruptGuard interrupt;
  std::optional<JobBar> bar(jobs::Erase::kDoing);
  const jobs::Erase::OnNews on_news{[&](const jobs::Erase::Answer& answer) {
                                      bar->wipe();
                                      if (answer.dry_run && !command.json) print_list(answer);
                                      warn_of_shared(answer.shared);
                                    },
                                    [&](const jobs::Forget::Answer& answer) {
                                      bar->wipe();
                                      print_forgotten(answer, command.json);
                                    },
                                    [&](std::string_view doing) { bar.emplace(doing); }};
  const auto answer = command.job.run(command.store, on_news, std::ref(*bar));
  bar.reset();
  for (const auto& id : answer.forgotten_earlier)
    if (command.json && !answer.dry_run)
      print_json(jobs::Erase::Answer::json_of_earlier(id));
    else if (!answer.dry_run)
      fmt::print("{}: had been forgotten before; its text is erased now\n", id);
  if (command.json)
    print_json(answer.json());
  else if (answer.certificate)
    print_certificate(command.job, *answer.certificate);
}

}  // namespace

void print_forgotten(const jobs::Forget::Answer& answer, bool json) {
  if (json)
    print_json(answer.json());
  else
    fmt::print("{}: forgotten, {} tokens\n", answer.document.id, answer.document.tokens);
  std::fflush(stdout);
}

void add_memo_forget(Verb& memo) {
  add_job_verb(memo, std::make_shared<Command<jobs::Erase>>(), {"ids"},
               "Print one JSON object per document, and at the end one with the list of them, the "
               "documents that share passages, and the certificate",
               run_forget);
}

}  // namespace tessera::cli
