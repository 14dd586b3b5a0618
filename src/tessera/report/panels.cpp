#include "tessera/report/panels.h"

#include <algorithm>

#include "tessera/base/error.h"

namespace tessera {

Panels::Panels(std::string title, int columns) : Chart(std::move(title)), columns_(columns) {
  check_argument(columns >= 1, "Panels: '{}' has {} columns, expected at least 1", this->title(),
                 columns);
}

void Panels::add(std::unique_ptr<Chart> panel) {
  check_argument(panel != nullptr, "Panels: a panel of '{}' is null", title());
  panels_.push_back(std::move(panel));
}

Drawing Panels::draw(ChartWidth width) const {
  SvgWriter svg;
  ChartFrame frame(svg, width);
  frame.draw_head(title(), {}, "");
  const int most = frame.is_narrow() ? std::min(columns_, 2) : columns_;
  const int columns = std::clamp(static_cast<int>(panels_.size()), 1, most);
  const double column_width = frame.width() / columns;
  std::vector<Drawing> drawings;
  for (const auto& panel : panels_) drawings.push_back(panel->draw(ChartWidth::kNarrow));
  double top = 40;
  for (size_t first = 0; first < drawings.size(); first += static_cast<size_t>(columns)) {
    double height = 0;
    for (size_t k = first; k < std::min(drawings.size(), first + static_cast<size_t>(columns));
         ++k) {
      const double scale = column_width / drawings[k].width;
      svg.scaled(column_width * static_cast<double>(k - first), top, scale, drawings[k].body);
      height = std::max(height, drawings[k].height * scale);
    }
    top += height + 6;
  }
  std::string description;
  for (const Drawing& drawing : drawings)
    description += drawing.title + ": " + drawing.description + " ";
  return {frame.width(), top + 4, title(), description, svg.take_body()};
}

Table Panels::numbers() const {
  size_t widest = 0;
  std::vector<Table> tables;
  for (const auto& panel : panels_) {
    tables.push_back(panel->numbers());
    widest = std::max(widest, tables.back().columns().size());
  }
  std::vector<std::string> header = {"panel"};
  for (size_t column = 0; column < widest; ++column)
    header.push_back(column == 0 ? "row" : std::to_string(column));
  Table all("", header);
  for (size_t p = 0; p < tables.size(); ++p) {
    const auto add = [&](std::vector<Cell> cells) {
      cells.insert(cells.begin(), panels_[p]->title());
      cells.resize(widest + 1);
      all.add_row(std::move(cells));
    };
    add({tables[p].columns().begin(), tables[p].columns().end()});
    for (const auto& row : tables[p].rows()) add(row);
  }
  return all;
}

}  // namespace tessera
