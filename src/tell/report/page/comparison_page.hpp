// Two results folders side by side as a page.
#pragma once

#include <string>

#include "judge/compare.hpp"

namespace headroom::report {

/// One self-contained HTML file without scripts: what changed, every cell in a picture and in a
/// table.
std::string comparison_page(const judge::FolderComparison& comparison);

}  // namespace headroom::report
