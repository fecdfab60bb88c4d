// The charts of a report as SVG, drawn by the same code as on the page.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headroom::report {

struct Picture {
  std::string name;   ///< such as `"speed-up-by-heads"`
  std::string title;  ///< what it shows
  std::string note;   ///< its selection, such as a shape
  std::string svg;
};

/// A chart with too little to draw.
struct NotDrawn {
  std::string title;
  std::string reason;  ///< such as `"one number of heads was measured; add --heads 1,12,96"`
};

struct Pictures {
  std::vector<Picture> drawn;
  std::string missing;  ///< why there are none, and what to do; empty if there are
  std::vector<NotDrawn> not_drawn = {};
};

/// @param data of `page_data`.
Pictures draw_pictures(std::string_view data);

}  // namespace headroom::report
