// Puts results folders into a store of files: `STORE/MACHINE/VERSION/{environment.json,
// results.jsonl}`.
//
// A folder of the store is one run: what one program measured on one machine from one start to its
// end. Runs of one version are not joined, because their samples do not share the minutes, the
// roofs and the noise floor: a cell of Monday beside a rival of Friday would be a comparison that
// nobody made. The second run of a version becomes `VERSION.2`, and whoever reads both knows that
// equal programs are compared. Two things are joined: a run that was collected before and has grown
// since, as by `--resume`, and a crashed cell of it, which a later line replaces, as when resuming.
//
// A measurement counts once. It is known by its cell and its samples, so a copy of a folder, or one
// that `headroom merge` made of folders that were collected, adds only what is new.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace headroom::store {

/// What happened to a folder, or would.
struct Collected {
  enum class Taken { as_new, as_grown, nothing };

  std::filesystem::path source;
  std::filesystem::path
      place;              ///< below the store, such as `amd-epyc-2-cores-3f9a10/0.1.0-aeb00f0`
  std::string processor;  ///< as people read it
  Taken taken = Taken::nothing;
  std::size_t cells = 0;   ///< that are new in the store
  std::size_t timed = 0;   ///< of them, those with a time
  std::size_t known = 0;   ///< that the store had before
  double noise_floor = 0;  ///< of the run; 0 if nobody knows
  std::vector<std::string> notes;
};

struct CollectSettings {
  bool dry_run = false;
  bool peers = true;                 ///< else only cells of ours are taken
  std::vector<std::string> secrets;  ///< names that must not get into the store
};

/// Reads all folders and those of stores among them, cleans them (`cleaned`) and then writes one
/// after the other. A folder appears in the store whole or not at all; one that grows is replaced
/// file by file, the environment first, so that after a crash the same call completes it. Nothing
/// is ever removed. One process collects at a time. Of a folder whose samples are all of one
/// process nothing is taken, and a note says so: no verdict can rest on them.
/// @throws FileError for a folder that cannot be read: nothing is written then. ResourceError if
///         another process collects, or for a store that cannot be written; folders before it are
///         kept. InvalidArgument if `store` is itself a results folder.
std::vector<Collected> collect(const std::vector<std::filesystem::path>& folders,
                               const std::filesystem::path& store, const CollectSettings& settings);

}  // namespace headroom::store
