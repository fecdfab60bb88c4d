// GGUF files: any bytes are tensors that lie within the file and perhaps a layer, or an error.
#include <cstdlib>
#include <memory>
#include <string_view>

#include "fuzz/memory_limit.hpp"
#include "headroom/error.hpp"
#include "weights/layer/load.hpp"
#include "weights/tensor_set.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom::weights;
  const headroom::fuzz::MemoryLimit limit(size);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (!text.starts_with("GGUF")) return 0;
  const auto bytes = std::make_shared<MemoryBytes>("m.gguf", text);
  try {
    TensorSet set(bytes);
    for (const auto& name : set.names()) {
      const Tensor tensor = set.find(name).tensor;
      if (tensor.offset < 0 || tensor.bytes < 0 || tensor.offset + tensor.bytes > bytes->size()) {
        std::abort();
      }
    }
    survey(find_stored_layer(set, {}), false);
  } catch (const headroom::FileError&) {
  } catch (const headroom::InvalidArgument&) {
  } catch (const headroom::Unsupported&) {
  }
  return 0;
}
