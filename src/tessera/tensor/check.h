#pragma once

#include <c10/util/StringUtil.h>

#include "tessera/base/error.h"

/// Throws UsageError unless the condition holds: a caller's mistake. What follows the condition,
/// one after another, is the message; it is computed only then.
#define TESSERA_CHECK(condition, ...) \
  ((condition) ? void() : throw ::tessera::UsageError("{}", ::c10::str(__VA_ARGS__)))
