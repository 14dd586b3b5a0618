#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <vector>

#include "lab/task/sequence/sequence_task.h"

namespace tessera::task {

/// One of the things that are told of a person: one of `values`, drawn for each person.
struct PersonFact {
  std::string_view name;
  int64_t values;
};

/// Three names, then the facts; sizes as in the paper (section 2.2).
inline constexpr std::array<PersonFact, 10> kPersonFacts = {{{"first name", 400},
                                                             {"middle name", 400},
                                                             {"last name", 1000},
                                                             {"birth month", 12},
                                                             {"birth day", 28},
                                                             {"birth year", 200},
                                                             {"birth city", 200},
                                                             {"university", 300},
                                                             {"field", 100},
                                                             {"employer", 263}}};
inline constexpr size_t kPersonNames = 3;

struct PeopleConfig {
  int64_t people = 1000;
  int64_t drawn = 1;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("people", people, "number of people, N", config::between(1, 1e7));
    field("drawn", drawn, "seed of their names and facts");
  }
};

/// Synthetic people to be learned by heart (Allen-Zhu & Li 2024, section 2.2, bioS): N people with
/// names that differ and facts drawn at random. A sample tells all of one person: the name, then a
/// sentence for each of five facts (a birth date is three values), in random order and in one of
/// two forms. Samples of any seed are about the same people, each once in N samples. Asked are the
/// names and the values, which the rest does not tell; so the loss says how well they are known by
/// heart.
///
/// A token is a name, a value, or a word of a sentence.
class People : public ConfiguredTask<PeopleConfig> {
 public:
  /// Throws UsageError on a number of people out of bounds. They are drawn when the first sample
  /// is: a task that is only checked takes no time.
  using ConfiguredTask::ConfiguredTask;

  TaskShape shape() const override;
  TaskSample draw_sample(uint64_t seed, int64_t index, int64_t size_of) const override;
  /// index, and text.
  config::Json describe(uint64_t seed, int64_t index) const override;
  /// Any value of the right kind.
  std::vector<Level> levels() const override;

  /// Which of kPersonFacts an answer is, by its token.
  static size_t fact_of(int64_t token);

 private:
  using Person = std::array<int16_t, kPersonFacts.size()>;
  const std::vector<Person>& people() const;
  int64_t person_at(uint64_t seed, int64_t index) const;

  mutable std::once_flag drawn_;
  mutable std::vector<Person> people_;
};

}  // namespace tessera::task
