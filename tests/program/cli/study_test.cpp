// tessera study.

#include "tests/program/cli/tessera_program.h"

namespace tessera::cli {
namespace {

using ::testing::HasSubstr;

class StudyVerb : public Workplace {
 protected:
  Outcome language_models(const Arguments& settings) const {
    return tessera(
        joined({"study", "memory-mosaics/language-model", "--quick", "--out", path("study"),
                "--set", "data.text=" + path("text.txt"), "data.tokenizer=byte", "window=32",
                "channels=16", "heads=2", "layers=1", "train.batch=4", "train.evaluate_batches=2"},
               settings));
  }
};

TEST_F(StudyVerb, ListsEveryStudyWithItsPaper) {
  const Outcome list = tessera({"study", "--list"});
  EXPECT_EQ(list.status, 0);
  EXPECT_EQ(list.err, "");
  for (const char* id : {"memory-mosaics/language-model", "scaling-laws/fig1"})
    EXPECT_THAT(list.out, HasSubstr(id));
  const Outcome json = tessera({"study", "--list", "--json"});
  EXPECT_THAT(json.out, HasSubstr("\"id\": \"scaling-laws/fig1\""));
  expect_refused(tessera({"study", "scaling-laws/fig1", "--json"}), 2, "--json goes with --list");
  expect_refused(tessera({"study"}), 2, "tessera study --list");
}

TEST_F(StudyVerb, LeavesItsFilesAndGoesOnWhenCalledAgain) {
  const Outcome first = language_models({"train.steps=20"});
  ASSERT_EQ(first.status, 0) << first.err;
  EXPECT_THAT(first.out, HasSubstr("published"));
  EXPECT_THAT(first.out, HasSubstr("Report: " + path("study/report.html")));
  for (const char* file :
       {"results.csv", "report.html", "config.toml", "manifest.json", "losses.csv", "loss.svg",
        "memory_mosaic/model/model.safetensors", "gpt/model/model.safetensors"})
    EXPECT_TRUE(std::filesystem::exists(path("study/" + std::string(file)))) << file;
  EXPECT_THAT(read_file(path("study/results.csv")),
              ::testing::StartsWith("series,x,y,spread,published"));

  const std::string log = read_file(path("study/memory_mosaic/metrics.jsonl"));
  const Outcome again = language_models({"train.steps=20"});
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(read_file(path("study/memory_mosaic/metrics.jsonl")), log) << "it trained anew";
  EXPECT_EQ(again.out, first.out);

  const std::string results = read_file(path("study/results.csv"));
  expect_refused(language_models({"train.steps=20", "channels=32"}), 2,
                 "began with settings.channels = 16, now it is 32");
  EXPECT_EQ(read_file(path("study/results.csv")), results);
}

TEST_F(StudyVerb, FinishesThePictureAtCtrlC) {
  // Instead of the converter: presses Ctrl-C for the whole process group, then writes the picture.
  std::filesystem::create_directory(path("bin"));
  write_text(path("bin/rsvg-convert"),
             "#!/bin/sh\n"
             "[ \"$1\" = --version ] && exit 0\n"
             "kill -INT -$(cut -d ' ' -f 5 /proc/$PPID/stat)\n"
             "sleep 0.1\n"
             "while [ \"$1\" != --output ]; do shift; done\n"
             "echo whole > \"$2\"\n");
  std::filesystem::permissions(path("bin/rsvg-convert"), std::filesystem::perms::owner_all);
  const Arguments study =
      joined({"/usr/bin/setsid", "--wait"},  // a process group without this test
             command_line({"study", "scaling-laws/fig2", "--quick", "--png", "--pdf", "--out",
                           path("study")}));
  const Outcome stopped =
      Process(study, {.environment = {{"PATH", path("bin") + ":" + std::getenv("PATH")}}}).wait();
  EXPECT_EQ(stopped.status, 130) << stopped.err;
  EXPECT_THAT(stopped.err, HasSubstr("interrupted; the results and the SVG pictures are in"));
  EXPECT_THAT(stopped.out, HasSubstr("Report: " + path("study/report.html")));
  EXPECT_EQ(read_file(path("study/interference.png")), "whole\n");
  for (const auto& file : std::filesystem::directory_iterator(path("study")))
    EXPECT_NE(file.path().extension(), ".new") << file.path();
}

TEST_F(StudyVerb, HelpShowsTheSettingsOfAStudyAtItsSizes) {
  const Outcome help = tessera({"study", "memory-mosaics/language-model", "--help"});
  EXPECT_EQ(help.status, 0) << help.err;
  EXPECT_THAT(help.out,
              ::testing::ContainsRegex("  channels = [0-9]+ \\(quick [0-9]+, paper [0-9]+\\) "));
  EXPECT_THAT(help.out, HasSubstr("  data.text = \"\""));
  EXPECT_THAT(tessera({"study", "--help"}).out, HasSubstr("tessera study ID --help"));
  expect_refused(tessera({"study", "scaling-laws/fig99", "--help"}), 2, "did you mean");
  for (const char* setting : {"colour=3", "data.colour=3"})
    expect_refused(language_models({setting}), 2, "unknown key 'colour'; there are ");
}

TEST_F(StudyVerb, AsksTrainedModelsAboutStories) {
  const auto prompts = [&](const Arguments& settings, const std::string& folder) {
    return tessera(joined(
        {"study", "memory-mosaics/prompts", "--quick", "--out", path(folder), "--set"}, settings));
  };
  const Arguments tiny = {"data.stories=40",
                          "data.tokenizer=byte",
                          "window=32",
                          "channels=16",
                          "heads=2",
                          "layers=1",
                          "train.batch=4",
                          "train.steps=4",
                          "questions=2",
                          "tokens=3",
                          "train.evaluate_batches=1"};
  const Outcome trained = prompts(tiny, "study");
  ASSERT_EQ(trained.status, 0) << trained.err;
  EXPECT_THAT(trained.out, HasSubstr("Questions answered rightly"));
  EXPECT_THAT(read_file(path("study/prompts.csv")), HasSubstr("Diva was hungry"));
  EXPECT_EQ(prompts(tiny, "study").out, trained.out);

  // The models that are there give the same answers.
  const Outcome given = prompts({"mosaic=" + path("study/memory_mosaic/model"),
                                 "gpt=" + path("study/gpt/model"), "questions=2", "tokens=3"},
                                "given");
  ASSERT_EQ(given.status, 0) << given.err;
  EXPECT_EQ(read_file(path("given/questions.csv")), read_file(path("study/questions.csv")));
  EXPECT_EQ(read_file(path("given/prompts.csv")), read_file(path("study/prompts.csv")));
  EXPECT_FALSE(std::filesystem::exists(path("given/corpus")));
}

TEST_F(StudyVerb, CountsStories) {
  done({"study", "memory-mosaics/stories", "--quick", "--out", path("study"), "--set",
        "data.stories=60", "data.vocabulary=400", "validation_stories=10"});
  EXPECT_THAT(read_file(path("study/table-1.csv")), HasSubstr("train,stories,2200000,60\n"));
}

}  // namespace
}  // namespace tessera::cli
