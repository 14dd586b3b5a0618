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
