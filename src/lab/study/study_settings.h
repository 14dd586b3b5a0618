#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/config.h"

namespace tessera {

/// A setting, its path joined by dots, and its value as text.
struct SettingValue {
  std::string path, value;
};

/// Every scalar or array of nested settings, in their order.
std::vector<SettingValue> flattened(const config::Json& settings);

/// The first setting in which `before` and `now` differ, as "alpha = 2, now it is 1.5"; empty where
/// there is none.
std::string first_difference(const config::Json& before, const config::Json& now);

/// Each setting with what it means, and its values at the three sizes: "channels = 128 (quick 32,
/// paper 512)". The fields are those of one configuration with other values.
std::string describe_settings(const std::vector<config::Field>& quick,
                              const std::vector<config::Field>& standard,
                              const std::vector<config::Field>& paper);

/// Why published and reference numbers do not hold for `chosen`: a sentence that names the settings
/// that are those of none of the `prepared` set-ups, or empty. bound: settings, or tables of them,
/// that such numbers depend on ("" means all), but for "runs".
std::string why_references_fail(const config::Json& chosen,
                                const std::vector<config::Json>& prepared,
                                const std::vector<std::string_view>& bound);

}  // namespace tessera
