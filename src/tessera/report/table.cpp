#include "tessera/report/table.h"

#include <algorithm>

#include "tessera/base/error.h"
#include "tessera/base/utf8.h"
#include "tessera/report/text.h"

namespace tessera {
namespace {

std::string one_line(std::string_view text) {
  std::string line = printable_text(text);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return line;
}

std::string padded(const std::string& text, size_t width, bool right) {
  const std::string fill(width - std::min(width, utf8::columns(text)), ' ');
  return right ? fill + text : text + fill;
}

/// Quoted where it holds a comma, a quote or a line end (RFC 4180).
std::string csv_field(std::string field) {
  if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
  for (size_t at = 0; (at = field.find('"', at)) != std::string::npos; at += 2)
    field.insert(at, 1, '"');
  return '"' + field + '"';
}

std::string html_cell(const Cell& cell, bool right) {
  constexpr size_t kLong = 40;  // a word that may break anywhere, such as a digest
  const std::string shown = cell.is_number() ? readable_number(cell.shown()) : cell.shown();
  const bool is_long = shown.size() >= kLong && shown.find(' ') == std::string::npos;
  std::string tag = right ? "<td class=\"number\"" : is_long ? "<td class=\"long\"" : "<td";
  if (shown != cell.exact()) {
    const std::string exact = escape_markup(cell.exact());
    tag += " title=\"" + exact + "\" data-exact=\"" + exact + "\"";
  }
  return tag + ">" + escape_markup(shown) + "</td>";
}

}  // namespace

Cell::Cell(double value) : shown_(exact_text(value)), exact_(shown_), is_number_(true) {}

Cell Cell::fixed(double value, int decimals) {
  Cell cell(value);
  cell.shown_ = fixed_text(value, decimals);
  return cell;
}

Cell Cell::significant(double value, int digits) {
  Cell cell(value);
  cell.shown_ = significant_text(value, digits);
  return cell;
}

Table::Table(std::string title, std::vector<std::string> columns)
    : title_(std::move(title)), columns_(std::move(columns)) {
  check_argument(!columns_.empty(), "Table: '{}' needs at least one column", title_);
}

void Table::add_row(std::vector<Cell> row) {
  check_argument(row.size() == columns_.size(), "Table: '{}' has {} columns, the row has {} cells",
                 title_, columns_.size(), row.size());
  rows_.push_back(std::move(row));
}

Table Table::without_empty_columns() const {
  std::vector<size_t> kept;
  for (size_t c = 0; c < columns_.size(); ++c)
    if (!std::ranges::all_of(rows_, [c](const auto& row) { return row[c].is_empty(); }))
      kept.push_back(c);
  if (kept.empty()) return *this;
  std::vector<std::string> columns;
  for (const size_t c : kept) columns.push_back(columns_[c]);
  Table table(title_, std::move(columns));
  for (const auto& row : rows_) {
    auto& cells = table.rows_.emplace_back();
    for (const size_t c : kept) cells.push_back(row[c]);
  }
  return table;
}

bool Table::is_number_column(size_t column) const {
  bool any = false;
  for (const auto& row : rows_) {
    if (row[column].is_empty()) continue;
    if (!row[column].is_number()) return false;
    any = true;
  }
  return any;
}

std::string Table::text() const {
  std::string text = title_.empty() ? "" : one_line(title_) + "\n";
  std::vector<size_t> widths;
  std::vector<bool> to_the_right;
  for (size_t c = 0; c < columns_.size(); ++c) {
    to_the_right.push_back(is_number_column(c));
    widths.push_back(utf8::columns(one_line(columns_[c])));
    for (const auto& row : rows_)
      widths[c] = std::max(widths[c], utf8::columns(one_line(row[c].shown())));
  }
  const auto add_line = [&](auto cell_text) {
    std::string line;
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (c > 0) line += "  ";
      line += padded(cell_text(c), widths[c], to_the_right[c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  add_line([&](size_t c) { return one_line(columns_[c]); });
  add_line([&](size_t c) { return std::string(widths[c], '-'); });
  for (const auto& row : rows_) add_line([&](size_t c) { return one_line(row[c].shown()); });
  return text;
}

std::string Table::csv() const {
  std::string text;
  const auto add_line = [&](auto cell_text) {
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (c > 0) text += ',';
      text += csv_field(cell_text(c));
    }
    text += "\n";
  };
  add_line([&](size_t c) { return columns_[c]; });
  for (const auto& row : rows_) add_line([&](size_t c) { return row[c].exact(); });
  return text;
}

std::string Table::html() const {
  std::vector<bool> right;
  for (size_t c = 0; c < columns_.size(); ++c) right.push_back(is_number_column(c));
  std::string html = "<table>";
  if (!title_.empty()) html += "<caption>" + escape_markup(title_) + "</caption>";
  html += "<thead><tr>";
  for (size_t c = 0; c < columns_.size(); ++c) {
    html += right[c] ? "<th scope=\"col\" class=\"number\">" : "<th scope=\"col\">";
    html += escape_markup(columns_[c]) + "</th>";
  }
  html += "</tr></thead>\n<tbody>\n";
  for (const auto& row : rows_) {
    html += "<tr>";
    for (size_t c = 0; c < row.size(); ++c) html += html_cell(row[c], right[c]);
    html += "</tr>\n";
  }
  return html + "</tbody></table>\n";
}

}  // namespace tessera
