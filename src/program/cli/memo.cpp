// tessera memo: its verbs, and how the answers of those that are jobs are printed for people.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "program/cli/memo_verbs.h"
#include "program/cli/program.h"
#include "program/jobs/audit_job.h"
#include "program/jobs/erase_job.h"
#include "program/jobs/store_files.h"
#include "program/jobs/store_jobs.h"
#include "tessera/base/config.h"
#include "tessera/base/error.h"
#include "tessera/base/interrupt.h"
#include "tessera/base/number.h"
#include "tessera/report/table.h"
#include "tessera/store/certificate.h"
#include "tessera/store/memo_writer.h"

namespace tessera::cli {
namespace {

using config::Json;
using store::CertificateCheck;

/// What this work is done on: the store, opened, or its folder.
template <typename Job, typename Store>
Store opened(const std::string& folder,
             typename Job::Answer (Job::*)(const Store&, const OnProgress&) const) {
  return Store(folder);
}

/// Does the job, and shows how far it is.
template <typename Job>
typename Job::Answer answer_to(const Command<Job>& command) {
  const auto store = opened(command.store, &Job::run);
  const InterruptGuard interrupt;  // heard where the job tells how far it is
  std::string_view doing;
  if constexpr (requires { Job::kDoing; }) doing = Job::kDoing;
  JobBar bar(doing);
  return command.job.run(store, std::ref(bar));
}

/// Prints the answer to a command with `print` or as JSON.
template <typename Job, typename Print>
void print_answer(const Command<Job>& command, Print print) {
  const auto answer = answer_to(command);
  if (command.json)
    print_json(answer.json());
  else
    print(command, answer);
}

/// What a verb does that answers its command and no more.
template <typename Print>
auto answers(Print print) {
  return [print](const auto& command) { print_answer(command, print); };
}

/// The same of one that fills a whole store, and may overfill it.
template <typename Print>
auto answers_and_warns(Print print) {
  return [print](const auto& command) {
    print_answer(command, print);
    warn_if_overfull(command.store, "the store holds");
  };
}

/// Adds the verb of a job. `run`: what it does with its command, which answers it.
template <typename Job, typename Run>
Verb& add_job(Verb& memo, const std::vector<std::string_view>& arguments, Run run,
              const std::string& store = kStoreFolder) {
  return add_job_verb(memo, std::make_shared<Command<Job>>(), arguments,
                      "Print the answer as one JSON object", run, store);
}

/// Says that text of forgotten documents is still in the store's files, whose, and what erases it.
std::string erasure_note(const std::string& folder, const std::vector<std::string>& ids) {
  const store::MemoStore store(folder);
  std::vector<std::string> first;
  for (const std::string& id : std::span(ids).first(std::min(ids.size(), kMostPrinted)))
    first.push_back(fmt::format("'{}'{}", id, store.ledger().find(id) ? " (an earlier one)" : ""));
  const std::string rest = unprinted(ids.size());
  return fmt::format(
      "the text of {}{} is forgotten, but not erased from the store's files yet; the next command "
      "that writes to the store erases it, for example 'tessera memo verify --repair'",
      ids.empty() ? "some documents" : fmt::format("{}", fmt::join(first, ", ")),
      rest.empty() ? "" : " and " + rest);
}

/// Prints the text as it comes.
void complete(const Command<jobs::Complete>& command) {
  const store::MemoStore store(command.store);
  const store::Question question = command.job.question(store);
  const InterruptGuard interrupt;
  Writing writing(store, question, !command.json);
  const auto answer =
      command.job.run(store, question, [&](const Written& written) { writing.add(written.text); });
  writing.end(answer.finish, answer.tokens.size());
  if (command.json) print_json(answer.json());
  InterruptGuard::stop_if_interrupted("interrupted");
}

/// Line breaks and runs of white space as one space.
std::string one_line(const std::string& text) {
  std::string line;
  for (const char c : text) {
    const bool space = c == '\n' || c == '\r' || c == '\t' || c == ' ';
    if (!space || (!line.empty() && line.back() != ' ')) line += space ? ' ' : c;
  }
  return line;
}

void print_places(const Command<jobs::Find>& command, const jobs::Find::Answer& found) {
  for (const auto& match : found.shown)
    TextOutput().write(fmt::format(
        "{}:{}: {}{}{}\n", match.document, match.line, match.goes_on_before ? "…" : "",
        one_line(match.before + match.text + match.after), match.goes_on_after ? "…" : ""));
  say("{} in {}{}\n", counted(found.places, "place"), counted(found.documents, "document"),
      found.places > std::ssize(found.shown) ? "; --limit 0 prints all" : "");
}

void print_history(const Command<jobs::History>& command, const jobs::History::Answer& history) {
  for (const auto& event : history.events)
    fmt::print("{} forgotten: {} bytes, {} tokens, SHA-256 {}\n", event.value("time", ""),
               event.value("bytes", int64_t{0}), event.value("tokens", int64_t{0}),
               event.value("sha256", ""));
  if (!history.kept)
    say("the store keeps no history; 'tessera memo history {} --begin' begins one\n",
        command.store);
  else if (command.job.begin)
    say("the store keeps a history of what is forgotten\n");
  else if (history.events.empty())
    say("nothing was forgotten since the history was begun\n");
}

void print_passages(const Command<jobs::Search>& command, const jobs::Search::Answer& found) {
  for (const auto& passage : found.passages)
    TextOutput().write(fmt::format("{}:{}: {:.2f}  {}\n", passage.document, passage.line,
                                   passage.score, one_line(passage.marked)));
  say("{}\n", counted(std::ssize(found.passages), "passage"));
}

void print_text(const Command<jobs::Show>& command, const jobs::Show::Answer& document) {
  TextOutput output;
  output.write(document.text);
  if (TextOutput::is_terminal() && !document.text.ends_with('\n')) output.write("\n");
}

/// "2026-03-01 17:30" (UTC) of seconds since 1970; "-" of 0, where the time is not known.
std::string readable_time(int64_t seconds) {
  if (seconds == 0) return "-";
  std::string time = store::utc_time(seconds);
  time.resize(time.rfind(':'));
  return time.replace(time.find('T'), 1, " ");
}

std::string words_of(const store::Metadata& metadata) {
  std::vector<std::string> words;
  for (const auto& [key, value] : metadata) words.push_back(key + "=" + value);
  return fmt::format("{}", fmt::join(words, ", "));
}

void print_documents(const Command<jobs::Documents>& command, const jobs::Documents::Answer& list) {
  Table table("", {"document", "tokens", "pairs", "bytes", "memorized (UTC)", "metadata"});
  for (const auto& [document, details] : list.documents)
    table.add_row({document.id, document.tokens, document.pairs,
                   details.digest.empty() ? "-" : fmt::format("{}", details.bytes),
                   readable_time(details.memorized), words_of(details.metadata)});
  fmt::print("{}", table.text());
  if (list.has_more)
    say("{} of {}; to go on: --after '{}'\n", list.documents.size(),
        counted(list.total, "document"), list.documents.back().document.id);
  if (list.erasure_pending) say("tessera: {}\n", erasure_note(command.store, list.unerased));
}

void print_statistics(const Command<jobs::Stat>& command, const jobs::Stat::Answer& answer) {
  const store::StoreStatistics& store = answer.statistics;
  const auto lengths = memo::window_lengths(store.memory);
  const double capacity = store.fullness.capacity, filled = store.fullness.filled;
  fmt::print("{}: {} code, {}, windows of {} tokens, {}, seed {}\n", command.store,
             config::enum_name(store.memory.code), size_in_words(store.memory),
             fmt::join(lengths, ", "), store.tokenizer, store.memory.seed);
  fmt::print("  documents        {}\n  tokens           {}\n  pairs            {}\n",
             store.totals.documents, store.totals.tokens, store.totals.pairs);
  fmt::print("  load             {:.4f} of the {} pairs that are recalled with 99 %; room for {}\n",
             filled, static_cast<int64_t>(capacity),
             static_cast<int64_t>(std::max(0.0, (1 - filled) * capacity)));
  fmt::print("  expected recall ");
  for (size_t k = lengths.size(); k-- > 0;)
    fmt::print(" {:.4f} after {} tokens{}", store.fullness.expected_recall_after[k], lengths[k],
               k > 0 ? "," : "\n");
  if (answer.measured)
    fmt::print(
        "  measured recall  {:.4f}: the share of {} positions where the best token is the right "
        "one; at {:.4f} of them the evidence is too weak for a recital to begin\n",
        answer.measured->share_right(), answer.measured->positions,
        answer.measured->share_abstained());
  fmt::print("  digest           {}\n", store.digest);
  fmt::print("  on disk          {} matrix, {} ledger\n",
             readable_bytes(static_cast<double>(store.matrix_bytes)),
             readable_bytes(static_cast<double>(store.ledger_bytes)));
  if (store.erasure_pending)
    fmt::print("  not erased       {}\n", erasure_note(command.store, store.unerased));
}

void print_audit(const Command<jobs::Audit>& command, const jobs::Audit::Answer& answer) {
  std::vector<std::string> columns = {"text",       "held",           "document", "recalled",
                                      "extraction", "log-likelihood", "min-k"};
  if (answer.membership) columns.push_back("exposure (bits)");
  Table table("", columns);
  for (const auto& [name, document, audit, exposure] : answer.texts) {
    std::vector<Cell> row(columns.size(), Cell("-"));
    row[0] = name;
    if (!document.empty()) row[2] = document;
    if (audit) {
      row[1] = config::enum_name(audit->held());
      row[3] = Cell::fixed(audit->recalled, 4);
      row[4] = Cell::fixed(audit->extraction, 4);
      row[5] = Cell::fixed(audit->log_likelihood, 3);
      row[6] = Cell::fixed(audit->lowest, 3);
    }
    if (answer.membership && exposure) row.back() = Cell::fixed(*exposure, 2);
    table.add_row(std::move(row));
  }
  fmt::print("{}", table.text());
  if (answer.membership)
    fmt::print(
        "membership against {}: AUC {:.3f} by log-likelihood, {:.3f} by min-k; 0.5: nothing tells "
        "them apart\n",
        counted(std::ssize(answer.controls), "control"), answer.membership->by_likelihood,
        answer.membership->by_lowest);
}

void print_verification(const Command<jobs::Verify>& command, const jobs::Verify::Answer& answer) {
  const store::Verification& store = answer.result;
  fmt::print("{}: {}, {}, {} tokens, {} pairs, digest {}\n", command.store,
             store.erasure_pending ? "not verified" : "verified",
             counted(store.totals.documents, "document"), store.totals.tokens, store.totals.pairs,
             store.digest);
  if (store.log_bytes > 0)
    say("tessera: note: {}: SQLite's log, ledger.sqlite-wal, has {}: a command is writing or "
        "reading now, or one was killed and may have left text of a document that is not stored; "
        "the next command that writes to the store empties it, for example 'tessera memo verify "
        "--repair'\n",
        command.store, readable_bytes(static_cast<double>(store.log_bytes)));
}

void print_created(const Command<jobs::Create>& command, const jobs::Create::Answer& made) {
  const memo::TextMemoryConfig& memory = made.memory;
  if (made.plan) print_plan(command.job.plan_from, memory, *made.plan);
  fmt::print("{}: {} code, {} ({}), windows of {} tokens, {}, seed {}\n", command.store,
             config::enum_name(memory.code), size_in_words(memory),
             readable_bytes(static_cast<double>(made.numbers()) * sizeof(int32_t)),
             fmt::join(memo::window_lengths(memory), ", "), made.tokenizer, memory.seed);
}

void create(const Command<jobs::Create>& command) {
  const bool plans = !command.job.plan_from.empty();
  if (plans && !command.job.error)
    throw UsageError(
        "--plan-from needs --error, the share of tokens that may be recalled wrongly; for example "
        "--error 0.01");
  if (!plans && command.job.error)
    throw UsageError("--error needs --plan-from, a text or a folder of texts to plan for");
  print_answer(command, print_created);
}

void print_merged(const Command<jobs::Merge>& command, const jobs::Merge::Answer& made) {
  fmt::print("{}: {} of {}, {} tokens, {} pairs\n", command.store,
             counted(made.totals.documents, "document"), counted(made.stores, "store"),
             made.totals.tokens, made.totals.pairs);
}

void print_rebuilt(const Command<jobs::Rebuild>& command, const jobs::Rebuild::Answer& made) {
  fmt::print("{}: {}, {} tokens, {} pairs, {}\n", command.store,
             counted(made.totals.documents, "document"), made.totals.tokens, made.totals.pairs,
             made.tokenizer);
}

void print_exported(const Command<jobs::Export>& command, const jobs::Export::Answer& made) {
  fmt::print("{}: {}{}\n", made.file.native(),
             made.documents > 0 ? counted(made.documents, "document") + ", " : "",
             readable_bytes(static_cast<double>(made.bytes)));
  say_renamed(made.renamed);
}

void print_check(const std::string& certificate, const CertificateCheck& check) {
  using Signature = CertificateCheck::Signature;
  fmt::print("{}: erasure of {}, {}; {}; the store is {}\n", certificate, check.time,
             check.proves ? "nothing was found then" : "not complete then",
             check.signature == Signature::kNone    ? "not signed"
             : check.signature == Signature::kValid ? "signed by " + check.public_key
                                                    : "its signature is not valid",
             check.same_state ? "as it was after the erasure"
                              : "another since: documents were added, removed or replaced");
  for (const auto& id : check.held)
    fmt::print("{}: '{}' has the text of an erased document again\n", certificate, id);
}

/// Rebuilds the matrix from the documents in the ledger.
void repair(const std::string& store) {
  store::MemoWriter writer(store);
  JobBar bar("Rebuilding");
  writer.rebuild(std::ref(bar));
  writer.checkpoint();
}

void search(const Command<jobs::Search>& command) {
  if (!store::MemoStore(command.store).ledger().searchable())
    store::MemoWriter writer(command.store);  // indexes the documents of an earlier version
  print_answer(command, print_passages);
}

void add_verify(Verb& memo) {
  struct More {
    bool repairs = false;
    std::string certificate, public_key;
  };
  const auto more = std::make_shared<More>();
  Verb& verb = add_job<jobs::Verify>(memo, {}, [more](const auto& command) {
    if (more->repairs) repair(command.store);
    const jobs::Verify::Answer answer = answer_to(command);
    std::optional<CertificateCheck> check;
    if (!more->certificate.empty() && !answer.result.erasure_pending)
      check = store::check_certificate(store::MemoStore(command.store), more->certificate,
                                       more->public_key);
    if (command.json) {
      Json json = answer.json();
      if (check) json["certificate"] = json_of(*check);
      print_json(json);
    } else {
      print_verification(command, answer);
      if (check) print_check(more->certificate, *check);
    }
    if (answer.result.erasure_pending)
      throw std::runtime_error(erasure_note(command.store, answer.result.unerased));
    if (check && !check->holds()) throw std::runtime_error(more->certificate + " does not hold");
  });
  verb.flag("--repair", more->repairs, "First rebuild the matrix from the documents in the ledger");
  const auto certificate = verb.option(
      "--certificate", more->certificate,
      "Also check a certificate of 'tessera memo forget' against the store; status 1 if it fails");
  verb.option("--public-key", more->public_key,
              "File with the Ed25519 public key (PEM) whose signature the certificate must have")
      .needs(certificate);
}

}  // namespace

void add_memo(Verb& program) {
  Verb& memo = program.verb(
      "memo",
      "A memory of documents: recites them, names the source of each token, forgets exactly");
  add_job<jobs::Create>(memo, {}, create, "The folder to create");
  add_memo_memorize(memo);
  add_memo_update(memo);
  add_memo_recall(memo);
  add_memo_ask(memo);
  add_job<jobs::Complete>(memo, {}, complete);
  add_job<jobs::Find>(memo, {"text"}, answers(print_places));
  add_job<jobs::Search>(memo, {"words"}, search);
  add_memo_forget(memo);
  add_job<jobs::History>(memo, {}, answers(print_history));
  add_job<jobs::Audit>(memo, {"files"}, answers(print_audit));
  add_job<jobs::Documents>(memo, {}, answers(print_documents));
  add_job<jobs::Show>(memo, {"id"}, answers(print_text));
  add_job<jobs::Stat>(memo, {}, answers(print_statistics));
  add_verify(memo);
  add_job<jobs::Rebuild>(memo, {}, answers_and_warns(print_rebuilt));
  add_job<jobs::Merge>(memo, {"stores"}, answers_and_warns(print_merged), "The folder to create");
  add_job<jobs::Export>(memo, {}, answers(print_exported));
}

}  // namespace tessera::cli
