// What was tuned, as a table for people and as a tuning file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tune/tuned.hpp"

namespace headroom::tune {

/// A table of every variant, and the choice below it.
std::string to_text(const std::vector<Tuned>& all, const std::vector<Case>& shapes);

/// The text of a tuning file with these choices. What else a file at `path` holds is kept, such as
/// the times of backends that `headroom pick` wrote.
/// @throws FileError if there is a file that is no tuning file, or one of another machine or
///         version, whose other parts would get the name of this machine.
std::string tuning_text(const std::filesystem::path& path, const std::vector<Tuned>& all, Isa isa);

}  // namespace headroom::tune
