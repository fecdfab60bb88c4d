// Text tables of `explain --input`: any bytes are a table or a FileError.
#include <string_view>

#include "fuzz/memory_limit.hpp"
#include "headroom/error.hpp"
#include "lesson/own_input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const headroom::fuzz::MemoryLimit limit(size);
  try {
    headroom::lesson::parse_text_table({reinterpret_cast<const char*>(data), size}, "own.txt");
  } catch (const headroom::FileError&) {
  }
  return 0;
}
