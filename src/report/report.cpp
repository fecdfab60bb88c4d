#include "report/report.hpp"

#include <fmt/format.h>

#include "headroom/error.hpp"
#include "report/conclusion.hpp"
#include "report/documents.hpp"
#include "report/facts.hpp"
#include "report/page_data.hpp"
#include "sweep/exit_code.hpp"
#include "sweep/export.hpp"
#include "sweep/regular_file.hpp"

namespace headroom::report {
namespace {

namespace fs = std::filesystem;

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error || !fs::is_directory(path)) {
    throw sweep::ResourceError(
        fmt::format("cannot make the folder {}: {}; name another with --out", path.string(),
                    error ? error.message() : "a file of that name is in the way"));
  }
}

// Somebody's own page must not be lost to a folder that was named by mistake.
void refuse_to_overwrite(const fs::path& path) {
  constexpr std::int64_t kLargest = std::int64_t{64} << 20;
  std::error_code error;
  if (!fs::exists(path, error)) return;
  if (fs::is_regular_file(path, error) &&
      written_by_headroom(read_regular_file(path, kLargest))) {
    return;
  }
  throw InvalidArgument(
      fmt::format("{} is there and was not written by headroom report; move it or name another "
                  "folder with --out",
                  path.string()));
}

}  // namespace

WrittenReport write_report(const sweep::ResultsFolder& folder, const fs::path& out) {
  check_one_machine(folder);
  make_folder(out);
  const fs::path page_path = out / "index.html";
  for (const fs::path& path : {page_path, out / "report.md"}) refuse_to_overwrite(path);
  const Findings findings = find_out(folder);
  const Conclusion conclusion = conclude(findings);
  const std::string data = page_data(findings);
  sweep::write_file(out / "results.csv", sweep::export_csv(folder));
  sweep::write_file(page_path, page(findings, conclusion, data));
  const Pictures pictures = draw_pictures(data);
  if (!pictures.drawn.empty()) make_folder(out / "pictures");
  for (const Picture& picture : pictures.drawn) {
    sweep::write_file(out / "pictures" / (picture.name + ".svg"), picture.svg);
  }
  sweep::write_file(out / "report.md", markdown_report(findings, conclusion, pictures));
  WrittenReport report{page_path, {}};
  if (!pictures.missing.empty()) {
    report.warnings.push_back("report.md has no pictures: " + pictures.missing);
  }
  return report;
}

}  // namespace headroom::report
