#include "report/many/many_report.hpp"

#include <string>
#include <vector>

#include "report/many/many_documents.hpp"
#include "report/many/pictures/many_pictures.hpp"
#include "report/page/report_files.hpp"
#include "report/words/facts.hpp"
#include "show/export.hpp"

namespace headroom::report {

std::filesystem::path write_many(const across::Overview& overview,
                                 const std::filesystem::path& out) {
  std::vector<show::NamedFolder> folders;
  for (const across::Entry& entry : overview.collection->entries) {
    check_one_machine(entry.folder);
    folders.push_back({&entry.folder, overview.collection->machine_of(entry).name, entry.version});
  }
  const std::vector<Chart> charts = many_charts(overview);
  ReportFiles files;
  files.page = many_page(overview, charts);
  files.markdown = many_markdown(overview, charts);
  files.csv = show::export_csv(folders);
  for (const Chart& chart : charts) files.pictures.push_back({chart.name, svg(chart, true)});
  return write_report_files(out, files);
}

}  // namespace headroom::report
