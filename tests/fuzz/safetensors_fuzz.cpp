// Headers of safetensors files: any bytes are tensors that lie within the file, or a FileError.
#include <cstdlib>
#include <string_view>
#include <vector>

#include "fuzz/memory_limit.hpp"
#include "weights/layer/layouts.hpp"
#include "weights/safetensors.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const headroom::fuzz::MemoryLimit limit(size);
  const headroom::weights::MemoryBytes bytes("m.safetensors",
                                             {reinterpret_cast<const char*>(data), size});
  try {
    std::vector<std::string> names;
    for (const auto& tensor : headroom::weights::read_safetensors_header(bytes)) {
      if (tensor.offset < 0 || tensor.bytes < 0 || tensor.offset + tensor.bytes > bytes.size()) {
        std::abort();
      }
      std::vector<char> values(static_cast<std::size_t>(tensor.bytes));
      bytes.read(tensor.offset, values);
      names.push_back(tensor.name);
    }
    headroom::weights::find_layers(names);
  } catch (const headroom::FileError&) {
  }
  return 0;
}
