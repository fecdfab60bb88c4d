// results.jsonl: any bytes are results or a FileError.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "fuzz/memory_limit.hpp"
#include "program/exit_code.hpp"
#include "record/results_folder.hpp"

namespace {

namespace fs = std::filesystem;

/// A results folder of this process; its results are exchanged for every input.
const fs::path& folder() {
  static const fs::path path = [] {
    fs::path made = fs::temp_directory_path() / ("headroom-fuzz-" + std::to_string(getpid()));
    fs::create_directories(made);
    std::ofstream(made / "environment.json") << R"({"schema": "headroom.environment/1"})";
    std::atexit([] {
      std::error_code ignored;
      fs::remove_all(folder(), ignored);
    });
    return made;
  }();
  return path;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fs::path& path = folder();
  std::ofstream(path / "results.jsonl", std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  const headroom::fuzz::MemoryLimit limit(size);
  try {
    const auto results =
        headroom::record::read_results_folder(path, headroom::record::Empty::accept);
    // What was taken is a result like any other: it can be put in order and written again.
    for (const auto* result : headroom::record::in_order(results)) {
      if (headroom::record::to_json(*result).empty()) std::abort();
    }
  } catch (const headroom::FileError&) {
  }
  return 0;
}
