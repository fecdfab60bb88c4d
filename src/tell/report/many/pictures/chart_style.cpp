#include "report/many/pictures/chart_style.hpp"

#include <cstddef>

#include "page/embedded.hpp"

HEADROOM_ASSET(many_chart, HEADROOM_ASSET_FOLDER "/many_chart.css")
HEADROOM_ASSET(many_css, HEADROOM_ASSET_FOLDER "/many.css")
HEADROOM_ASSET(many_html, HEADROOM_ASSET_FOLDER "/many.html")

namespace headroom::report {

std::string_view chart_style() { return many_chart_text(); }
std::string_view many_style() { return many_css_text(); }
std::string_view many_page_text() { return many_html_text(); }

}  // namespace headroom::report
