#include <fmt/format.h>

#include <array>
#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "backends/backend.hpp"
#include "core/nearest.hpp"
#include "headroom/attention.hpp"
#include "headroom/error.hpp"

namespace headroom {
namespace {

struct Row {
  std::string_view name;
  std::atomic<const BackendEntry*> entry = nullptr;  // null until the backend is loaded
};

// Every backend, in the order in which they are listed everywhere. To add one, add its folder and
// its line here. Rows are there before any code of the program runs, because backends register
// while they are loaded, in any order, and a plugin may bring one later.
constinit std::array<Row, 5> rows{{{"naive"}, {"autovec"}, {"xsimd"}, {"onednn"}, {"tbb"}}};

BackendInfo describe(const Row& row) {
  if (const BackendEntry* entry = row.entry; entry != nullptr) return entry->describe();
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
  for (const Row& row : rows) {
    if (name == row.name) return row;
    names.emplace_back(row.name);
  }
  throw InvalidArgument(fmt::format("unknown backend '{}'; {}", name, suggest(name, names)));
}

}  // namespace

void register_backend(const char* name, const BackendEntry& entry) noexcept {
  for (Row& row : rows) {
    if (row.name == name) row.entry = &entry;
  }
}

std::vector<BackendInfo> backends() {
  std::vector<BackendInfo> all;
  for (const Row& row : rows) all.push_back(describe(row));
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
