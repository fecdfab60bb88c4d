// Energy and counters of machines that do not exist.
#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "machine/counters/perf_kernel.hpp"

namespace headroom::test {

inline constexpr const char* kPowercap = "sys/class/powercap/";

/// A perf that counts so many events from one reading of a counter to the next.
class MadeUpPerf final : public machine::PerfKernel {
 public:
  using Event = machine::PerfEvent;

  /// @param share of the time in which the events had a counter
  explicit MadeUpPerf(std::map<Event, std::uint64_t> steps, double share = 1)
      : steps_(std::move(steps)), share_(share) {}

  int open(Event event, int group) override {
    opened.emplace_back(event, group);
    const auto refused = refuse.find(event);
    if (refused != refuse.end()) return -refused->second;
    const int file = next_file_++;
    files_[file] = {event, {}};
    return file;
  }

  std::optional<machine::PerfReading> read(int file) override {
    auto& [event, reading] = files_.at(file);
    constexpr std::uint64_t kEnabled = 1'000'000;
    reading.value += steps_.at(event);
    reading.enabled += kEnabled;
    reading.running += static_cast<std::uint64_t>(share_ * static_cast<double>(kEnabled));
    return reading;
  }

  void close(int file) override { closed.insert(file); }

  std::map<Event, int> refuse;  ///< with this error
  std::vector<std::pair<Event, int>> opened;
  std::set<int> closed;

 private:
  std::map<Event, std::uint64_t> steps_;
  double share_;
  int next_file_ = 40;
  std::map<int, std::pair<Event, machine::PerfReading>> files_;
};

/// A zone of powercap in a made-up tree.
inline void write_zone(const std::filesystem::path& root, const std::string& zone,
                       const std::string& name, const std::string& microjoules) {
  const std::filesystem::path folder = root / kPowercap / zone;
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "name") << name << "\n";
  std::ofstream(folder / "energy_uj") << microjoules << "\n";
  std::ofstream(folder / "max_energy_range_uj") << "262143328850\n";
}

/// A package, and a process that lets it use so many watts as long as it lives: workers that are
/// forked see them as they would see the kernel's.
class Burning {
 public:
  Burning(const std::filesystem::path& root, const std::string& zone, double watts) {
    write_zone(root, zone, "package-0", "000000000000000000");
    process_ = fork();
    if (process_ != 0) return;
    const std::filesystem::path file = root / kPowercap / zone / "energy_uj";
    burn(::open(file.c_str(), O_WRONLY), watts);
  }
  ~Burning() {
    if (process_ <= 0) return;
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  Burning(const Burning&) = delete;
  Burning& operator=(const Burning&) = delete;

 private:
  // A number of one width is never read in parts.
  [[noreturn]] static void burn(int file, double watts) {
    alarm(600);  // only against hanging
    const auto start = std::chrono::steady_clock::now();
    for (;;) {
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
      char text[32];
      const int size = std::snprintf(text, sizeof text, "%018lld\n",
                                     static_cast<long long>(watts * seconds.count() * 1e6));
      if (pwrite(file, text, static_cast<std::size_t>(size), 0) != size) _exit(1);
      std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
  }

  pid_t process_ = -1;
};

}  // namespace headroom::test
