// tessera inspect --model DIR --text TEXT

#include "tessera/infer/inspection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "program/cli/program.h"
#include "program/model_cli/model_verbs.h"
#include "program/model_jobs/model_jobs.h"
#include "tessera/base/config.h"
#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/base/interrupt.h"
#include "tessera/base/utf8.h"
#include "tessera/infer/model_folder.h"
#include "tessera/report/table.h"
#include "tessera/report/text.h"
#include "tessera/tensor/device.h"

namespace tessera::cli {
namespace {

constexpr size_t kSnippetTokens = 6;  // shown before the place of a memory

struct InspectArguments {
  std::string model, file, page, device = "cpu";
  jobs::Inspect job = {.options = {.memories = 10}};
  bool json = false, slots = false;
};

/// A part of a logit, and its row of a table behind the logit.
struct Part {
  double logit;
  std::vector<Cell> row;
};

/// Prints the `count` parts that added most to the logit or took most from it, first.
void print_strongest(Table table, std::vector<Part> parts, size_t count) {
  std::ranges::stable_sort(parts, std::greater(),
                           [](const Part& part) { return std::abs(part.logit); });
  parts.resize(std::min(count, parts.size()));
  for (Part& part : parts) {
    part.row.insert(part.row.begin(), Cell::fixed(part.logit, 4));
    table.add_row(std::move(part.row));
  }
  fmt::print("{}", table.text());
}

/// "short-term ", "long-term ", or nothing where there is one memory.
std::string prefix_of(MemoryTier tier) {
  return tier == MemoryTier::kShortTerm  ? "short-term "
         : tier == MemoryTier::kLongTerm ? "long-term "
                                         : "";
}

/// The number of a head, from 1 on, within its tier.
Cell name_of_head(const BlockInspection& block, size_t head) {
  const MemoryTier tier = block.heads[head].tier;
  const auto number = 1 + std::count_if(block.heads.begin(), block.heads.begin() + head,
                                        [&](const auto& other) { return other.tier == tier; });
  if (tier == MemoryTier::kOnly) return number;
  return fmt::format("{}{}", prefix_of(tier), number);
}

/// What the memories added, by tier.
std::map<MemoryTier, double> from_memories(const Inspection& inspection) {
  std::map<MemoryTier, double> sums;
  for (const auto& block : inspection.blocks)
    for (const auto& head : block.heads) sums[head.tier] += head.logit;
  return sums;
}

double from_units(const Inspection& inspection) {
  double sum = 0;
  for (const auto& block : inspection.blocks) sum += block.unit_logit;
  return sum;
}

/// What stands behind the heads in the blocks of this model.
std::string units_of(const Inspection& inspection) {
  return inspection.blocks.front().unit == BlockUnit::kPersistentMemory ? "persistent memories"
                                                                        : "feed-forward layers";
}

/// The tokens of a text, and how they are shown.
class InspectedText {
 public:
  InspectedText(const ModelFolder& folder, Tokens tokens)
      : folder_(folder), tokens_(std::move(tokens)) {}

  std::string shown(int64_t token) const { return printable_text(folder_.text_of({token})); }

  /// In quotes, line ends as \n.
  std::string quoted(int64_t token) const {
    std::string result = "\"";
    for (const char c : shown(token)) result += c == '\n' ? "\\n" : std::string(1, c);
    return result + "\"";
  }

  /// Tokens on one line, in brackets the last one and the next, which the pair's value has seen.
  std::string place(std::span<const int64_t> before, int64_t token,
                    std::optional<int64_t> next) const {
    std::string text;
    for (const int64_t earlier : before) text += shown(earlier);
    text += "[" + shown(token) + "]";
    if (next) text += " -> [" + shown(*next) + "]";
    std::ranges::replace(text, '\n', ' ');
    return text;
  }
  /// The same of the tokens up to `position`.
  std::string place(int64_t position) const {
    const int64_t first = std::max<int64_t>(0, position - kSnippetTokens);
    std::optional<int64_t> next;
    if (position + 1 < std::ssize(tokens_)) next = tokens_[position + 1];
    return (first > 0 ? "…" : "") +
           place(std::span(tokens_).subspan(first, position - first), tokens_[position], next);
  }

