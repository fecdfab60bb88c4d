#include "record/results_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/regular_file.hpp"
#include "core/text/shown.hpp"
#include "headroom/error.hpp"
#include "json/nesting.hpp"
#include "program/exit_code.hpp"
#include "program/json_text.hpp"

namespace headroom::record {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr std::int64_t kMaxEnvironmentBytes = std::int64_t{16} << 20;
constexpr const char* kEnvironmentSchema = "headroom.environment/1";

void check_folder(const fs::path& path) {
  constexpr const char* kNext = "give a folder that headroom sweep wrote";
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) {
    throw FileError(fmt::format("cannot read the results folder {}: {}; {}", shown_path(path),
                                error ? error.message() : "it does not exist", kNext));
  }
  if (!fs::is_directory(status)) {
    throw FileError(fmt::format("{} is not a folder; {}", shown_path(path), kNext));
  }
  for (const char* name : {"environment.json", "results.jsonl"}) {
    if (!fs::exists(fs::status(path / name, error))) {
      throw FileError(fmt::format("{} contains no {}; {}", shown_path(path), name, kNext));
    }
  }
}

struct Line {
  std::string_view text;
  std::size_t number = 1;
  std::size_t offset = 0;
};

[[noreturn]] void fail(const fs::path& path, const Line& line, std::size_t byte,
                       const std::string& found) {
  throw FileError(fmt::format(
      "{}:{} (byte {}): {}; remove the line, restore it from a copy of the folder or measure again",
      shown_path(path), line.number, line.offset + byte, found));
}

// Keeps the byte offset beside the line number, so that an error can name both.
class LineReader {
 public:
  LineReader(const fs::path& file, ResultsFolder& folder) : file_(file), folder_(folder) {}

  void read(std::string_view text) {
    Line line;
    for (; line.offset < text.size(); ++line.number) {
      const std::size_t end = text.find('\n', line.offset);
      if (end == std::string_view::npos) {
        line.text = text.substr(line.offset);
        note_torn(line, "it does not end in a newline");
        return;
      }
      line.text = text.substr(line.offset, end - line.offset);
      if (!add(line, end + 1 == text.size())) return;
      line.offset = end + 1;
      folder_.intact_bytes = static_cast<std::int64_t>(line.offset);
    }
  }

 private:
  void note_torn(const Line& line, const char* why) {
    folder_.notes.push_back(fmt::format("{}:{} (byte {}): the last line is torn: {}; it is dropped",
                                        shown_path(file_), line.number, line.offset, why));
  }

  // @return whether the line was whole.
  bool add(const Line& line, bool last) {
    ordered_json json;
    if (nesting_of(line.text) > kMostNesting) {
      fail(file_, line, 0, fmt::format("nested deeper than {}", kMostNesting));
    }
    try {
      json = ordered_json::parse(line.text);
    } catch (const ordered_json::parse_error& error) {
      if (!last) fail(file_, line, error.byte == 0 ? 0 : error.byte - 1, "not valid JSON");
      note_torn(line, "it is not valid JSON");
      return false;
    } catch (const ordered_json::exception&) {
      fail(file_, line, 0, "a number is too large");
    }
    const bool hostile = show_texts(json);
    try {
      keep(from_json(json), line, hostile ? to_text(json) : std::string(line.text));
    } catch (const InvalidArgument& error) {
      fail(file_, line, 0, error.what());
    }
    return true;
  }

  void keep(CellResult result, const Line& line, std::string text) {
    const auto [place, fresh] = places_.try_emplace(result.cell.id, folder_.results.size());
    if (fresh) {
      folder_.results.push_back(std::move(result));
      folder_.lines.push_back(std::move(text));
      return;
    }
    folder_.notes.push_back(fmt::format("{}:{}: {} occurs twice; the later line counts",
                                        shown_path(file_), line.number, result.cell.id));
    folder_.results[place->second] = std::move(result);
    folder_.lines[place->second] = std::move(text);
  }

  const fs::path& file_;
  ResultsFolder& folder_;
  std::map<std::string, std::size_t> places_;
};

// The backends by name, in the order that the measuring program had them in.
std::map<std::string, std::size_t> backend_places(const ordered_json& environment) {
  std::map<std::string, std::size_t> places;
  const auto backends = environment.find("backends");
  if (backends == environment.end() || !backends->is_array()) return places;
  for (const ordered_json& backend : *backends) {
    if (!backend.is_object()) continue;
    const auto name = backend.find("name");
    if (name == backend.end() || !name->is_string()) continue;
    places.try_emplace(name->get<std::string>(), places.size());
  }
  return places;
}

