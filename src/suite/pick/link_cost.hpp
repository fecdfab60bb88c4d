// What linking a backend costs on this machine: packages and shared libraries.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "judge/link_choice.hpp"

namespace headroom::pick {

struct LinkCost {
  std::string backend;
  std::vector<std::string> libraries;       ///< shared libraries that it brings into this program
  std::int64_t library_bytes = 0;           ///< size of their files
  std::vector<std::string> packages;        ///< Debian packages needed to run
  std::vector<std::string> build_packages;  ///< Debian packages needed to build
  bool known = true;  ///< otherwise the backend is not in this program and the rest is meaningless
  bool measured = true;  ///< otherwise packages are those of Debian 12 and the size is unknown
};

/// The libraries that the backend's library and the core's have brought into this process,
/// including what those need in turn but without the C and C++ run-time libraries that every
/// program has. The packages are those that own the files according to dpkg.
LinkCost link_cost(const std::string& backend);

/// What decides which of two is lighter: known costs come before unknown ones; then fewer packages
/// to run, then fewer bytes of shared libraries, then fewer packages to build.
judge::LinkWeight weight_of(const LinkCost& cost);
bool lighter(const LinkCost& a, const LinkCost& b);

/// Such as `libtbb12 (0.3 MiB)`, or `nothing`.
std::string to_text(const LinkCost& cost);

}  // namespace headroom::pick
