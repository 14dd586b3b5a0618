#include "tessera/report/panels.h"

#include <algorithm>

#include "tessera/base/error.h"

namespace tessera {

void Panels::add(std::unique_ptr<Chart> panel) {
  check_argument(panel != nullptr, "Panels: a panel of '{}' is null", title());
  panels_.push_back(std::move(panel));
}

Drawing Panels::draw(ChartWidth width) const {
  SvgWriter svg;
  ChartFrame frame(svg, width);
  frame.draw_head(title(), {}, "");
  std::vector<Drawing> drawings;
  for (const auto& panel : panels_)
    drawings.push_back(panel->draw(panels_.size() == 1 ? width : ChartWidth::kNarrow));
  const size_t in_row = frame.is_narrow() ? 1 : 2;
  frame.place_plot(0, 0, 0);
  double top = frame.plot().top - 2;
  for (size_t first = 0; first < drawings.size(); first += in_row) {
    double left = 0, height = 0;
    for (size_t k = first; k < std::min(drawings.size(), first + in_row); ++k) {
      svg.moved(left, top, drawings[k].body);
      left += drawings[k].width;
      height = std::max(height, drawings[k].height);
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
