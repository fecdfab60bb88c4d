// Checks the sources against the two tables of CONTRIBUTING.md and the rules below them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace headroom::rooms_test {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = HEADROOM_SOURCE;

constexpr std::size_t kMostFilesOfAFolder = 40;
constexpr double kMostShareOfARoom = 0.15;

std::string read(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

bool is_source(const fs::path& path) {
  return path.extension() == ".cpp" || path.extension() == ".hpp";
}

// Sources below a folder, by their paths from there.
std::map<std::string, std::string> sources(const fs::path& folder) {
  std::map<std::string, std::string> all;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
    if (!entry.is_regular_file() || !is_source(entry.path())) continue;
    all.emplace(fs::relative(entry.path(), kRoot / folder).generic_string(), read(entry.path()));
  }
  return all;
}

// Each sees those before it.
const std::vector<std::string> kBuildings{"library", "suite", "tell"};

// Sources of all buildings, by their paths from there, as an #include names them.
std::map<std::string, std::string> sources() {
  std::map<std::string, std::string> all;
  for (const std::string& building : kBuildings) {
    for (const auto& [path, text] : sources(fs::path("src") / building)) {
      EXPECT_TRUE(all.emplace(path, text).second) << path << " stands in two buildings";
    }
  }
  return all;
}

// Where a room stands in the order of the buildings.
std::map<std::string, std::size_t> floors() {
  std::map<std::string, std::size_t> all;
  for (std::size_t i = 0; i < kBuildings.size(); ++i) {
    for (const auto& entry : fs::directory_iterator(kRoot / "src" / kBuildings[i])) {
      if (entry.is_directory()) all[entry.path().filename().string()] = i;
    }
  }
  return all;
}

std::vector<std::string> includes(const std::string& text) {
  static const std::regex include_line("#include \"([^\"]+)\"");
  std::vector<std::string> all;
  for (std::sregex_iterator i(text.begin(), text.end(), include_line), end; i != end; ++i) {
    all.push_back((*i)[1]);
  }
  return all;
}

std::string room_of(const std::string& path) { return path.substr(0, path.find('/')); }

using Graph = std::map<std::string, std::set<std::string>>;

// What the rows of a table name in their first cell, each with the names of its last.
Graph table_of(const std::regex& row_of_it) {
  static const std::regex quoted_name("`(\\w+)`");
  Graph all;
  std::istringstream lines(read(kRoot / "CONTRIBUTING.md"));
  for (std::string line; std::getline(lines, line);) {
    std::smatch row;
    if (!std::regex_match(line, row, row_of_it)) continue;
    std::set<std::string>& seen = all[row[1]];
    const std::string names = row[2];
    for (std::sregex_iterator i(names.begin(), names.end(), quoted_name), end; i != end; ++i) {
      seen.insert((*i)[1]);
    }
  }
  return all;
}

// The rooms, each with those that it may see: rows such as
// | `plan` | what is measured | `core` `machine` |
Graph rooms() { return table_of(std::regex(R"(^\| `(\w+)` \|[^|]*\|([^|]*)\|$)")); }

// Folders beside src/, each with the rooms that it may see: rows such as
// | `bench/` | `core` `machine` |
Graph folders_beside() { return table_of(std::regex(R"(^\| `([\w/]+)/` \|([^|]*)\|$)")); }

// A circle of a graph as text, or nothing.
std::string circle_of(const Graph& graph) {
  std::map<std::string, int> state;  // 1: on the path, 2: done
  std::vector<std::string> path;
  std::string found;
  const std::function<void(const std::string&)> visit = [&](const std::string& node) {
    if (!found.empty() || state[node] == 2) return;
    path.push_back(node);
    if (state[node] == 1) {
      for (const std::string& step : path) found += step + " ";
      return;
    }
    state[node] = 1;
    const auto edges = graph.find(node);
    if (edges != graph.end()) {
      for (const std::string& next : edges->second) visit(next);
    }
    state[node] = 2;
    path.pop_back();
  };
  for (const auto& [node, _] : graph) visit(node);
  return found;
}

