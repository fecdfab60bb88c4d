#include "store/collect.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

#include "core/text/shown.hpp"
#include "headroom/error.hpp"
#include "program/exit_code.hpp"
#include "program/fresh_file.hpp"
#include "program/json_text.hpp"
#include "program/numbers.hpp"
#include "record/folder_files.hpp"
#include "record/folder_lock.hpp"
#include "record/results_folder.hpp"
#include "store/cleaned.hpp"
#include "store/runs.hpp"
#include "store/shelf.hpp"

namespace headroom::store {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOption = "--into";
constexpr const char* kNext = "free some space or choose another --into";

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) record::fail_output("make the folder", folder, error.value(), kNext);
}

void move_to(const fs::path& from, const fs::path& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) record::fail_output("write", to, errno, kNext);
}

void write(const fs::path& file, std::string_view text) {
  FreshFile fresh(file);
  fresh.write(text);
  fresh.commit();
}

// Where one process at a time makes a run ready, so that it appears in the store in one step. Git
// is told to look away, and nobody takes the folder for a machine.
class Workshop {
 public:
  explicit Workshop(const fs::path& store)
      : store_(store), folder_(made(store / ".collecting")), lock_(folder_, kOption) {
    if (!fs::exists(folder_ / ".gitignore")) write(folder_ / ".gitignore", "*\n");
    remove_all(folder_ / "run");  // of a process that was killed
  }

  void put(const Placing& placing) const {
    const fs::path run = made(folder_ / "run");
    write(run / "environment.json", to_text(placing.run.environment, 2) + "\n");
    write(run / "results.jsonl", placing.run.lines());
    record::sync_folder(run);
    const fs::path place = store_ / placing.place;
    if (placing.grows) {
      // A line that is not there yet makes the next call write both once more.
      move_to(run / "environment.json", place / "environment.json");
      move_to(run / "results.jsonl", place / "results.jsonl");
      record::sync_folder(place);
    } else {
      make_folder(place.parent_path());
      move_to(run, place);
      record::sync_folder(place.parent_path());
      record::sync_folder(store_);
    }
  }

 private:
  static fs::path made(const fs::path& folder) {
    make_folder(folder);
    return folder;
  }

  static void remove_all(const fs::path& folder) {
    std::error_code error;
    fs::remove_all(folder, error);
    if (error) record::fail_output("remove", folder, error.value(), kNext);
  }

  fs::path store_;
  fs::path folder_;
  record::FolderLock lock_;
};

void drop_peers(CleanRun& run) {
  const std::size_t count =
      std::erase_if(run.results, [](const record::CellResult& result) { return result.peer; });
  const auto peers = run.environment.find("peers");
  if (peers != run.environment.end() && run.environment.contains("backends")) {
    auto& backends = run.environment["backends"];
    for (auto backend = backends.begin(); backend != backends.end();) {
      const bool peer = peers->contains(text_at(*backend, "/name", ""));
      backend = peer ? backends.erase(backend) : std::next(backend);
    }
  }
  run.environment.erase("peers");
  if (count == 0) return;
  run.notes.push_back(fmt::format("{} of other libraries left out, because of --without-peers",
                                  counted(count, "cell")));
}

std::vector<CleanRun> read_all(const std::vector<fs::path>& folders,
                               const CollectSettings& settings) {
  std::vector<CleanRun> all;
  for (const fs::path& folder : folders) {
    for (const fs::path& run : runs_in(folder)) {
      all.push_back(cleaned(record::read_results_folder(run), settings.secrets));
      if (!settings.peers) drop_peers(all.back());
    }
  }
  return all;
}

Collected told(const Placing& placing) {
  using Taken = Collected::Taken;
  Collected collected;
  collected.source = placing.run.source;
  collected.place = placing.place;
  collected.processor = placing.run.origin.processor;
  if (placing.cells > 0) collected.taken = placing.grows ? Taken::as_grown : Taken::as_new;
  collected.cells = placing.cells;
  collected.timed = placing.timed;
  collected.known = placing.known;
  const auto& floor = value_at(placing.run.environment, "/noise/floor");
  if (floor.is_number()) collected.noise_floor = floor.get<double>();
  collected.notes = placing.run.notes;
  return collected;
}

}  // namespace

std::vector<Collected> collect(const std::vector<fs::path>& folders, const fs::path& store,
                               const CollectSettings& settings) {
  if (is_run(store)) {
    throw InvalidArgument(
        fmt::format("--into: {} is itself a results folder; give the folder that holds, or will "
                    "hold, MACHINE/VERSION",
                    shown_path(store)));
  }
  std::vector<CleanRun> runs = read_all(folders, settings);
  std::optional<Workshop> workshop;
  if (!settings.dry_run) workshop.emplace(store);
  Shelf shelf(store);
  std::vector<Collected> all;
  for (CleanRun& run : runs) {
    const Placing placing = shelf.place(std::move(run));
    if (workshop && placing.cells > 0) workshop->put(placing);
    all.push_back(told(placing));
  }
  return all;
}

}  // namespace headroom::store
