// The runs of a store that a new one may be the same as, and where it would go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "record/result.hpp"
#include "store/catalogue.hpp"
#include "store/cleaned.hpp"

namespace headroom::store {

/// Where a run belongs, and what of it is not in the store yet.
struct Placing {
  std::filesystem::path place;  ///< below the store
  bool grows = false;           ///< the place is there, and gets what `run` has in its stead
  CleanRun run;                 ///< what the place holds afterwards; no results: nothing to do
  std::size_t cells = 0, timed = 0, known = 0;  ///< as in `Collected`

  void count(const record::CellResult& result);
};

/// Knows what the store holds, and what was placed since.
class Shelf {
 public:
  /// @throws FileError if the store cannot be read
  explicit Shelf(std::filesystem::path store);

  /// @throws FileError for results of the same version that cannot be read: whether the run is
  ///         among them is not known then. ResourceError for a link where a folder belongs.
  Placing place(CleanRun run);

 private:
  struct Held {
    std::filesystem::path place;
    CleanRun run;
    std::set<std::uint64_t> measurements;
  };
  using Place = std::pair<std::string, std::string>;  ///< machine and version

  std::vector<Held>& held_of(const Origin& origin);
  std::filesystem::path free_place(const Origin& origin) const;
  void drop_known(CleanRun& run, const std::vector<Held>& all, const Held* same,
                  Placing& placing) const;

  void put(CleanRun run, Placing& placing);
  void grow(Held& held, CleanRun run, Placing& placing) const;

  std::filesystem::path store_;
  Catalogue catalogue_;
  std::map<Place, std::vector<Held>> held_;
  std::map<std::string, std::string> folders_;  ///< of machines that were here, by their names
};

}  // namespace headroom::store
