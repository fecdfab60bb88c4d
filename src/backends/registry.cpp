#include <fmt/format.h>

#include <string>
#include <vector>

#include "backends/backend.hpp"
#include "core/nearest.hpp"
#include "headroom/attention.hpp"
#include "headroom/error.hpp"

// Every backend, in the order in which they are listed everywhere. To add one, add its folder and
// its line here.
#define HEADROOM_FOR_EACH_BACKEND(do_with) \
  do_with(naive) do_with(autovec) do_with(xsimd) do_with(onednn) do_with(tbb)

// A backend is in the program if its target is linked. The references are weak, so that a program
// that links one backend needs no other one's libraries; each backend's CMake target asks the
// linker for its symbol by name.
#define HEADROOM_DECLARE(name) \
  extern const headroom::BackendEntry headroom_backend_##name __attribute__((weak));
extern "C" {
HEADROOM_FOR_EACH_BACKEND(HEADROOM_DECLARE)
}

namespace headroom {
namespace {

struct Row {
  const char* name;
  const BackendEntry* entry;
};

#define HEADROOM_ROW(name) {#name, &headroom_backend_##name},
const std::vector<Row>& rows() {
  static const std::vector<Row> table{HEADROOM_FOR_EACH_BACKEND(HEADROOM_ROW)};
  return table;
}

BackendInfo describe(const Row& row) {
  if (row.entry != nullptr) return row.entry->describe();
  BackendInfo info;
  info.name = row.name;
  info.description = "not part of this program";
  info.reason = fmt::format("not linked into this program; link headroom::{}", row.name);
  return info;
}

const Row& find_row(std::string_view name) {
  if (name == kAuto) {
    throw InvalidArgument("'auto' is no backend but the choice of one; name the backend here");
  }
  std::vector<std::string> names;
  for (const Row& row : rows()) {
    if (name == row.name) return row;
    names.emplace_back(row.name);
  }
  throw InvalidArgument(fmt::format("unknown backend '{}'; {}", name, suggest(name, names)));
}

}  // namespace

std::vector<BackendInfo> backends() {
  std::vector<BackendInfo> all;
  for (const Row& row : rows()) all.push_back(describe(row));
  return all;
}

BackendInfo find_backend(std::string_view name) {
  BackendInfo info = describe(find_row(name));
  if (!info.available) {
    throw Unavailable(fmt::format("backend '{}' is not available: {}", name, info.reason));
  }
  return info;
}

const BackendEntry& backend_entry(std::string_view name) {
  find_backend(name);
  return *find_row(name).entry;
}

}  // namespace headroom
