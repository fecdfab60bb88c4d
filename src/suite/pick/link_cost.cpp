#include "pick/link_cost.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <string_view>

#include "backends/backend.hpp"
#include "headroom/backend.hpp"
#include "program/numbers.hpp"

namespace headroom::pick {
namespace {

namespace fs = std::filesystem;

// Libraries that every C++ program needs anyway.
bool is_run_time(std::string_view name) {
  constexpr std::array<std::string_view, 9> kNames{"libc.so",     "libm.so",       "libstdc++.so",
                                                   "libgcc_s.so", "libpthread.so", "libdl.so",
                                                   "librt.so",    "ld-linux",      "linux-vdso"};
  return std::any_of(kNames.begin(), kNames.end(),
                     [&](std::string_view known) { return name.starts_with(known); });
}

// A shared library of this process, and the names of those that it needs.
struct Loaded {
  fs::path path;
  std::vector<std::string> needs;
};

std::vector<std::string> needed_by(const link_map& object) {
  const char* names = nullptr;
  for (const ElfW(Dyn)* entry = object.l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag != DT_STRTAB) continue;
    // On most architectures glibc relocates the address; on others it remains an offset.
    const auto address = entry->d_un.d_ptr;
    const auto start = address < object.l_addr ? address + object.l_addr : address;
    names = reinterpret_cast<const char*>(start);  // NOLINT(performance-no-int-to-ptr)
  }
  std::vector<std::string> needs;
  for (const ElfW(Dyn)* entry = object.l_ld; names != nullptr && entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_NEEDED) needs.emplace_back(names + entry->d_un.d_val);
  }
  return needs;
}

std::map<std::string, Loaded> loaded_libraries() {
  std::map<std::string, Loaded> all;
  link_map* object = nullptr;
  void* self = dlopen(nullptr, RTLD_NOW);
  if (self == nullptr) return all;
  dlinfo(self, RTLD_DI_LINKMAP, static_cast<void*>(&object));
  for (; object != nullptr; object = object->l_next) {
    const fs::path path(object->l_name);
    const std::string name = path.filename().string();
    if (name.find(".so") != std::string::npos) all[name] = {path, needed_by(*object)};
  }
  dlclose(self);
  return all;
}

// The libraries whose names begin with `root`, and all that they need.
std::set<std::string> with_needs(const std::map<std::string, Loaded>& all, std::string_view root) {
  std::set<std::string> found;
  std::vector<std::string> todo;
  for (const auto& [name, _] : all) {
    if (name.starts_with(root)) todo.push_back(name);
  }
  while (!todo.empty()) {
    const std::string name = todo.back();
    todo.pop_back();
    const auto library = all.find(name);
    if (library == all.end() || is_run_time(name) || !found.insert(name).second) continue;
    todo.insert(todo.end(), library->second.needs.begin(), library->second.needs.end());
  }
  return found;
}

// The Debian packages that own these files, from dpkg's lists, which may name a path with or
// without the leading /usr.
std::vector<std::string> read_owners(std::set<std::string> files) {
  for (const std::string& file : std::set<std::string>(files)) {
    if (file.starts_with("/usr/")) files.insert(file.substr(4));
  }
  std::set<std::string> packages;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator("/var/lib/dpkg/info", none)) {
    if (entry.path().extension() != ".list") continue;
    std::ifstream lines(entry.path());
    for (std::string line; std::getline(lines, line);) {
      if (!files.contains(line)) continue;
      const std::string name = entry.path().stem().string();
      packages.insert(name.substr(0, name.find(':')));
      break;
    }
  }
  return {packages.begin(), packages.end()};
}

// The lists are long, and a store asks for the same few libraries once for each of its shapes.
std::vector<std::string> owners(const std::set<std::string>& files) {
  static std::mutex mutex;
  static std::map<std::set<std::string>, std::vector<std::string>> known;
  const std::lock_guard lock(mutex);
  const auto [found, fresh] = known.try_emplace(files);
  if (fresh) found->second = read_owners(files);
  return found->second;
}

// Names of files, as the linker found them when this program was built.
std::vector<std::string> core_libraries() {
  std::vector<std::string> names;
  std::istringstream words(HEADROOM_CORE_LIBRARIES);
  for (std::string name; std::getline(words, name, ',');) names.push_back(name);
  return names;
}

// Where there is nobody to ask.
std::vector<std::string> packages_of_debian(const BackendFacts& facts) {
  std::vector<std::string> packages = facts.packages;
  if (!core_libraries().empty()) packages.emplace_back("libfmt9");
  std::sort(packages.begin(), packages.end());
  return packages;
}

bool is_linked(const std::string& backend) {
  const std::vector<BackendInfo> all = backends();
  return std::any_of(all.begin(), all.end(), [&](const BackendInfo& info) {
    return info.name == backend && info.available;
  });
}

}  // namespace

LinkCost link_cost(const std::string& backend) {
  LinkCost cost;
  cost.backend = backend;
  cost.known = is_linked(backend);
  const BackendFacts& facts = backend_facts(backend);
  cost.build_packages = facts.build_packages;
  const std::map<std::string, Loaded> loaded = loaded_libraries();
  std::set<std::string> names;
  for (const std::string& root : core_libraries()) names.merge(with_needs(loaded, root));
  std::set<std::string> own;
  if (!facts.library.empty()) own = with_needs(loaded, facts.library);
  const bool all_loaded = facts.library.empty() || !own.empty();
  names.merge(own);
  std::set<std::string> files;
  for (const std::string& name : names) {
    std::error_code error;
    const fs::path file = fs::canonical(loaded.at(name).path, error);
    const auto bytes = error ? 0 : fs::file_size(file, error);
    cost.libraries.push_back(name);
    cost.library_bytes += error ? 0 : static_cast<std::int64_t>(bytes);
    files.insert(file.string());
  }
  if (!files.empty()) cost.packages = owners(files);
  cost.measured = all_loaded && (files.empty() || !cost.packages.empty());
  if (!cost.measured) cost.packages = packages_of_debian(facts);
  return cost;
}

judge::LinkWeight weight_of(const LinkCost& cost) {
  return {!cost.known, cost.packages.size(), cost.library_bytes, cost.build_packages.size()};
}

bool lighter(const LinkCost& a, const LinkCost& b) { return weight_of(a) < weight_of(b); }

std::string to_text(const LinkCost& cost) {
  if (!cost.known) return "unknown, because it is not part of this program";
  if (cost.packages.empty()) return "nothing";
  return fmt::format(
      "{} ({})", fmt::join(cost.packages, ", "),
      cost.library_bytes > 0 ? format_bytes(cost.library_bytes) : "Debian 12, size unknown");
}

}  // namespace headroom::pick
