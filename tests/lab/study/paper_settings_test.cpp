// What `tessera study ID --paper` takes is what the papers and their code say.

#include <gtest/gtest.h>

#include <string>

#include "lab/study/study.h"

namespace tessera {
namespace {

/// The value of a setting with --paper, as `tessera study ID --help` prints it.
std::string paper_value(const std::string& study, const std::string& setting) {
  const std::string text = "\n" + describe_settings(find_study(all_studies(), study));
  const std::string name = "\n  " + setting + " = ", paper = ", paper ";
  const size_t found = text.find(name);
  if (found == text.npos) return "no such setting";
  const size_t begin = found + name.size();
  const std::string line = text.substr(begin, text.find('\n', begin) - begin);
  const size_t of_paper = line.find(paper);
  if (of_paper == line.npos) return line.substr(0, line.find(' '));
  const size_t value = of_paper + paper.size();
  return line.substr(value, line.find(')', value) - value);
}

struct PaperSetting {
  const char* study;
  const char* setting;
  const char* value;
};

constexpr PaperSetting kPaperSettings[] = {
    // Le et al. 2020, section 3.2 and appendix F; the optimiser is that of their code
    {"stm/copy", "task.bits", "32"},
    {"stm/copy", "task.max_length", "20"},
    {"stm/copy", "stm.slots", "8"},
    {"stm/copy", "stm.width", "96"},
    {"stm/copy", "stm.distilled", "96"},
    {"stm/copy", "baselines.lstm.hidden", "512"},
    {"stm/copy", "train.steps", "50000"},
    {"stm/copy", "train.batch", "128"},
    {"stm/copy", "train.optimizer", "\"rmsprop\""},
    {"stm/copy", "train.learning_rate", "0.0001"},
    {"stm/copy", "train.smoothing", "0.95"},
    {"stm/copy", "train.clip_value", "10.0"},
    {"stm/relational-recall", "task.bits", "32"},
    {"stm/relational-recall", "task.fixed", "3"},
    {"stm/relational-recall", "task.min_drawn", "2"},
    {"stm/relational-recall", "task.max_drawn", "5"},
    {"stm/nth-farthest", "task.vectors", "8"},
    {"stm/nth-farthest", "task.dimension", "16"},
    {"stm/nth-farthest", "train.batch", "1600"},
    {"stm/babi", "model.slots", "20"},
    {"stm/babi", "model.width", "90"},
    {"stm/babi", "train.learning_rate", "0.0006"},
    // Zhang et al. 2024, appendices
    {"memory-mosaics/language-model", "layers", "12"},
    {"memory-mosaics/language-model", "heads", "12"},
    {"memory-mosaics/language-model", "channels", "768"},
    {"memory-mosaics/language-model", "window", "512"},
    {"memory-mosaics/language-model", "parameterisation", "\"paper\""},
    {"memory-mosaics/language-model", "train.steps", "80000"},
    {"memory-mosaics/language-model", "train.accumulation", "64"},
    {"memory-mosaics/language-model", "train.learning_rate", "0.005"},
    {"memory-mosaics/language-model", "train.min_learning_rate", "0.0001"},
    {"memory-mosaics/language-model", "train.warmup_steps", "2000"},
    {"memory-mosaics/three-moons", "sequences", "512"},
    {"memory-mosaics/three-moons", "stride", "1"},
    {"memory-mosaics/regbench", "search.layers", "[2,4,8]"},
    {"memory-mosaics/regbench", "search.channels", "[64,128,256]"},
    {"memory-mosaics/regbench", "search.weight_decay", "[0.01,0.1]"},
    // Arora et al. 2023, figure 2
    {"benchmarks/mqar", "filler", "\"zero\""},
    {"benchmarks/mqar", "heads", "1"},
    {"benchmarks/mqar", "train.weight_decay", "0.1"},
    // Cabannes et al. 2024, figure 4
    {"scaling-laws/fig4", "inputs", "100"},
    {"scaling-laws/fig4", "outputs", "5"},
};

TEST(PaperSettings, AreThosePublished) {
  for (const auto& [study, setting, value] : kPaperSettings)
    EXPECT_EQ(paper_value(study, setting), value) << study << " " << setting;
}

}  // namespace
}  // namespace tessera
