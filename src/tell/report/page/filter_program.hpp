// Runs another program that reads a text and answers with one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headroom::report {

struct FilterResult {
  bool started = false;
  std::string reason;  ///< why it did not start, or did not end well; empty if it did
  std::string output;
};

/// Sends `input` to the program's standard input and collects its standard output. Its standard
/// error goes nowhere.
/// @param seconds after which it is ended, with all that it started
FilterResult filter_through(const std::string& program, const std::vector<std::string>& arguments,
                            std::string_view input, double seconds);

}  // namespace headroom::report