TEST(House, EveryRoomStandsInTheTable) {
  const auto table = rooms();
  std::set<std::string> found;
  for (const auto& [path, _] : sources()) found.insert(room_of(path));
  for (const std::string& room : found) EXPECT_TRUE(table.contains(room)) << "src/" << room;
  for (const auto& [room, _] : table) EXPECT_TRUE(found.contains(room)) << room;
}

TEST(House, HasThreeBuildings) {
  std::set<std::string> found;
  for (const auto& entry : fs::directory_iterator(kRoot / "src")) {
    if (entry.is_directory()) found.insert(entry.path().filename().string());
  }
  EXPECT_EQ(found, std::set<std::string>(kBuildings.begin(), kBuildings.end()));
}

TEST(House, TellSeesSuiteAndSuiteSeesLibrary) {
  const auto floor = floors();
  for (const auto& [room, seen] : rooms()) {
    for (const std::string& other : seen) {
      ASSERT_TRUE(floor.contains(room) && floor.contains(other)) << room << ' ' << other;
      EXPECT_LE(floor.at(other), floor.at(room)) << room << " may not see " << other;
    }
  }
}

TEST(House, ARoomSeesOnlyWhatTheTableAllows) {
  const auto table = rooms();
  for (const auto& [path, text] : sources()) {
    const std::string room = room_of(path);
    for (const std::string& include : includes(text)) {
      if (include.find('/') == std::string::npos) continue;  // made by the build
      const std::string seen = room_of(include);
      if (seen == room || seen == "headroom") continue;
      EXPECT_TRUE(table.contains(room) && table.at(room).contains(seen))
          << "src/" << path << " includes " << include << "; " << room << " may not see " << seen;
    }
  }
}

// Below tests/ a folder that stands in no row has the name of what it tests, and sees all.
TEST(House, FoldersBesideSrcSeeOnlyWhatTheirTableAllows) {
  const auto table = folders_beside();
  const auto all_rooms = rooms();
  EXPECT_TRUE(table.contains("python/src"));
  EXPECT_TRUE(table.contains("bench"));
  for (const auto& [folder, seen] : table) {
    ASSERT_TRUE(fs::is_directory(kRoot / folder)) << folder;
    for (const std::string& room : seen) EXPECT_TRUE(all_rooms.contains(room)) << room;
    for (const auto& [path, text] : sources(folder)) {
      for (const std::string& include : includes(text)) {
        const std::string room = room_of(include);
        if (!all_rooms.contains(room)) continue;  // the public door, or a header of the folder
        EXPECT_TRUE(seen.contains(room))
            << folder << '/' << path << " includes " << include << "; its row has no " << room;
      }
    }
  }
}

TEST(House, HasNoCircleOfRooms) { EXPECT_EQ(circle_of(rooms()), ""); }

// A header and its source count as one.
TEST(House, HasNoCircleOfFiles) {
  const auto all = sources();
  Graph graph;
  for (const auto& [path, text] : all) {
    const std::string file = path.substr(0, path.rfind('.'));
    for (const std::string& include : includes(text)) {
      const std::string other = include.substr(0, include.rfind('.'));
      if (all.contains(include) && other != file) graph[file].insert(other);
    }
  }
  EXPECT_EQ(circle_of(graph), "");
}

TEST(House, NoBackendSeesAnother) {
  for (const auto& [path, text] : sources()) {
    if (!path.starts_with("backends/")) continue;
    const std::string own = path.substr(0, path.rfind('/') + 1);
    for (const std::string& include : includes(text)) {
      if (!include.starts_with("backends/") || include.starts_with(own)) continue;
      const bool shared =
          include.find('/', 9) == std::string::npos || include.starts_with("backends/textbook/");
      EXPECT_TRUE(shared) << "src/" << path << " includes " << include;
    }
  }
}

