// A results folder as the page and the text that a report makes of it.
#pragma once

#include <string>

#include "report/page/documents.hpp"
#include "report/page/page_data.hpp"
#include "report/words/facts.hpp"

namespace headroom::test {

inline std::string page_of(const record::ResultsFolder& folder) {
  const report::Findings findings = report::find_out(folder);
  return report::page(findings, report::conclude(findings), report::page_data(findings));
}

/// Without pictures.
inline std::string markdown_of(const record::ResultsFolder& folder) {
  const report::Findings findings = report::find_out(folder);
  return report::markdown_report(findings, report::conclude(findings), {{}, "no <node>"});
}

}  // namespace headroom::test
