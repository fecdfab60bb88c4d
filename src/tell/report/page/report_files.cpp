#include "report/page/report_files.hpp"

#include <fmt/format.h>

#include <system_error>

#include "core/regular_file.hpp"
#include "core/text/shown.hpp"
#include "headroom/error.hpp"
#include "program/files/fresh_file.hpp"
#include "program/files/output_folder.hpp"
#include "report/page/documents.hpp"

namespace headroom::report {

namespace fs = std::filesystem;

fs::path write_report_files(const fs::path& folder, const ReportFiles& files) {
  fs::path page = make_folder(folder) / "index.html";
  for (const fs::path& path : {page, folder / "report.md"}) {
    refuse_link(path);
    refuse_to_overwrite(path);
  }
  const fs::path pictures = folder / "pictures";
  if (!files.pictures.empty()) make_inner_folder(pictures);
  write_file(folder / "results.csv", files.csv, Links::refuse);
  for (const ReportFiles::Svg& picture : files.pictures) {
    write_file(pictures / (picture.name + ".svg"), picture.text, Links::refuse);
  }
  write_file(folder / "report.md", files.markdown, Links::refuse);
  write_file(page, files.page, Links::refuse);
  return page;
}

void refuse_to_overwrite(const fs::path& path) {
  constexpr std::int64_t kLargest = std::int64_t{64} << 20;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return;
  if (fs::is_regular_file(status)) {
    const std::string text = read_regular_file(path, kLargest);
    // Nothing to lose, such as what a full disk left of a page.
    if (text.empty() || written_by_headroom(text)) return;
  }
  throw InvalidArgument(fmt::format(
      "{} exists and was not written by headroom; move it or name another", shown_path(path)));
}

void require_page(const fs::path& path) {
  refuse_to_overwrite(path);
  require_writable(path);
}

void write_page(const fs::path& path, const std::string& text) {
  refuse_to_overwrite(path);
  write_file(path, text);
}

}  // namespace headroom::report