 private:
  const ModelFolder& folder_;
  Tokens tokens_;
};

std::string percent(double log_probability) {
  return fmt::format("{:.2f} %", 100 * std::exp(log_probability));
}

void print_memories(const Inspection& inspection, const InspectedText& text, size_t count) {
  std::vector<Part> parts;
  for (size_t layer = 0; layer < inspection.blocks.size(); ++layer)
    for (size_t head = 0; head < inspection.blocks[layer].heads.size(); ++head)
      for (const MemoryShare& share : inspection.blocks[layer].heads[head].memories)
        parts.push_back(
            {share.logit,
             {Cell::fixed(share.weight, 4), layer + 1, name_of_head(inspection.blocks[layer], head),
              share.position, text.place(share.position)}});
  print_strongest(
      Table("Memories of this text that count most",
            {"logit", "weight", "layer", "head", "position", "stored at -> what came next"}),
      std::move(parts), count);
}

void print_slots(const Inspection& inspection, const InspectedText& text,
                 const SlotReaders* readers, size_t count) {
  std::vector<Part> parts;
  for (size_t layer = 0; layer < inspection.blocks.size(); ++layer)
    for (const SlotShare& share :
         inspection.blocks[layer].slots.value_or(std::vector<SlotShare>())) {
      parts.push_back(
          {share.logit, {Cell::fixed(share.weight, 4), layer + 1, share.head + 1, share.slot}});
      if (!readers) continue;
      const auto read = readers->of(layer, share.head, share.slot);
      parts.back().row.push_back(
          read.empty() ? ""
                       : text.place(read.front().before, read.front().token, read.front().next));
    }
  if (parts.empty()) return;
  std::vector<std::string> columns = {"logit", "weight", "layer", "head", "slot"};
  if (readers) columns.push_back("used most at -> what came next");
  fmt::print("\n");
  print_strongest(Table("Learned slots that count most", columns), std::move(parts), count);
  if (!readers)
    fmt::print(
        "\nWhere these slots are used most: tessera inspect --slots, with the training text.\n");
}

void print_inspection(const Inspection& inspection, const InspectedText& text,
                      const SlotReaders* readers, size_t memories) {
  fmt::print("Read up to position {}: {}\n", inspection.position, text.place(inspection.position));
  fmt::print("Next token {}: {}, logit {:.4f}\n", text.quoted(inspection.token),
             percent(inspection.log_probability), inspection.logit);
  std::string expected;
  for (const TokenChoice& choice : inspection.alternatives)
    expected += fmt::format("{}{} {}", expected.empty() ? "" : ", ", text.quoted(choice.token),
                            percent(choice.log_probability));
  fmt::print("Most probable: {}\n\n", expected);

  Table parts("What the logit is made of", {"part", "logit"});
  parts.add_row({"embedding of the token before it", Cell::fixed(inspection.embedding, 4)});
  for (const auto& [tier, logit] : from_memories(inspection))
    parts.add_row({prefix_of(tier) + "memories of this text", Cell::fixed(logit, 4)});
  parts.add_row({units_of(inspection), Cell::fixed(from_units(inspection), 4)});
  if (inspection.biases != 0) parts.add_row({"biases", Cell::fixed(inspection.biases, 4)});
  fmt::print("{}\n", parts.text());

  print_memories(inspection, text, memories);
  print_slots(inspection, text, readers, memories);
}

void measure_slots(const InspectArguments& options, const ModelFolder& folder) {
  const std::filesystem::path file = std::filesystem::path(options.model) / SlotReaders::kFile;
  check_writable(file);
  const InterruptGuard interrupt;
  JobBar bar("Reading");
  const auto readers =
      SlotReaders::measure(*folder.model, folder.encode(options.job.text), std::ref(bar));
  bar.wipe();
  readers.save(options.model);
  fmt::print("{}: for each of {} slots the tokens of the text that read it most\n", file.native(),
             readers.slots());
}

void write_page(const InspectArguments& options, const ModelFolder& folder) {
  check_writable(options.page);
  const InterruptGuard interrupt;
  const jobs::InspectionPage job{options.job.text, options.model};
  JobBar bar(jobs::InspectionPage::kDoing);
  const auto page = job.run(folder, std::ref(bar));
  write_file(options.page, page.html);
  fmt::print("{}: {} tokens\n", options.page, page.tokens);
}

/// Throws DataError on a file that is empty or is no text.
std::string text_of_file(const std::string& file) {
  std::string text = read_file(file);
  if (text.empty()) throw DataError(file, "is empty");
  utf8::check_text(text, file);
  return text;
}

void run_inspect(InspectArguments& options) {
  if (options.file.empty() && options.job.text.empty()) throw UsageError("give --text or --file");
  jobs::Inspect plain = InspectArguments().job;
  plain.text = options.job.text;
  if ((options.slots || !options.page.empty()) &&
      config::to_json(options.job) != config::to_json(plain))
    throw UsageError(
        "--page and --slots are about every token of the text: leave out --position, --token, "
        "--memories and --alternatives");
  check_not_input("--page", options.page, {options.file});
  const ModelFolder folder = ModelFolder::load(
      options.model, {.weights = ops::WeightType::kFloat32, .device = options.device});
  jobs::Inspect& job = options.job;
  const auto encode = [&] { folder.encode(job.text); };
  if (options.file.empty()) {
    jobs::on_given_text(encode, "--text: ");
  } else {
    job.text = text_of_file(options.file);
    saying_source(options.file, encode);
  }
  jobs::on_given_text([&] { folder.encode(job.token); }, "--token: ");
  if (options.slots) return measure_slots(options, folder);
  if (!options.page.empty()) return write_page(options, folder);
  const auto answer = job.run(folder, [](int64_t, int64_t) {});
  if (options.json)
    print_json(answer.json());
  else
    print_inspection(answer.inspection, InspectedText(folder, answer.tokens),
                     folder.slot_readers.get(), job.options.memories);
}

}  // namespace

void add_inspect(Verb& program) {
  auto options = std::make_shared<InspectArguments>();
  Verb& verb = program.verb(jobs::Inspect::kName, jobs::Inspect::kHelp);
  verb.option("--model", options->model, "Model directory").required();
  verb.option("--device", options->device, option_help(kDeviceHelp));
  Option text = verb.options(options->job).front();
  text.required(false);
  verb.option("--file", options->file, "The text, from a file").excludes(text);
  const Option json = verb.flag(
      "--json", options->json, "Print a JSON object: every layer and head, each with its memories");
  const Option page =
      verb.option("--page", options->page,
                  "Write an HTML page on which every token of the text shows its memories")
          .excludes(json);
  verb.flag(
          "--slots", options->slots,
          "Find the tokens of the text that read each learned slot most, and save them beside the "
          "model, where inspect and serve find them; give text that the model was trained on")
      .excludes(json)
      .excludes(page);
  verb.run([options] { run_inspect(*options); });
}

}  // namespace tessera::cli
