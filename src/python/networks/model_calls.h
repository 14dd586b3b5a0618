#pragma once

#include "python/binding/call.h"
#include "python/networks/open_model.h"

namespace tessera::python {

/// How a text is written after a prompt: what generate() and stream() take.
struct Writing {
  std::string prompt;
  int64_t max_tokens = 256;
  std::vector<std::string> stop;
  bool ignore_end = false;
  SamplingOptions sampling;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("prompt", prompt, "text to continue", config::required());
    field("max_tokens", max_tokens, "maximum number of tokens to write", config::at_least(0));
    field("stop", stop, "texts before the first of which the text ends");
    field("ignore_end", ignore_end, "continue past the end-of-text token");
    sampling.visit_fields(field);
  }

  WrittenText begin(OpenModel& model) const;
};

/// The jobs on a model.
const std::vector<Call<OpenModel>>& model_calls();

}  // namespace tessera::python
