#include "tessera/report/study_results.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/report/page.h"

namespace tessera {
namespace {

using config::Json;

Cell optional_cell(double value) {
  return std::isnan(value) ? Cell() : Cell(value);
}

// A list as its elements one after the other, so that a page can break between them.
std::string fact_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  std::string text;
  for (const Json& element : value) text += (text.empty() ? "" : ", ") + fact_text(element);
  return text;
}

std::vector<std::pair<std::string, std::string>> facts_of(const Json& json) {
  std::vector<std::pair<std::string, std::string>> facts;
  for (const auto& [name, value] : config::leaves(json)) facts.emplace_back(name, fact_text(value));
  return facts;
}

}  // namespace

void StudyResults::check_name(const std::string& name) const {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  };
  check_argument(!name.empty() && std::all_of(name.begin(), name.end(), fits),
                 "StudyResults: the name '{}' must consist of letters, digits, '-' and '_'", name);
  const auto is_taken = [&](const auto& entry) { return entry.name == name; };
  check_argument(name != "results" && name != "report" &&
                     std::none_of(tables_.begin(), tables_.end(), is_taken) &&
                     std::none_of(charts_.begin(), charts_.end(), is_taken),
                 "StudyResults: the name '{}' is taken", name);
}

void StudyResults::add_point(ResultPoint point) {
  if (leaves_out_published_) point.published = ResultPoint::kNone;
  points_.push_back(std::move(point));
}

void StudyResults::compare(Comparison comparison) {
  if (!leaves_out_published_ && !std::isnan(comparison.published))
    comparisons_.push_back(std::move(comparison));
}

void StudyResults::leave_out_published(const std::string& reason) {
  leaves_out_published_ = true;
  add_difference(reason);
}

void StudyResults::add_table(const std::string& name, Table table) {
  check_name(name);
  tables_.push_back({name, std::move(table)});
}

void StudyResults::add_chart(const std::string& name, std::unique_ptr<Chart> chart,
                             std::string caption) {
  check_name(name);
  check_argument(chart != nullptr, "StudyResults: the chart '{}' is null", name);
  charts_.push_back({name, std::move(chart), std::move(caption)});
}

std::unique_ptr<LineChart> StudyResults::chart_of_points(
    std::string title, Axis x, Axis y, const std::vector<std::string>& series) const {
  std::vector<std::string> names = series;
  for (const ResultPoint& point : points_) {
    const bool is_new = std::find(names.begin(), names.end(), point.series) == names.end();
    if (series.empty() && is_new) names.push_back(point.series);
  }
  std::vector<ShownSeries> shown;
  for (const std::string& name : names) shown.push_back({name, name});
  return panel_of_points(std::move(title), std::move(x), std::move(y), shown);
}

std::unique_ptr<LineChart> StudyResults::panel_of_points(
    std::string title, Axis x, Axis y, const std::vector<ShownSeries>& series) const {
  auto chart = std::make_unique<LineChart>(std::move(title), std::move(x), std::move(y));
  for (const ShownSeries& one : series) draw_points(one, *chart);
  return chart;
}

void StudyResults::draw_points(const ShownSeries& series, LineChart& chart) const {
  Series ours{series.shown, {}, SeriesStyle::kLine};
  std::vector<Series> published;
  bool goes_on = false;  // the published value before this point is there
  for (const ResultPoint& point : points_) {
    if (point.series != series.series) continue;
    ours.points.push_back({point.x, point.y, point.spread});
    const bool is_published = !std::isnan(point.published);
    if (is_published && !goes_on) published.push_back({series.shown, {}, SeriesStyle::kPublished});
    if (is_published) published.back().points.push_back({point.x, point.published});
    goes_on = is_published;
  }
  check_argument(!ours.points.empty(), "StudyResults: there is no point of the series '{}'",
                 series.series);
  chart.add(std::move(ours));
  for (Series& stretch : published) chart.add(std::move(stretch));
}

Table StudyResults::comparison_table(std::string title) const {
  Table table(std::move(title), {"what", "published", "ours", "ratio"});
  for (const Comparison& row : comparisons_) {
    const double ratio = row.ours / row.published;
    const Cell of_both = std::isfinite(ratio) ? Cell::fixed(ratio, 2) : Cell();
    table.add_row({row.what, Cell::significant(row.published, row.digits),
                   Cell::significant(row.ours, row.digits),
                   row.unlike.empty() ? of_both : Cell(row.unlike)});
  }
  return table;
}

Table StudyResults::point_table() const {
  Table table("", {"series", "x", "y", "spread", "published", "standard_error"});
  for (const ResultPoint& point : points_) {
    table.add_row({point.series, point.x, point.y, optional_cell(point.spread),
                   optional_cell(point.published), optional_cell(point.standard_error)});
  }
  return table;
}

std::string StudyResults::summary() const {
  std::string text = fmt::format("{}\n{}, {}\n", heading_.title, heading_.paper, heading_.figure);
  for (const std::string& sentence : conclusions_) text += '\n' + sentence + '\n';
  if (!comparisons_.empty())
    text += '\n' + comparison_table("Published beside ours").without_empty_columns().text();
  for (const NamedTable& named : tables_) text += '\n' + named.table.text();
  for (const auto& [title, sample] : texts_) text += fmt::format("\n{}\n{}\n", title, sample);
  if (!differences_.empty()) text += "\nWhere the set-up differs from the paper's\n";
  for (const std::string& difference : differences_) text += "- " + difference + "\n";
  return text;
}

std::string StudyResults::html(const Json& config, const Json& manifest) const {
  Page page(heading_.title, heading_.paper + ", " + heading_.figure);
  if (!introduction_.empty()) page.paragraph(introduction_);
  for (const std::string& sentence : conclusions_) page.conclusion(sentence);
  page.command(heading_.command);
  if (!charts_.empty()) page.section("Pictures");
  for (const NamedChart& named : charts_) page.chart(*named.chart, named.caption);
  if (!comparisons_.empty()) {
    page.section("Published beside ours");
    page.table(comparison_table().without_empty_columns());
  }
  if (!differences_.empty()) {
    page.section("Where the set-up differs from the paper's");
    page.list(differences_);
  }
  if (!tables_.empty()) page.section("Tables");
  for (const NamedTable& named : tables_) page.table(named.table);
  if (!texts_.empty()) page.section("Texts");
  for (const auto& [title, sample] : texts_) page.preformatted(sample, title);
  if (!commands_.empty()) page.section("Commands");
  for (const auto& [purpose, line] : commands_) {
    page.paragraph(purpose);
    page.command(line);
  }
  page.section("How it was made");
  page.facts(facts_of(manifest));
  page.preformatted(config::to_toml(config), "config.toml");
  if (!points_.empty()) page.data("results.csv", point_table().without_empty_columns());
  return page.html();
}

std::vector<std::string> StudyResults::chart_names() const {
  std::vector<std::string> names;
  for (const NamedChart& named : charts_) names.push_back(named.name);
  return names;
}

void StudyResults::write(const std::filesystem::path& folder, const Json& config,
                         const Json& manifest) const {
  write_file(folder / "results.csv", point_table().csv());
  for (const NamedTable& named : tables_)
    write_file(folder / (named.name + ".csv"), named.table.csv());
  for (const NamedChart& named : charts_)
    write_file(folder / (named.name + ".svg"), named.chart->svg());
  write_file(folder / "config.toml", config::to_toml(config));
  write_file(folder / "manifest.json", manifest.dump(2) + "\n");
  write_file(folder / "report.html", html(config, manifest));
}

}  // namespace tessera
