// Where a report is written.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace headroom::report {

/// The files of a report, as texts.
struct ReportFiles {
  struct Svg {
    std::string name, text;
  };
  std::string page, markdown, csv;
  std::vector<Svg> pictures;
};

/// Writes `index.html`, `report.md`, `results.csv` and `pictures/NAME.svg`: each whole or not at
/// all, and the page last.
/// @return the page
/// @throws InvalidArgument as `refuse_to_overwrite`; ResourceError for what cannot be written, and
///         for links.
std::filesystem::path write_report_files(const std::filesystem::path& folder,
                                         const ReportFiles& files);

/// A folder named by mistake must not cost users a page of their own.
/// @throws InvalidArgument if something is there that headroom did not write.
void refuse_to_overwrite(const std::filesystem::path& path);

/// For those who measure first: whether a page can be written there.
/// @throws InvalidArgument as above; ResourceError as `require_writable`.
void require_page(const std::filesystem::path& path);

/// Writes a page to a path that the user named. @throws as `require_page`.
void write_page(const std::filesystem::path& path, const std::string& text);

}  // namespace headroom::report
