// Indices of safetensors files: any bytes are an index into its own folder, or a FileError.
#include <cstdlib>
#include <string_view>

#include "fuzz/memory_limit.hpp"
#include "weights/safetensors_index.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const headroom::fuzz::MemoryLimit limit(size);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const auto index = headroom::weights::read_safetensors_index(
        headroom::weights::MemoryBytes("m.index.json", text));
    for (const auto& entry : index.entries) {
      const std::string& file = index.files.at(entry.file);
      if (file == ".." || file.find('/') != std::string::npos) std::abort();
    }
  } catch (const headroom::FileError&) {
  }
  return 0;
}
