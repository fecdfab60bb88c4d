// The looks of pictures of several machines, for the page and for files of their own.
#pragma once

#include <string_view>

namespace headroom::report {

/// Style sheet of the marks; embedded from reports/page/many_chart.css.
std::string_view chart_style();

/// The page of several machines, and its style sheet beside that of all pages.
std::string_view many_page_text();
std::string_view many_style();

}  // namespace headroom::report