TEST(House, HasNoCityAmongItsRooms) {
  std::map<std::string, std::size_t> files, lines;
  std::size_t total = 0;
  for (const auto& [path, text] : sources()) {
    ++files[path.substr(0, path.rfind('/'))];
    const auto count = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    lines[room_of(path)] += count;
    total += count;
  }
  for (const auto& [folder, count] : files) {
    EXPECT_LE(count, kMostFilesOfAFolder) << "source files in src/" << folder;
  }
  for (const auto& [room, count] : lines) {
    EXPECT_LE(static_cast<double>(count), kMostShareOfARoom * static_cast<double>(total))
        << "lines in src/" << room << " of " << total;
  }
}

// One file for each subcommand carries the subcommand's name.
TEST(House, HasNoTwoFilesOfOneName) {
  std::map<std::string, std::string> places;
  for (const auto& [path, _] : sources()) {
    if (path.starts_with("cli/")) continue;
    const auto [place, fresh] = places.emplace(fs::path(path).filename().string(), path);
    EXPECT_TRUE(fresh) << "src/" << path << " and src/" << place->second;
  }
}

TEST(House, CommandsNeitherMeasureNorRecord) {
  const std::set<std::string> forbidden{
      "measure/group/check.hpp", "measure/group/group_measurement.hpp",
      "measure/runner.hpp",      "measure/workers/isolation.hpp",
      "record/continuation.hpp", "record/journal.hpp",
      "record/run_record.hpp",   "measure/workers/worker_process.hpp"};
  for (const std::string& header : forbidden) {
    EXPECT_TRUE(sources().contains(header)) << header << " is forbidden, but not there";
  }
  for (const auto& [path, text] : sources()) {
    if (!path.starts_with("cli/")) continue;
    for (const std::string& include : includes(text)) {
      EXPECT_FALSE(forbidden.contains(include)) << "src/" << path << " includes " << include;
    }
  }
}

// What is written in quotes, or anywhere in files whose words are code.
bool names_backend(const fs::path& path, const std::string& text, const std::string& name) {
  if (is_source(path) || path.extension() == ".h") {
    static const std::regex comment("//[^\n]*|/\\*[^*]*\\*+(?:[^/*][^*]*\\*+)*/");
    return std::regex_replace(text, comment, "").find('"' + name + '"') != std::string::npos;
  }
  static const std::regex talk("#[^\n]*|//[^\n]*");
  return std::regex_search(std::regex_replace(text, talk, ""),
                           std::regex("(^|[^\\w.-])[\"']?" + name + "[\"']?( *:|[\"')])"));
}

TEST(House, OnlyItsOwnFolderAndTheListsNameABackend) {
  std::smatch list;
  const std::string cmake = read(kRoot / "src/library/backends/backends.cmake");
  ASSERT_TRUE(std::regex_search(cmake, list, std::regex("HEADROOM_KNOWN_BACKENDS ([a-z0-9 ]+)")));
  std::istringstream names(list[1]);
  for (std::string name; names >> name;) {
    for (const char* folder :
         {"src", "include", "bench", "cmake", "python/src", "reports/page/scripts"}) {
      for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
        if (!entry.is_regular_file()) continue;
        const std::string path = fs::relative(entry.path(), kRoot).generic_string();
        const bool own = path.starts_with("src/library/backends/" + name + "/");
        const bool a_list =
            path == "src/library/backends/backends.cmake" || path == "include/headroom/backend.hpp";
        // A baseline is of use with its rival, so that one package holds both.
        const bool packaged = path == "src/library/backends/autovec/CMakeLists.txt";
        if (own || a_list || packaged) continue;
        EXPECT_FALSE(names_backend(entry.path(), read(entry.path()), name))
            << path << " names " << name;
      }
    }
  }
}

}  // namespace
}  // namespace headroom::rooms_test
