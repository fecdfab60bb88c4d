// headroom report: a results folder as a page, a Markdown file with pictures, and a table.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "judge/compare.hpp"
#include "record/results_folder.hpp"
#include "trend/trend.hpp"

namespace headroom::report {

struct WrittenReport {
  std::filesystem::path page;         ///< `index.html`
  std::vector<std::string> warnings;  ///< such as pictures that could not be drawn
};

/// Writes `index.html`, `report.md`, `pictures/` and `results.csv`. Never overwrites a
/// page or a Markdown file that headroom did not write.
/// @throws FileError for results of more than one machine; ResourceError for a folder that cannot
///         be written; InvalidArgument if such a file is in the way.
WrittenReport write_report(const record::ResultsFolder& folder, const std::filesystem::path& out);

/// Two folders side by side as a page.
/// @throws as `write_report` where a file of that name is not a page of ours, or cannot be written.
void write_comparison(const judge::FolderComparison& comparison, const std::filesystem::path& path);

/// The steps of a store as a page. @throws as `write_comparison`.
void write_trend(const trend::Trend& trend, const std::filesystem::path& path);

}  // namespace headroom::report
