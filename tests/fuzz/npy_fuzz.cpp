// .npy files: any bytes are an array or a FileError.
#include <cstdlib>
#include <string_view>

#include "fuzz/memory_limit.hpp"
#include "weights/npy.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const headroom::fuzz::MemoryLimit limit(size);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const auto array = headroom::weights::read_npy(headroom::weights::MemoryBytes("x.npy", text));
    // What was taken has as many values as it says.
    const auto count = headroom::weights::count_of(array.dims);
    if (!count || static_cast<std::size_t>(*count) != array.values.size()) std::abort();
  } catch (const headroom::FileError&) {
  }
  return 0;
}
