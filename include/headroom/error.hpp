/// @file
/// Errors that leave the public door. Every message says what was wrong, where, what was found,
/// what is allowed and what to do next.
#pragma once

#include <stdexcept>
#include <string>

namespace headroom {

/// A violated precondition: a shape, view, option or weight that the library cannot accept.
class InvalidArgument : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// A backend or an instruction set that this program or this machine does not have.
class Unavailable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A shape that a backend understands but declines, with its reason.
class Unsupported : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace headroom
