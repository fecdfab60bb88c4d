#include "report/page/report.hpp"

#include <fmt/format.h>

#include "core/regular_file.hpp"
#include "core/text/shown.hpp"
#include "headroom/error.hpp"
#include "program/exit_code.hpp"
#include "program/output_file.hpp"
#include "report/page/comparison_page.hpp"
#include "report/page/documents.hpp"
#include "report/page/page_data.hpp"
#include "report/page/trend_page.hpp"
#include "report/words/conclusion.hpp"
#include "report/words/facts.hpp"
#include "show/export.hpp"

namespace headroom::report {
namespace {

namespace fs = std::filesystem;

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error || !fs::is_directory(path)) {
    throw ResourceError(fmt::format("cannot make the folder {}: {}; name another with --out",
                                    shown_path(path),
                                    error ? error.message() : "a file of that name is in the way"));
  }
}

// A folder named by mistake must not cost users a page of their own.
void refuse_to_overwrite(const fs::path& path) {
  constexpr std::int64_t kLargest = std::int64_t{64} << 20;
  std::error_code error;
  if (!fs::exists(path, error)) return;
  if (fs::is_regular_file(path, error) && written_by_headroom(read_regular_file(path, kLargest))) {
    return;
  }
  throw InvalidArgument(fmt::format(
      "{} exists and was not written by headroom; move it or name another", shown_path(path)));
}

}  // namespace

void write_comparison(const judge::FolderComparison& comparison, const fs::path& path) {
  refuse_to_overwrite(path);
  write_file(path, comparison_page(comparison));
}

void write_trend(const trend::Trend& trend, const fs::path& path) {
  refuse_to_overwrite(path);
  write_file(path, trend_page(trend));
}

WrittenReport write_report(const record::ResultsFolder& folder, const fs::path& out) {
  check_one_machine(folder);
  make_folder(out);
  const fs::path page_path = out / "index.html";
  for (const fs::path& path : {page_path, out / "report.md"}) refuse_to_overwrite(path);
  const Findings findings = find_out(folder);
  const Conclusion conclusion = conclude(findings);
  const std::string data = page_data(findings);
  write_file(out / "results.csv", show::export_csv(folder));
  write_file(page_path, page(findings, conclusion, data));
  const Pictures pictures = draw_pictures(data);
  if (!pictures.drawn.empty()) make_folder(out / "pictures");
  for (const Picture& picture : pictures.drawn) {
    write_file(out / "pictures" / (picture.name + ".svg"), picture.svg);
  }
  write_file(out / "report.md", markdown_report(findings, conclusion, pictures));
  WrittenReport report{page_path, {}};
  if (!pictures.missing.empty()) {
    report.warnings.push_back("report.md has no pictures: " + pictures.missing);
  }
  return report;
}

}  // namespace headroom::report
