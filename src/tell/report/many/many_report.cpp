#include "report/many/many_report.hpp"

#include <string>
#include <vector>

#include "program/output_file.hpp"
#include "report/many/many_documents.hpp"
#include "report/many/pictures/many_pictures.hpp"
#include "report/page/output_folder.hpp"
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
  make_folder(out);
  std::filesystem::path page = out / "index.html";
  for (const std::filesystem::path& path : {page, out / "report.md"}) refuse_to_overwrite(path);
  const std::vector<Chart> charts = many_charts(overview);
  write_file(out / "results.csv", show::export_csv(folders));
  write_file(page, many_page(overview, charts));
  if (!charts.empty()) make_folder(out / "pictures");
  for (const Chart& chart : charts) {
    write_file(out / "pictures" / (chart.name + ".svg"), svg(chart, true));
  }
  write_file(out / "report.md", many_markdown(overview, charts));
  return page;
}

}  // namespace headroom::report
