#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tessera/base/config.h"
#include "tests/program/cli/tessera_program.h"

namespace tessera::cli {

constexpr const char* kRaven =
    "Once upon a midnight dreary, while I pondered, weak and weary,\n"
    "Over many a quaint and curious volume of forgotten lore.\n";
constexpr const char* kLamb = "Little Lamb who made thee\nDost thou know who made thee\n";

/// What `memo documents` lists of a store, which must verify, but for text that is not erased yet.
/// In one process, as it is asked after every kill.
inline config::Json verified_documents(const std::string& store) {
  run_verbs({});
  const Outcome outcome =
      Process([&] {
        const int status = run_verbs(command_line({"memo", "verify", store}));
        return 10 * status + run_verbs(command_line({"memo", "documents", store, "--json"}));
      }).wait();
  const int expected = outcome.err.find("not erased") == std::string::npos ? 0 : 10;
  EXPECT_EQ(outcome.status, expected) << outcome.err;
  if (outcome.status != expected) return config::Json::array();
  return config::Json::parse(outcome.out.substr(outcome.out.find('\n')))["data"];
}

/// A writer that was stopped leaves no file that it had not finished, once another one has come.
inline void expect_nothing_unfinished(const std::filesystem::path& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    EXPECT_EQ(entry.path().native().find("unfinished"), std::string::npos) << entry.path();
}

/// A test of `tessera memo` with a folder of two poems.
class MemoWorkplace : public Workplace {
 protected:
  MemoWorkplace() {
    std::filesystem::create_directories(path("poems/old"));
    write_text(path("poems/raven"), kRaven);
    write_text(path("poems/old/lamb"), kLamb);
  }

  static Outcome memo(const Arguments& arguments, const ProcessOptions& options = {}) {
    return tessera(joined({"memo"}, arguments), options);
  }
  static std::string done(const Arguments& arguments, const ProcessOptions& options = {}) {
    return cli::done(joined({"memo"}, arguments), options);
  }
  static config::Json json(const Arguments& arguments) {
    return config::Json::parse(done(joined(arguments, {"--json"})));
  }

  std::string create(const std::string& name = "store", const Arguments& more = {}) const {
    done(joined({"create", path(name), "--dimension", "512"}, more));
    return path(name);
  }
  static std::string digest(const std::string& store) { return json({"stat", store})["digest"]; }
  static void expect_refusals(const std::vector<Refusal>& refusals, int status) {
    for (const auto& refusal : refusals)
      expect_refused(memo(refusal.arguments), status, refusal.message);
  }
};

}  // namespace tessera::cli
