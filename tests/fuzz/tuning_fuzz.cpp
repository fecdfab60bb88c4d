// Tuning files: any bytes are a tuning file or a FileError.
#include <string_view>

#include "core/regular_file.hpp"
#include "fuzz/memory_limit.hpp"
#include "tuning/predict.hpp"
#include "tuning/tuning_file.hpp"

namespace {

/// A layer that the corpus has a neighbour of.
headroom::tuning::Request request() {
  headroom::tuning::Request request;
  request.shape.tokens = 100;
  request.shape.d_in = request.shape.d_out = request.shape.d_proj = 64;
  request.shape.heads = 4;
  request.isa = "avx2";
  request.usable = {{"naive", {}}, {"xsimd", {}}};
  return request;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const headroom::tuning::Request wanted = request();
  const headroom::fuzz::MemoryLimit limit(size);
  try {
    const auto file =
        headroom::tuning::parse_tuning("tuning.json", {reinterpret_cast<const char*>(data), size});
    // What was taken can be asked.
    headroom::tuning::stale_reason(file);
    headroom::tuning::predict(file, wanted);
  } catch (const headroom::FileError&) {
  }
  return 0;
}
