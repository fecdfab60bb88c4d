// What linking a backend costs on this machine: packages and shared libraries.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headroom::pick {

struct LinkCost {
  std::string backend;
  std::vector<std::string> libraries;       ///< shared ones that come with it, of this program
  std::int64_t library_bytes = 0;           ///< of their files
  std::vector<std::string> packages;        ///< Debian's, needed to run
  std::vector<std::string> build_packages;  ///< Debian's, needed to build
  bool known = true;  ///< else the backend is not part of this program, and the rest says nothing
  bool measured = true;  ///< else the packages are those of Debian 12 and the bytes are unknown
};

/// The libraries that the backend's own library has brought into this process, whatever those need
/// in turn included, without the C and C++ run-time libraries that every program has; and the
/// packages that dpkg says they are from.
LinkCost link_cost(const std::string& backend);

/// What is known before what is not; then fewer packages to run, then fewer bytes of shared
/// libraries, then fewer packages to build.
bool lighter(const LinkCost& a, const LinkCost& b);

/// Such as `libtbb12 (0.3 MiB)`, or `nothing`.
std::string to_text(const LinkCost& cost);

}  // namespace headroom::pick
