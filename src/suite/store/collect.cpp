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
#include "program/files/fresh_file.hpp"
#include "program/files/output_folder.hpp"
#include "program/json_text.hpp"
#include "program/numbers.hpp"
#include "record/folder_lock.hpp"
#include "record/journal.hpp"
#include "record/results_folder.hpp"
#include "store/cleaned.hpp"
#include "store/runs.hpp"
#include "store/shelf.hpp"

namespace headroom::store {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOption = "--into";
constexpr const char* kNext = "free some space or choose another --into";

// Where one process at a time makes a run ready, so that it appears in the store in one step. Git
// is told to look away, and nobody takes the folder for a machine.
class Workshop {
 public:
  explicit Workshop(const fs::path& store)
      : store_(store), folder_(workshop_in(store)), lock_(folder_, kOption) {
    if (!fs::exists(folder_ / ".gitignore")) {
      write_file(folder_ / ".gitignore", "*\n", Links::refuse);
    }
    remove_all(folder_ / "run");  // of a process that was killed
  }

  void put(const Placing& placing) const {
    const fs::path place = store_ / placing.place;
    if (placing.grows) {
      // A line that is not there yet makes the next call write both once more.
      record::write_run(place, placing.run.environment, placing.run.lines());
      return;
    }
    const fs::path run = make_inner_folder(folder_ / "run", kNext);
    record::write_run(run, placing.run.environment, placing.run.lines());
    make_inner_folder(place.parent_path(), kNext);
    if (std::rename(run.c_str(), place.c_str()) != 0) fail_output("write", place, errno, kNext);
    sync_folder(place.parent_path());
    sync_folder(store_);
  }

 private:
  static fs::path workshop_in(const fs::path& store) {
    return make_inner_folder(make_folder(store, kNext) / ".collecting", kNext);
  }

  static void remove_all(const fs::path& folder) {
    std::error_code error;
    fs::remove_all(folder, error);
    if (error) fail_output("remove", folder, error.value(), kNext);
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

// Equal programs differ from launch to launch, so such times can show no difference.
bool is_of_one_process(const CleanRun& run) {
  bool has_times = false;
  for (const record::CellResult& result : run.results) {
    if (!result.has_time()) continue;
    has_times = true;
    if (record::samples_of(result, false).size() > 1) return false;
  }
  return has_times;
}

void leave_out_one_process(CleanRun& run) {
  if (!is_of_one_process(run)) return;
  run.results.clear();
  run.notes.emplace_back(
      "its samples are of one process, so no verdict can rest on them; not taken");
}

std::vector<CleanRun> read_all(const std::vector<fs::path>& folders,
                               const CollectSettings& settings) {
  std::vector<CleanRun> all;
  for (const fs::path& folder : folders) {
    for (const fs::path& run : runs_in(folder)) {
      all.push_back(cleaned(record::read_results_folder(run), settings.secrets));
      if (!settings.peers) drop_peers(all.back());
      leave_out_one_process(all.back());
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
