#include "report/page/report.hpp"

#include "program/output_file.hpp"
#include "report/page/comparison_page.hpp"
#include "report/page/documents.hpp"
#include "report/page/output_folder.hpp"
#include "report/page/page_data.hpp"
#include "report/page/trend_page.hpp"
#include "report/words/conclusion.hpp"
#include "report/words/facts.hpp"
#include "show/export.hpp"

namespace headroom::report {

namespace fs = std::filesystem;

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
