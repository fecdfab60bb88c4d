// The report as a page and as a Markdown file.
#pragma once

#include <string>
#include <string_view>

#include "report/findings/findings.hpp"
#include "report/page/pictures.hpp"
#include "report/words/conclusion.hpp"

namespace headroom::report {

/// One self-contained HTML file.
/// @param data of `page_data`.
std::string page(const Findings& findings, const Conclusion& conclusion, const std::string& data);

/// Refers to the pictures as `<name>.svg` in the folder `pictures` beside it.
std::string markdown_report(const Findings& findings, const Conclusion& conclusion,
                            const Pictures& pictures);

/// With it a Markdown file of ours begins.
inline constexpr std::string_view kMarkdownMark = "<!-- written by headroom report -->";

/// Whether the text is a page or a Markdown file that this program wrote.
bool written_by_headroom(std::string_view text);

}  // namespace headroom::report
