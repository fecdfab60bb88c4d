// The axes of a sweep: any text is a plan, an InvalidArgument, or something that is not here. The
// first line is an option, the next lines are axes in the order of `axes_of`; empty ones are not
// given.
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "fuzz/memory_limit.hpp"
#include "headroom/error.hpp"
#include "plan/expand.hpp"
#include "program/numbers.hpp"

namespace {

using headroom::plan::Axes;

/// Small ones: with many members on several axes the list itself is what takes the memory.
constexpr std::size_t kMostShapes = 1000;

/// @param parse of an option's text; what it refuses is as good an answer.
template <class Parse>
void answered(Parse parse) {
  try {
    parse();
  } catch (const headroom::InvalidArgument&) {
  } catch (const headroom::Unavailable&) {
  }
}

// Reads a line for each axis; an empty one does not give it.
void read_axes(std::istream& lines, const auto&... axes) {
  const auto read = [&](auto* axis) {
    std::string line;
    if (std::getline(lines, line) && !line.empty()) answered([&] { *axis = line; });
  };
  (read(axes), ...);
}

Axes axes_of(std::istream& lines) {
  Axes axes;
  read_axes(lines, &axes.heads, &axes.tokens, &axes.batch, &axes.d_model, &axes.head_dim,
            &axes.d_in, &axes.threads, &axes.backend, &axes.formulation, &axes.isa, &axes.dropout,
            &axes.model, &axes.preset);
  std::string line;
  if (std::getline(lines, line)) {
    axes.no_causal = line.find('c') != std::string::npos;
    axes.qkv_bias = line.find('b') != std::string::npos;
    axes.no_out_proj = line.find('p') != std::string::npos;
  }
  read_axes(lines, &axes.kv_heads, &axes.window, &axes.past, &axes.lengths, &axes.rotary);
  return axes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const headroom::fuzz::MemoryLimit limit(size);
  std::istringstream lines(std::string(reinterpret_cast<const char*>(data), size));
  std::string first;
  std::getline(lines, first);
  answered([&] { headroom::parse_numbers("--heads", first); });
  answered([&] { headroom::parse_real("--dropout", first); });
  answered([&] { headroom::parse_bytes("--max-memory", first); });
  answered([&] { headroom::parse_duration("--budget", first); });
  answered([&] { headroom::parse_percent("--threshold", first); });
  const Axes axes = axes_of(lines);
  answered([&] {
    std::vector<std::string> notes;
    if (headroom::plan::expand_shapes(axes, nullptr, 1, kMostShapes, notes).size() > kMostShapes)
      std::abort();
    headroom::plan::expand(axes, {});
  });
  return 0;
}
