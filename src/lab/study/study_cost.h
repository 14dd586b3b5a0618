#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tessera {

/// How long a study takes on two cores, in seconds. `estimated`: from its number of updates or runs
/// beside a measured one; the others were measured.
struct StudyCost {
  double quick = 0, standard = 0;
  bool quick_estimated = false, standard_estimated = true;
};

/// Of the study with this id; none where nobody knows.
std::optional<StudyCost> cost_of(std::string_view id);

/// "20 s", "about 40 min": to two digits, with "about" where it was estimated.
std::string cost_text(double seconds, bool estimated);

}  // namespace tessera
