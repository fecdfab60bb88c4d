// The words of the command line, with those of files that it names.
#pragma once

#include <string>
#include <vector>

namespace headroom::cli {

/// The words after the program's name. `@FILE` becomes what the file says: one option a line, as
/// `--heads 12,96` or
/// `--heads=12,96`, whose value ends with the line and may contain blanks; any other line is one
/// word. Empty lines, and those that begin with `#`, say nothing.
/// @throws FileError for a file that cannot be read; InvalidArgument for one that names another.
std::vector<std::string> expand_arguments(int count, const char* const* arguments);

}  // namespace headroom::cli
