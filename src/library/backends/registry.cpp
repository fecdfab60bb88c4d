#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/backend.hpp"
#include "core/nearest.hpp"
#include "headroom/error.hpp"
#include "headroom/formulation.hpp"
#include "known_backends.hpp"

namespace headroom {
namespace {

struct Row {
  std::atomic<const char*> name = nullptr;           // of a backend that the project does not know
  std::atomic<const BackendEntry*> entry = nullptr;  // null until the backend is loaded
  std::atomic<int> refused_interface = 0;
};

constexpr std::size_t kMostRows = 64;

// The known backends in their order, then others as they register. Rows exist before any code of
// the program runs, because backends register while they are loaded, in any order; a plugin may add
// one later.
constinit std::array<Row, kMostRows> rows;

std::string_view name_of(std::size_t place) {
  if (place < kKnownBackends.size()) return kKnownBackends[place];
  const char* name = rows[place].name;
  return name == nullptr ? "" : name;
}

std::size_t row_count() {
  std::size_t count = kKnownBackends.size();
  while (count < kMostRows && rows[count].name != nullptr) ++count;
  return count;
}

BackendInfo describe(std::size_t place) {
  const Row& row = rows[place];
  if (const BackendEntry* entry = row.entry; entry != nullptr) return entry->describe();
  BackendInfo info;
  info.name = name_of(place);
  if (const int interface = row.refused_interface; interface != 0) {
    info.description = "built for another version of headroom";
    info.reason = fmt::format(
        "it was built for backend interface {}, and this program has {}; build it with the headers "
        "of this version",
        interface, kBackendInterface);
  } else {
    info.description = "not part of this program";
    info.reason = fmt::format("not linked into this program; link headroom::{}", info.name);
  }
  return info;
}

std::optional<std::size_t> place_of(std::string_view name) {
  for (std::size_t place = 0; place < row_count(); ++place) {
    if (name == name_of(place)) return place;
  }
  return std::nullopt;
}

// The row for a name that registers, a new one if necessary; null if all are taken.
Row* claim_row(const char* name) {
  if (const auto place = place_of(name)) return &rows[*place];
  for (std::size_t place = kKnownBackends.size(); place < kMostRows; ++place) {
    const char* free = nullptr;
    if (rows[place].name.compare_exchange_strong(free, name)) return &rows[place];
    if (std::string_view(free) == name) return &rows[place];
  }
  return nullptr;
}

std::size_t find_row(std::string_view name) {
  if (name == kAuto) {
    throw InvalidArgument("'auto' is no backend but the choice of one; name the backend here");
  }
  if (const auto place = place_of(name)) return *place;
  std::vector<std::string> names;
  for (std::size_t place = 0; place < row_count(); ++place) names.emplace_back(name_of(place));
  throw InvalidArgument(fmt::format("unknown backend '{}'; {}", name, suggest(name, names)));
}

}  // namespace

void register_backend(const char* name, int interface, const BackendEntry& entry) noexcept {
  Row* row = claim_row(name);
  if (row == nullptr) return;
  if (interface == kBackendInterface) {
    row->entry = &entry;
  } else {
    row->refused_interface = interface;
  }
}

std::vector<BackendInfo> backends() {
  std::vector<BackendInfo> all;
  for (std::size_t place = 0; place < row_count(); ++place) all.push_back(describe(place));
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
  return *rows[find_row(name)].entry;
}

const BackendFacts& backend_facts(std::string_view name) noexcept {
  static const BackendFacts unknown;
  const auto place = place_of(name);
  const BackendEntry* entry = place ? rows[*place].entry.load() : nullptr;
  return entry == nullptr ? unknown : entry->facts();
}

Arithmetic arithmetic_of(std::string_view backend, const Numbers& numbers, const Target& target) {
  const BackendFacts& facts = backend_facts(backend);
  if (facts.computes != nullptr) return facts.computes(numbers, target);
  if (numbers == Numbers{}) return {Precision::f32, ""};
  return {std::nullopt, "it computes in f32 stored as f32 and nothing else"};
}

std::string_view baseline_backend() noexcept { return kKnownBackends.front(); }

}  // namespace headroom
