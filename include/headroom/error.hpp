/// @file
/// Errors of the public interface. Every message says what was wrong, where, what was found, what
/// is allowed and what to do next.
#pragma once

#include <stdexcept>
#include <string>

#include "headroom/export.h"

namespace headroom {

/// A violated precondition: a shape, view, option or weight that the library cannot accept.
class HEADROOM_API InvalidArgument : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// A backend or instruction set that this program or machine does not have.
class HEADROOM_API Unavailable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A shape that a backend understands but declines, with its reason.
class HEADROOM_API Unsupported : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The system refuses threads, disk space or a lock. Running out of memory is std::bad_alloc
/// instead.
class HEADROOM_API ResourceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A file that is missing, cannot be read, or does not hold what it should.
class HEADROOM_API FileError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace headroom
