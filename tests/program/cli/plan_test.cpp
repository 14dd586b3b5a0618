#include <nlohmann/json.hpp>
#include <string>

#include "tessera/base/config.h"
#include "tests/program/cli/tessera_program.h"

namespace tessera::cli {
namespace {

using ::testing::HasSubstr;

class Plan : public Workplace {
 protected:
  static std::string plan(const Arguments& arguments) { return done(joined({"plan"}, arguments)); }

  std::string file_with(const std::string& name, const std::string& content) const {
    write_text(path(name), content);
    return path(name);
  }
};

TEST_F(Plan, SizesAMemoryForAnError) {
  const auto result = config::Json::parse(plan({"--alpha", "2", "--inputs", "1000", "--outputs",
                                                "5", "--error", "0.02", "--runs", "20", "--json"}));
  EXPECT_LE(result["predicted_error"].get<double>(), 0.02);
  EXPECT_GT(result["dimension"].get<int>(), 50);
  EXPECT_NEAR(result["simulated"]["predicted_over_simulated"].get<double>(), 1.1, 0.2);
  EXPECT_EQ(result["schemes"].size(), 5u);
}

TEST_F(Plan, SaysWhatADimensionHolds) {
  Arguments asked = {"--alpha", "2",           "--inputs", "100000", "--outputs",
                     "5",       "--dimension", "100",      "--runs", "0"};
  const std::string all = plan(asked);
  EXPECT_THAT(all, HasSubstr("d = 100 (10000 numbers)"));
  EXPECT_THAT(all, HasSubstr("associations at an error of 0.01 each"));
  asked.push_back("--error-only");
  const std::string error_only = plan(asked);
  EXPECT_EQ(error_only, all.substr(0, all.find("\nPredicted error of each scheme")));
  EXPECT_THAT(error_only, HasSubstr("predicted error"));
}

TEST_F(Plan, ShowsAnErrorBelowFourDecimals) {
  EXPECT_THAT(plan({"--alpha", "1.5", "--inputs", "100", "--outputs", "5", "--error", "1e-7",
                    "--runs", "0", "--error-only"}),
              ::testing::ContainsRegex("predicted error     [1-9].[0-9]e-0[78] "));
}

TEST_F(Plan, SaysHowPreciseItsSimulationIs) {
  const Arguments asked = {"--alpha", "2", "--inputs", "100", "--outputs", "5", "--error", "0.1"};
  EXPECT_THAT(plan(asked), HasSubstr("standard error"));
  EXPECT_THAT(plan(joined(asked, {"--runs", "0"})), HasSubstr("no: --runs is 0"));
  // A single association is never misread: no error in any run, and no ratio to it.
  const Arguments single = {"--alpha", "2",           "--inputs", "1",      "--outputs",
                            "2",       "--dimension", "50",       "--runs", "5"};
  EXPECT_THAT(plan(single), HasSubstr("none of them made an error"));
  const auto json = config::Json::parse(plan(joined(single, {"--json"})));
  EXPECT_TRUE(json["simulated"]["predicted_over_simulated"].is_null());
}

TEST_F(Plan, ReadsCounts) {
  const std::string counts = file_with("counts.txt", "the\t50\nof\t20\nand\t10\n");
  EXPECT_THAT(plan({"--counts", counts, "--outputs", "2", "--error", "0.05"}),
              HasSubstr("counts of " + counts + ", 3 inputs, 2 outputs\n"));
}

/// Without making a store.
TEST_F(Plan, OfATextIsThatOfCreate) {
  const std::string planned =
      plan({"--text", path("text.txt"), "--tokenizer", "byte", "--error", ".3"});
  const std::string made = done({"memo", "create", path("store"), "--plan-from", path("text.txt"),
                                 "--tokenizer", "byte", "--error", ".3"});
  const auto sizes = [](const std::string& out) {
    return out.substr(0, out.find("  to memorize it"));
  };
  EXPECT_THAT(planned, HasSubstr("predicted error"));
  EXPECT_EQ(sizes(planned), sizes(made));
  const std::string wide =
      plan({"--text", path("text.txt"), "--tokenizer", "byte", "--dimension", "512", "--json"});
  EXPECT_EQ(config::Json::parse(wide)["dimension"], 512);
}

TEST_F(Plan, RefusesWithTheReason) {
  const auto of_law = [](const Arguments& more) {
    return joined({"plan", "--alpha", "2", "--inputs", "9"}, more);
  };
  const auto of_text = [](const std::string& file, const std::string& option) {
    return Arguments{"plan", "--text", file, "--error", ".1", option};
  };
  const std::string junk = file_with("junk.txt", "the\t5\nof\tx\n");
  const std::string other_law = "--error-only go with --alpha or --counts";
  expect_all_refused(
      {{{"plan", "--alpha", "0", "--inputs", "9", "--outputs", "5", "--error", ".1"},
        "--alpha is '0', expected a number above 0"},
       {{"plan", "--alpha", "2", "--inputs", "0", "--outputs", "5", "--error", ".1"},
        "--inputs is '0', expected a whole number from 1"},
       {of_law({"--outputs", "0", "--error", ".1"}),
        "--outputs is '0', expected a whole number from 1"},
       {of_law({"--outputs", "5", "--dimension", "1"}), "expected a whole number from 2"},
       {of_law({"--outputs", "5", "--error", "2"}), "expected a number above 0, below 1"},
       {of_law({"--outputs", "5"}), "either --error"},
       {of_law({"--outputs", "5", "--matrices", "2"}), "--matrices requires --text"},
       {{"plan", "--outputs", "5", "--error", ".1"}, "one of --alpha"},
       {of_text(junk, "--outputs=5"), other_law},
       {of_text(junk, "--runs=3"), other_law},
       {of_text(junk, "--seed=3"), other_law},
       {of_text(junk, "--error-only"), other_law}},
      2);
  expect_refused(tessera({"plan", "--counts", junk, "--outputs", "5", "--error", ".1"}), 3,
                 "line 2");
  expect_refused(tessera(of_text(file_with("empty.txt", ""), "--tokenizer=byte")), 3, "is empty");
}

}  // namespace
}  // namespace tessera::cli
