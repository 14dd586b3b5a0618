#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/report/chart.h"
#include "tessera/report/table.h"

namespace tessera {

/// One self-contained HTML file: it opens offline, loads nothing, follows the reader's light or
/// dark setting, fits a telephone and can be printed. All text is escaped. It has a script only
/// where there is something to copy or to point at: commands, data, charts.
class Page {
 public:
  Page(std::string title, std::string subtitle);

  /// Starts a section; from three sections on the page has a list of them.
  void section(std::string_view heading);
  void paragraph(std::string_view text);
  /// A paragraph that is read first; a warning says that something is wrong.
  void conclusion(std::string_view text);
  void warning(std::string_view text);
  void list(const std::vector<std::string>& items);
  /// Text as it is: a sample, a log. caption may be empty.
  void preformatted(std::string_view text, std::string_view caption = "");
  /// A command line with a button that copies it; it breaks between words only.
  void command(std::string_view line);
  /// Names and values in two columns: seed, revision, machine.
  void facts(const std::vector<std::pair<std::string, std::string>>& facts);
  void table(const Table& table);
  /// Numbers folded away behind their name: as a table up to 400 rows, as CSV beyond.
  void data(std::string_view name, const Table& numbers);
  /// The chart with its numbers folded away below it, as data() does.
  void chart(const Chart& chart, std::string_view caption = "");

  std::string html() const;

 private:
  std::string title_;
  std::string subtitle_;
  std::vector<std::string> headings_;
  std::string body_;
  bool has_script_ = false;
};

}  // namespace tessera
