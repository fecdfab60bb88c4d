// The border between exceptions and status codes.
#pragma once

#include <fmt/format.h>

#include <string_view>

#include "headroom/error.hpp"
#include "headroom/headroom.h"

namespace headroom::c_api {

/// Keeps the text of the exception that is being handled. @return its status
headroom_status fail() noexcept;

/// Runs `work` and turns any exception into a status and a text.
template <class Work>
headroom_status guarded(const Work& work) noexcept {
  try {
    work();
    return HEADROOM_OK;
  } catch (...) {
    return fail();
  }
}

template <class Pointer>
void require(Pointer pointer, std::string_view function, std::string_view name) {
  if (pointer != nullptr) return;
  throw InvalidArgument(fmt::format("{}: {} is NULL; give it a valid address", function, name));
}

}  // namespace headroom::c_api