// The lines are in the order in which cells finished, which is random. People expect that of the
// axes.
void fill_in_order(ResultsFolder& folder) {
  const std::map<std::string, std::size_t> places = backend_places(folder.environment);
  const auto key = [&](const CellResult& result) {
    const auto place = places.find(result.cell.backend);
    return std::make_tuple(place == places.end() ? places.size() : place->second,
                           result.cell.backend, result.cell.ranks, result.cell.threads,
                           result.cell.formulation, result.cell.numbers.as_stored(),
                           result.cell.numbers.precision);
  };
  std::map<decltype(key(folder.results.front())), std::size_t> orders;
  for (const CellResult& result : folder.results) orders.try_emplace(key(result));
  std::size_t next = 0;
  for (auto& [_, order] : orders) order = next++;
  for (CellResult& result : folder.results) result.cell.order = orders.at(key(result));
}

}  // namespace

ordered_json read_environment(const fs::path& folder) {
  const fs::path path = folder / "environment.json";
  const std::string text = read_regular_file(path, kMaxEnvironmentBytes);
  constexpr const char* kNext = "restore it from a copy of the folder or measure again";
  if (nesting_of(text) > kMostNesting) {
    throw FileError(
        fmt::format("{}: nested deeper than {}; {}", shown_path(path), kMostNesting, kNext));
  }
  ordered_json environment;
  try {
    environment = ordered_json::parse(text);
  } catch (const ordered_json::parse_error& error) {
    throw FileError(fmt::format("{}, byte {} of {}: not valid JSON; {}", shown_path(path),
                                error.byte == 0 ? 0 : error.byte - 1, text.size(), kNext));
  } catch (const ordered_json::exception&) {
    throw FileError(fmt::format("{}: a number is too large; {}", shown_path(path), kNext));
  }
  const auto schema = environment.is_object() ? environment.find("schema") : environment.end();
  if (!environment.is_object() || schema == environment.end() || *schema != kEnvironmentSchema) {
    throw FileError(fmt::format("{}: not an environment of schema {}; {}", shown_path(path),
                                kEnvironmentSchema, kNext));
  }
  show_texts(environment);
  return environment;
}

ResultsFolder read_results_folder(const fs::path& path, Empty empty) {
  check_folder(path);
  ResultsFolder folder;
  folder.path = path;
  folder.environment = read_environment(path);
  const fs::path file = path / "results.jsonl";
  LineReader(file, folder).read(read_regular_file(file, kMaxResultsBytes));
  if (folder.results.empty() && empty == Empty::refuse) {
    throw FileError(fmt::format("{}: holds no finished cell{}; measure with headroom sweep",
                                shown_path(file),
                                folder.notes.empty() ? "" : ", only a torn line"));
  }
  fill_in_order(folder);
  mark_peers(folder);
  return folder;
}

void mark_peers(ResultsFolder& folder) {
  const auto peers = folder.environment.find("peers");
  if (peers == folder.environment.end() || !peers->is_object()) return;
  for (CellResult& result : folder.results) result.peer = peers->contains(result.cell.backend);
}

std::vector<const CellResult*> in_order(const ResultsFolder& folder) {
  std::map<std::string, std::size_t> shapes;
  std::vector<std::pair<std::size_t, const CellResult*>> keyed;
  for (const CellResult& result : folder.results) {
    const auto shape = shapes.try_emplace(result.shape.id(), shapes.size()).first;
    keyed.emplace_back(shape->second, &result);
  }
  std::stable_sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) {
    if (a.first != b.first) return a.first < b.first;
    return a.second->cell.order < b.second->cell.order;
  });
  std::vector<const CellResult*> results;
  results.reserve(keyed.size());
  for (const auto& [_, result] : keyed) results.push_back(result);
  return results;
}

std::vector<std::vector<const CellResult*>> without_time_by_reason(
    const std::vector<const CellResult*>& results) {
  std::vector<std::vector<const CellResult*>> reasons;
  std::map<std::pair<Status, std::string>, std::size_t> places;
  for (const CellResult* result : results) {
    if (result->status == Status::ok) continue;
    const auto [place, fresh] =
        places.try_emplace({result->status, result->reason}, reasons.size());
    if (fresh) reasons.emplace_back();
    reasons[place->second].push_back(result);
  }
  return reasons;
}

}  // namespace headroom::record
