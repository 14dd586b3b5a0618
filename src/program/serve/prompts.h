#pragma once

#include <string>
#include <vector>

#include "program/serve/completion_request.h"
#include "program/serve/served_model.h"
#include "program/serve/unwanted.h"

namespace tessera::serve {

struct Service;

/// A prompt of a request for completions, as its model reads it.
struct ReadPrompt {
  TokenIds tokens;   ///< one or more
  std::string rest;  ///< its end that is no whole token (store::Question::rest)
};

/// All prompts of a request. Throws ApiError, also where the answer is unwanted while a store is
/// waited for.
std::vector<ReadPrompt> read_prompts(const CompletionRequest& request, const ServedModel& model,
                                     const Unwanted& unwanted);

/// Throws ApiError where the request's texts, what is kept for them or its answer may be larger
/// than the service's limits, and where a bias is of a token that the model does not have.
void check_request_size(const CompletionRequest& request, const std::vector<ReadPrompt>& prompts,
                        const Service& service, const ServedModel& model);

}  // namespace tessera::serve
