#pragma once

#include <string_view>

namespace tessera {

/// The page's own CSS (the charts' is kChartStyle) and its script: tooltips and copying.
extern const std::string_view kPageStyle;
extern const std::string_view kPageScript;

}  // namespace tessera
