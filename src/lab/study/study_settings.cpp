#include "lab/study/study_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace tessera {
namespace {

using config::Json;

void flatten(const Json& settings, const std::string& path, std::vector<SettingValue>& flat) {
  for (const auto& [name, value] : settings.items()) {
    const std::string own = path.empty() ? name : path + "." + name;
    if (value.is_object())
      flatten(value, own, flat);
    else
      flat.push_back({own, value.dump()});
  }
}

/// Null where there is no such setting.
const SettingValue* find(const std::vector<SettingValue>& flat, const std::string& path) {
  const auto place = std::find_if(flat.begin(), flat.end(),
                                  [&](const SettingValue& one) { return one.path == path; });
  return place == flat.end() ? nullptr : &*place;
}

bool is_bound(const std::string& path, const std::vector<std::string_view>& bound) {
  return path != "runs" && std::any_of(bound.begin(), bound.end(), [&](std::string_view name) {
           return name.empty() || path == name || path.starts_with(std::string(name) + ".");
         });
}

/// What the settings mean, in the order of flattened().
void collect_help(const std::vector<config::Field>& fields, std::vector<std::string_view>& help) {
  for (const config::Field& field : fields) {
    if (const auto* inner = std::get_if<std::vector<config::Field>>(&field.value))
      collect_help(*inner, help);
    else
      help.push_back(field.help);
  }
}

}  // namespace

std::vector<SettingValue> flattened(const Json& settings) {
  std::vector<SettingValue> flat;
  flatten(settings, "", flat);
  return flat;
}

std::string first_difference(const Json& before, const Json& now) {
  const auto old_ones = flattened(before), new_ones = flattened(now);
  for (const auto& [path, value] : new_ones) {
    const SettingValue* old_one = find(old_ones, path);
    if (old_one == nullptr) return fmt::format("no {}, now it is {}", path, value);
    if (old_one->value != value)
      return fmt::format("{} = {}, now it is {}", path, old_one->value, value);
  }
  for (const auto& [path, value] : old_ones)
    if (find(new_ones, path) == nullptr)
      return fmt::format("{} = {}, now it has none", path, value);
  return "";
}

std::string describe_settings(const std::vector<config::Field>& quick,
                              const std::vector<config::Field>& standard,
                              const std::vector<config::Field>& paper) {
  const auto small = flattened(config::fields_to_json(quick)),
             usual = flattened(config::fields_to_json(standard)),
             large = flattened(config::fields_to_json(paper));
  std::vector<std::string_view> help;
  collect_help(standard, help);
  std::string text;
  for (size_t i = 0; i < usual.size(); ++i) {
    const auto& [path, value] = usual[i];
    const bool equal = small[i].value == value && large[i].value == value;
    const std::string sizes =
        equal ? "" : fmt::format(" (quick {}, paper {})", small[i].value, large[i].value);
    text += fmt::format("  {:<40} {}\n", fmt::format("{} = {}{}", path, value, sizes), help[i]);
  }
  return text;
}

std::string why_references_fail(const Json& chosen, const std::vector<Json>& prepared,
                                const std::vector<std::string_view>& bound) {
  std::vector<std::vector<SettingValue>> known;
  for (const Json& settings : prepared) known.push_back(flattened(settings));
  std::string reasons;
  for (const auto& [path, value] : flattened(chosen)) {
    const auto has_it = [&, &path = path, &value = value](const std::vector<SettingValue>& flat) {
      const SettingValue* one = find(flat, path);
      return one != nullptr && one->value == value;
    };
    if (!is_bound(path, bound) || std::any_of(known.begin(), known.end(), has_it)) continue;
    const SettingValue* published = find(known.back(), path);
    reasons += fmt::format("{}{} = {}, here it is {}", reasons.empty() ? "" : "; ", path,
                           published ? published->value : "another value", value);
  }
  return reasons.empty()
             ? ""
             : "Published and reference numbers are left out: they are for " + reasons + ".";
}

}  // namespace tessera
