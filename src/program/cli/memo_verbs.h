#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "program/cli/program.h"
#include "program/jobs/store_files.h"
#include "tessera/memo/text_memory_config.h"
#include "tessera/sampling/text_writer.h"
#include "tessera/store/question.h"

namespace tessera::cli {

/// The verbs below `tessera memo` that are more than a job and its answer; each adds its own.
void add_memo_memorize(Verb& memo);
void add_memo_update(Verb& memo);
void add_memo_forget(Verb& memo);
void add_memo_recall(Verb& memo);
void add_memo_ask(Verb& memo);

constexpr const char* kStoreFolder = "The store, a folder";  ///< help of the first argument

/// A command line that asks for a job on a store.
template <typename Job>
struct Command {
  std::string store;
  Job job;
  bool json = false;
};

/// Adds the verb of a job: the store, the job's fields, and --json with this help. run: what it
/// does with its command.
template <typename Asked, typename Run>
Verb& add_job_verb(Verb& memo, const std::shared_ptr<Asked>& command,
                   const std::vector<std::string_view>& arguments, const std::string& json, Run run,
                   const std::string& store = kStoreFolder) {
  using Job = decltype(command->job);
  Verb& verb = memo.verb(Job::kName, Job::kHelp);
  verb.option("store", command->store, store).required();
  verb.options(command->job, arguments);
  verb.flag("--json", command->json, json);
  verb.run([command, run] { run(*command); });
  return verb;
}

/// Says that a document is forgotten.
void print_forgotten(const jobs::Forget::Answer& answer, bool json);

/// How much of a long list is printed for people.
constexpr size_t kMostPrinted = 10;

/// "3 more documents (--json names all)" of a list of 13; "" of one that is printed as a whole.
std::string unprinted(size_t documents);

/// Says of documents whose files have other names than their ids what these are.
void say_renamed(const jobs::RenamedDocuments& renamed);

/// "0.0123"; "9.6e-08" of what four decimals would show as nothing.
std::string readable_error(double share);

/// "4.2 MB".
std::string readable_bytes(double bytes);

/// "dimension 1984", "16 matrices of dimension 1024".
std::string size_in_words(const memo::TextMemoryConfig& memory);

/// Warns of a store with this load, if it holds too much, errors of the estimate aside; whether it
/// does. what: it holds so many times the pairs that it can recall.
bool warned_of_overfull(const memo::TextMemoryConfig& memory, double load, std::string_view what);

/// The same of a store by what it holds now.
void warn_if_overfull(const std::filesystem::path& store, std::string_view what);

/// Says what size of a store `documents` needs and what it costs.
void print_plan(const std::string& documents, const memo::TextMemoryConfig& memory,
                const jobs::Create::Planned& plan);

/// Prints a text behind its prompt, as it comes, and how fast it came.
class Writing {
 public:
  /// visible: whether anything is printed on standard output. started: the text.
  Writing(const store::QuestionedStore& store, const store::Question& question, bool visible,
          std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now());

  void add(std::string_view text);
  /// Prints how many tokens there were, how fast they came and why they end, on standard error.
  void end(Finish end, size_t tokens);

 private:
  int64_t longest_;  // window
  bool visible_;
  TextOutput output_;
  std::chrono::steady_clock::time_point started_;
};

}  // namespace tessera::cli
