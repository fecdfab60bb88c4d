// Errors that calls have to end in.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "headroom/error.hpp"

namespace headroom::test {

/// Expects an error whose message has these words.
template <class Error = InvalidArgument, class Call>
void expect_refused(const std::string& words, const Call& call) {
  try {
    call();
    ADD_FAILURE() << "accepted; expected a message with '" << words << "'";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
  }
}

}  // namespace headroom::test
