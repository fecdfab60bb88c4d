#include "report/page/report.hpp"

#include "report/page/comparison_page.hpp"
#include "report/page/documents.hpp"
#include "report/page/page_data.hpp"
#include "report/page/report_files.hpp"
#include "report/page/trend_page.hpp"
#include "report/words/conclusion.hpp"
#include "report/words/facts.hpp"
#include "show/export.hpp"

namespace headroom::report {

namespace fs = std::filesystem;

void write_comparison(const judge::FolderComparison& comparison, const fs::path& path) {
  write_page(path, comparison_page(comparison));
}

void write_trend(const trend::Trend& trend, const fs::path& path) {
  write_page(path, trend_page(trend));
}

WrittenReport write_report(const record::ResultsFolder& folder, const fs::path& out) {
  check_one_machine(folder);
  const Findings findings = find_out(folder);
  const Conclusion conclusion = conclude(findings);
  const std::string data = page_data(findings, conclusion.focus);
  const Pictures pictures = draw_pictures(data);
  ReportFiles files;
  files.page = page(findings, conclusion, data);
  files.markdown = markdown_report(findings, conclusion, pictures);
  files.csv = show::export_csv(folder);
  for (const Picture& picture : pictures.drawn)
    files.pictures.push_back({picture.name, picture.svg});
  WrittenReport report{write_report_files(out, files), {}};
  if (!pictures.missing.empty()) {
    report.warnings.push_back("report.md has no pictures: " + pictures.missing);
  }
  return report;
}

}  // namespace headroom::report
