// Files built into the program, so that a report can be made anywhere.
#pragma once

#include <string_view>

namespace headroom::report {

struct Assets {
  std::string_view page;     ///< HTML with `{{places}}`
  std::string_view style;    ///< CSS
  std::string_view charts;   ///< scripts that both the page and the pictures need
  std::string_view browser;  ///< scripts of the page alone
  std::string_view picture;  ///< script that draws the pictures under node
  std::string_view echarts;  ///< Apache ECharts; empty if it was not installed at build time
};

const Assets& assets();

}  // namespace headroom::report
