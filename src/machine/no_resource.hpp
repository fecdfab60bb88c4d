// What the system refuses to give.
#pragma once

#include <stdexcept>

namespace headroom::machine {

/// Threads or memory that a measurement needs and the system does not give. The programs end with
/// exit code 4 on it.
class NoResource : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace headroom::machine
