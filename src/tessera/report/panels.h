#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tessera/report/chart.h"

namespace tessera {

/// Several charts as the panels of one picture, row by row, each drawn as on a narrow page and
/// scaled to its column; on a telephone two in a row at most. Panels are compared by eye: give
/// charts of one quantity equal bounds.
class Panels : public Chart {
 public:
  /// columns: panels in a row; fewer panels share its width. Throws std::invalid_argument unless it
  /// is at least 1.
  Panels(std::string title, int columns);

  /// Throws std::invalid_argument on null.
  void add(std::unique_ptr<Chart> panel);

  Drawing draw(ChartWidth width) const override;
  /// The panels' numbers one below the other: the panel, then a row's cells, as they are named
  /// there.
  Table numbers() const override;

 private:
  int columns_;
  std::vector<std::shared_ptr<const Chart>> panels_;
};

}  // namespace tessera
