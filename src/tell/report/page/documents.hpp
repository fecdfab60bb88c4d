// The report as a page and as a Markdown file.
#pragma once

#include <string>

#include "report/findings/findings.hpp"
#include "report/page/pictures.hpp"
#include "report/words/conclusion.hpp"

namespace headroom::report {

inline constexpr const char* kAnswerNote =
    "How sure: *clear*, every other backend is slower by more than the noise; *tie*, little can be "
    "lost by any that are "
    "as fast; *not known*, another may be as fast or faster, so measure longer or on a quieter "
    "machine. Over the next: "
    "the time of the next backend over that of this one.";
inline constexpr const char* kShapeNote =
    "One row per shape, with its fastest cell. *Tied with*: linking these loses little. *Not "
    "distinguishable* (n.d.): "
    "they may be as fast or slower. ± is half the 95 % confidence interval of the time.";

/// One self-contained HTML file.
/// @param data of `page_data`.
std::string page(const Findings& findings, const Conclusion& conclusion, const std::string& data);

/// Refers to the pictures as `<name>.svg` in the folder `pictures` beside it.
std::string markdown_report(const Findings& findings, const Conclusion& conclusion,
                            const Pictures& pictures);

/// Whether the text is a page or a Markdown file that this program wrote.
bool written_by_headroom(std::string_view text);

}  // namespace headroom::report
