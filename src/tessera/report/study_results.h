#pragma once

#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "tessera/base/config.h"
#include "tessera/report/line_chart.h"
#include "tessera/report/table.h"

namespace tessera {

/// One point of a figure or one cell of a table, beside the published one where there is one.
struct ResultPoint {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

  std::string series;  ///< as in the paper's legend
  double x = 0;
  double y = 0;
  double spread = kNone;     ///< half height of the error band
  double published = kNone;  ///< the paper's y at this x
  double standard_error = kNone;
};

/// A published number and ours.
struct Comparison {
  std::string what;
  double published = 0;
  double ours = 0;
  int digits = 3;           ///< significant digits shown
  std::string unlike = {};  ///< why the two are not to be compared, "other sizes"; empty: they are
};

/// A series of points, and its name in one chart.
struct ShownSeries {
  std::string series;
  std::string shown;
};

/// What a study shows and the command that runs it.
struct StudyHeading {
  std::string title;
  std::string paper;
  std::string figure;
  std::string command;
};

/// What a study found: points, tables, pictures, comparisons with the paper, and where the set-up
/// had to differ. Prints nothing.
class StudyResults {
 public:
  explicit StudyResults(StudyHeading heading) : heading_(std::move(heading)) {}

  void add_point(ResultPoint point);
  /// name: of the file NAME.csv or NAME.svg: letters, digits, '-' and '_'. Throws
  /// UsageError on another or one that is taken.
  void add_table(const std::string& name, Table table);
  void add_chart(const std::string& name, std::unique_ptr<Chart> chart, std::string caption = "");
  /// What a reader has to know first; the report begins with it.
  void introduce(std::string text) { introduction_ = std::move(text); }
  /// What was found, in a sentence; these come next, and first on the terminal.
  void conclude(std::string sentence) { conclusions_.push_back(std::move(sentence)); }
  /// Text as it is, for example what a model wrote.
  void add_text(std::string title, std::string text) {
    texts_.emplace_back(std::move(title), std::move(text));
  }
  /// A command that does a part of the study alone, or goes on from it.
  void add_command(std::string purpose, std::string line) {
    commands_.emplace_back(std::move(purpose), std::move(line));
  }
  /// Where the set-up had to differ from the paper's, one sentence each.
  void add_difference(std::string sentence) { differences_.push_back(std::move(sentence)); }
  /// Left out where the published number is NaN: there is none.
  void compare(Comparison comparison);
  /// From now on points have no published value and comparisons are dropped: they are for other
  /// settings, as `reason` says among the differences.
  void leave_out_published(const std::string& reason);

  /// A chart of the points of these series (of all, where none is named), in the order they were
  /// added; published values become series of their own, one for each stretch of points without a
  /// gap. Add it with add_chart.
  std::unique_ptr<LineChart> chart_of_points(std::string title, Axis x, Axis y,
                                             const std::vector<std::string>& series = {}) const;

  /// The same for a panel of a picture, whose title says what its series have in common: each
  /// under the name it is shown by.
  std::unique_ptr<LineChart> panel_of_points(std::string title, Axis x, Axis y,
                                             const std::vector<ShownSeries>& series) const;

  /// The names of the pictures that write() makes, without .svg.
  std::vector<std::string> chart_names() const;
  const StudyHeading& heading() const { return heading_; }
  const std::vector<ResultPoint>& points() const { return points_; }
  const std::vector<Comparison>& comparisons() const { return comparisons_; }

  /// Columns what, published, ours, ratio (or why there is none).
  Table comparison_table(std::string title = "") const;
  /// Columns series, x, y, spread, published, standard_error; absent values are empty.
  Table point_table() const;
  /// For the terminal: heading, conclusions, comparisons, tables, differences.
  std::string summary() const;
  /// The page that report.html is.
  std::string html(const config::Json& config, const config::Json& manifest) const;
  /// results.csv, NAME.csv, NAME.svg, report.html, config.toml, manifest.json into `folder`, each
  /// file whole or not at all, report.html last. Throws SystemError.
  void write(const std::filesystem::path& folder, const config::Json& config,
             const config::Json& manifest) const;

 private:
  struct NamedTable {
    std::string name;
    Table table;
  };
  struct NamedChart {
    std::string name;
    std::shared_ptr<const Chart> chart;
    std::string caption;
  };
  void check_name(const std::string& name) const;
  void draw_points(const ShownSeries& series, LineChart& chart) const;

  StudyHeading heading_;
  std::string introduction_;
  std::vector<std::string> conclusions_;
  std::vector<ResultPoint> points_;
  std::vector<NamedTable> tables_;
  std::vector<NamedChart> charts_;
  std::vector<std::pair<std::string, std::string>> texts_;     // title, text
  std::vector<std::pair<std::string, std::string>> commands_;  // purpose, line
  std::vector<std::string> differences_;
  std::vector<Comparison> comparisons_;
  bool leaves_out_published_ = false;
};

}  // namespace tessera
