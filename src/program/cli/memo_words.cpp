// What several verbs of tessera memo share.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "program/cli/memo_verbs.h"
#include "program/cli/program.h"
#include "tessera/base/number.h"
#include "tessera/store/memo_store.h"

namespace tessera::cli {
namespace {

std::string readable_seconds(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", std::max(1.0, seconds));
  return seconds < 5400 ? fmt::format("{:.0f} min", seconds / 60)
                        : fmt::format("{:.1f} h", seconds / 3600);
}

}  // namespace

std::string unprinted(size_t documents) {
  if (documents <= kMostPrinted) return "";
  return counted(static_cast<int64_t>(documents - kMostPrinted), "more document") +
         " (--json names all)";
}

void say_renamed(const jobs::RenamedDocuments& renamed) {
  for (const auto& [id, file] : renamed)
    say("'{}' is written to {}: its id cannot be the name of its file\n", id, file.native());
}

std::string readable_error(double share) {
  return share > 0 && share < 0.00005 ? fmt::format("{:.1e}", share) : fmt::format("{:.4f}", share);
}

std::string readable_bytes(double bytes) {
  const char* units[] = {"bytes", "kB", "MB", "GB", "TB"};
  size_t unit = 0;
  for (; bytes >= 1000 && unit < 4; ++unit) bytes /= 1000;
  return fmt::format("{:.{}f} {}", bytes, unit == 0 ? 0 : 1, units[unit]);
}

std::string size_in_words(const memo::TextMemoryConfig& memory) {
  const std::string dimension = fmt::format("dimension {}", memory.dimension);
  return memory.shards == 1 ? dimension
                            : fmt::format("{} matrices of {}", memory.shards, dimension);
}

bool warned_of_overfull(const memo::TextMemoryConfig& memory, double load, std::string_view what) {
  constexpr double kErrorOfEstimate = 0.05;
  if (load < 1 + kErrorOfEstimate) return false;
  const double dimension = std::sqrt(load) * static_cast<double>(memory.dimension);
  say("tessera: warning: {} about {:.1f} times as many pairs as it can recall with 99 % accuracy; "
      "a dimension of {:.0f} would hold them\n",
      what, load, 64 * std::ceil(dimension / 64));
  return true;
}

void warn_if_overfull(const std::filesystem::path& store, std::string_view what) {
  const store::MemoStore opened(store);
  warned_of_overfull(opened.config().memory, store::fullness_of(opened.memory()).filled, what);
}

void print_plan(const std::string& documents, const memo::TextMemoryConfig& memory,
                const jobs::Create::Planned& plan) {
  const memo::SizePlan& size = plan.size;
  fmt::print("{}: {} pairs of a window and its next token\n", documents, size.associations);
  fmt::print("  {} {} it with a predicted error of {} ± {} ({} positions)\n", size_in_words(memory),
             memory.shards == 1 ? "recalls" : "recall", readable_error(size.error),
             readable_error(size.standard_error), size.probes);
  fmt::print(
      "  lower bound at any dimension: {} (identical windows followed by different tokens)\n",
      readable_error(size.error_in_any_dimension));
  fmt::print("  to memorize it: about {}, {} of memory, {} on disk (a full-text index alone: {})\n",
             readable_seconds(plan.cost.seconds), readable_bytes(plan.cost.memory_bytes),
             readable_bytes(plan.cost.disk_bytes), readable_bytes(plan.cost.index_bytes));
}

Writing::Writing(const store::QuestionedStore& store, const store::Question& question, bool visible,
                 std::chrono::steady_clock::time_point started)
    : longest_(memo::window_lengths(store.config().memory).back()),
      visible_(visible),
      started_(started) {
  if (question.differences > 0)
    say("read as the stored text that differs in {}\n", counted(question.differences, "word"));
  if (visible_) output_.write(question.text);
}

void Writing::add(std::string_view text) {
  if (!visible_) return;
  output_.write(text);
  std::fflush(stdout);
}

void Writing::end(Finish end, size_t tokens) {
  using Seconds = std::chrono::duration<double>;
  const double seconds = Seconds(std::chrono::steady_clock::now() - started_).count();
  if (visible_) output_.write("\n");
  std::fflush(stdout);  // what follows goes another way
  std::string why;
  if (end == Finish::kEndOfText) why = "; the document ends here";
  if (end == Finish::kNotStored) why = "; no stored document continues this";
  if (end == Finish::kNotStored && tokens == 0)
    why += fmt::format(
        " with enough certainty; prompts of {} tokens or more match best, and recall --error-rate "
        "0.1 accepts weaker matches",
        longest_);
  say("{} tokens, {:.1f} tokens/s{}\n", tokens, static_cast<double>(tokens) / seconds, why);
}

}  // namespace tessera::cli
