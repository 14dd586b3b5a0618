#pragma once

#include <memory>
#include <vector>

#include "tessera/report/chart.h"

namespace tessera {

/// Several charts as the panels of one picture, two in a row, on a telephone one below the other;
/// a panel alone has the whole width. Their text is as large as that of other charts. Panels are
/// compared by eye: give charts of one quantity equal bounds.
class Panels : public Chart {
 public:
  using Chart::Chart;

  /// Throws UsageError on null.
  void add(std::unique_ptr<Chart> panel);

  Drawing draw(ChartWidth width) const override;
  /// The panels' numbers one below the other: the panel, then a row's cells, as they are named
  /// there.
  Table numbers() const override;

 private:
  std::vector<std::shared_ptr<const Chart>> panels_;
};

}  // namespace tessera
