#include "sweep/stored_lines.hpp"

#include <fmt/format.h>

#include <limits>
#include <map>
#include <utility>

#include "sweep/exit_code.hpp"
#include "sweep/regular_file.hpp"

namespace headroom::sweep {

using nlohmann::ordered_json;

std::vector<StoredLine> stored_lines(const ResultsFolder& folder) {
  const std::filesystem::path path = folder.path / "results.jsonl";
  const std::string text = read_regular_file(path, std::numeric_limits<std::int64_t>::max() - 1);
  const auto intact = static_cast<std::size_t>(folder.intact_bytes);
  std::vector<StoredLine> lines;
  std::map<std::string, std::size_t> places;
  try {
    for (std::size_t start = 0; start < intact;) {
      const std::size_t end = text.find('\n', start);
      StoredLine line{text.substr(start, end - start), "", Status::ok};
      const ordered_json json = ordered_json::parse(line.text);
      line.id = json.at("id").get<std::string>();
      line.status = parse_status(json.at("status").get<std::string>()).value_or(Status::ok);
      const auto [place, fresh] = places.try_emplace(line.id, lines.size());
      if (fresh) {
        lines.push_back(std::move(line));
      } else {
        lines[place->second] = std::move(line);
      }
      start = end + 1;
    }
  } catch (const ordered_json::exception&) {
    lines.clear();
  }
  if (lines.size() != folder.results.size()) {
    throw FileError(
        fmt::format("{} changed while it was read; wait until nobody writes it", path.string()));
  }
  return lines;
}

}  // namespace headroom::sweep
