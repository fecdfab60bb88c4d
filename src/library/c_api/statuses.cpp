#include "c_api/statuses.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <exception>
#include <new>
#include <stdexcept>
#include <string_view>

namespace headroom::c_api {
namespace {

// A fixed array, so that reporting an error cannot fail.
thread_local std::array<char, 1024> error_text{};

headroom_status keep(headroom_status status, std::string_view text) noexcept {
  std::size_t length = std::min(text.size(), error_text.size() - 1);
  if (length < text.size()) {  // not in the middle of a UTF-8 character
    while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80) --length;
  }
  text.copy(error_text.data(), length);
  error_text[length] = '\0';
  return status;
}

}  // namespace

headroom_status fail() noexcept {
  try {
    throw;
  } catch (const Unavailable& error) {
    return keep(HEADROOM_UNAVAILABLE, error.what());
  } catch (const Unsupported& error) {
    return keep(HEADROOM_UNSUPPORTED, error.what());
  } catch (const ResourceError& error) {
    return keep(HEADROOM_NO_RESOURCE, error.what());
  } catch (const FileError& error) {
    return keep(HEADROOM_FILE_ERROR, error.what());
  } catch (const std::invalid_argument& error) {
    return keep(HEADROOM_INVALID_ARGUMENT, error.what());
  } catch (const std::bad_alloc&) {
    return keep(HEADROOM_OUT_OF_MEMORY, "out of memory; make the shape or the cache smaller");
  } catch (const std::exception& error) {
    return keep(HEADROOM_INTERNAL_ERROR, error.what());
  } catch (...) {
    return keep(HEADROOM_INTERNAL_ERROR, "a library behind the backend threw an unknown exception");
  }
}

}  // namespace headroom::c_api

const char* headroom_error_text(void) { return headroom::c_api::error_text.data(); }

const char* headroom_status_name(headroom_status status) {
  switch (status) {
    case HEADROOM_OK:
      return "HEADROOM_OK";
    case HEADROOM_INVALID_ARGUMENT:
      return "HEADROOM_INVALID_ARGUMENT";
    case HEADROOM_UNAVAILABLE:
      return "HEADROOM_UNAVAILABLE";
    case HEADROOM_UNSUPPORTED:
      return "HEADROOM_UNSUPPORTED";
    case HEADROOM_OUT_OF_MEMORY:
      return "HEADROOM_OUT_OF_MEMORY";
    case HEADROOM_INTERNAL_ERROR:
      return "HEADROOM_INTERNAL_ERROR";
    case HEADROOM_NO_RESOURCE:
      return "HEADROOM_NO_RESOURCE";
    case HEADROOM_FILE_ERROR:
      return "HEADROOM_FILE_ERROR";
  }
  return "unknown status";
}
