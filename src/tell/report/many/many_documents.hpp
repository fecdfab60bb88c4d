// Several machines and versions as a page, as a Markdown file and as text.
#pragma once

#include <string>
#include <vector>

#include "across/overview.hpp"
#include "report/many/pictures/chart.hpp"

namespace headroom::report {

/// One self-contained HTML file without scripts.
std::string many_page(const across::Overview& overview, const std::vector<Chart>& charts);

/// Refers to the charts as `<name>.svg` in the folder `pictures` beside it.
std::string many_markdown(const across::Overview& overview, const std::vector<Chart>& charts);

/// The answer, for a terminal.
std::string many_text(const across::Overview& overview);

}  // namespace headroom::report
