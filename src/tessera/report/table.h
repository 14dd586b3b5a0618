#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// One cell: what a reader sees, and the exact value that files keep.
class Cell {
 public:
  Cell() = default;
  Cell(std::string text) : shown_(std::move(text)), exact_(shown_) {}
  Cell(std::string_view text) : Cell(std::string(text)) {}
  Cell(const char* text) : Cell(std::string(text)) {}
  /// A number shown with every digit it needs to be read back exactly.
  Cell(double value);
  template <std::integral Integer>
  Cell(Integer value) : shown_(std::to_string(value)), exact_(shown_), is_number_(true) {}

  /// A number shown with this many decimals, kept exactly.
  static Cell fixed(double value, int decimals);
  /// A number shown with this many significant digits, kept exactly.
  static Cell significant(double value, int digits);

  const std::string& shown() const { return shown_; }
  const std::string& exact() const { return exact_; }
  bool is_number() const { return is_number_; }
  bool is_empty() const { return exact_.empty(); }

 private:
  std::string shown_;
  std::string exact_;
  bool is_number_ = false;
};

/// A titled table of text and numbers. Columns that hold only numbers are aligned to the right.
class Table {
 public:
  Table(std::string title, std::vector<std::string> columns);

  /// Throws UsageError where the row's width is not the table's.
  void add_row(std::vector<Cell> row);

  const std::string& title() const { return title_; }
  const std::vector<std::string>& columns() const { return columns_; }
  const std::vector<std::vector<Cell>>& rows() const { return rows_; }

  /// The same table without the columns in which every cell is empty.
  Table without_empty_columns() const;

  /// Aligned plain text with the title above and a rule under the header, ends with a line end.
  std::string text() const;
  /// RFC 4180 with \n line ends: header, then the exact value of each cell; quotes where needed.
  std::string csv() const;
  /// One <table> with a caption, numbers as readable_number() writes them. A cell that shows
  /// another text than the exact number carries that as its title and as data-exact.
  std::string html() const;

 private:
  bool is_number_column(size_t column) const;

  std::string title_;
  std::vector<std::string> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace tessera
