#include "c_api/options.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "c_api/structs.hpp"
#include "core/element/layer_numbers.hpp"
#include "core/nearest.hpp"
#include "headroom/error.hpp"

namespace headroom::c_api {
namespace {

// As in the first version that had sizes.
constexpr std::size_t kFirstOptions = offsetof(headroom_options, threads) + sizeof(std::int32_t);

headroom_options default_options() {
  headroom_options options{};
  options.size = sizeof options;
  options.backend = kAuto.data();
  return options;
}

// One of the names that `parse` knows.
template <class Parse>
auto named(const char* function, const char* what, const char* name, Parse parse,
           const std::vector<std::string>& known) {
  const auto value = parse(name);
  if (value) return *value;
  throw InvalidArgument(
      fmt::format("{}: unknown {} '{}'; {}", function, what, name, suggest(name, known)));
}

}  // namespace

AttentionOptions read_options(const char* function, const headroom_options* options) {
  const headroom_options given =
      options == nullptr
          ? default_options()
          : read_struct(*options, default_options(), kFirstOptions, {function, "options"});
  AttentionOptions read;
  if (given.backend != nullptr) read.backend = given.backend;
  if (given.formulation != nullptr) {
    read.formulation = named(function, "formulation", given.formulation, parse_formulation,
                             {"wrapper", "split", "fused"});
  }
  if (given.isa != nullptr) {
    read.isa = named(function, "instruction set", given.isa, parse_isa,
                     {"sse4.2", "avx2", "avx512", "neon"});
  }
  if (given.precision != nullptr) {
    read.precision = named(function, "precision", given.precision, parse_asked_precision,
                           {"f32", "bf16x9", "bf16x6", "fp16x3", "bf16x3", "bf16", "int8", "auto"});
  }
  if (given.dtype != nullptr) {
    read.dtype = named(function, "dtype", given.dtype, parse_dtype, {"f32", "bf16"});
  }
  if (given.weights_dtype != nullptr) {
    read.weights_dtype = named(function, "weights_dtype", given.weights_dtype, parse_storage,
                               {"f32", "bf16", "q8", "q4"});
  }
  if (given.cache_dtype != nullptr) {
    read.cache_dtype =
        named(function, "cache_dtype", given.cache_dtype, parse_storage, {"f32", "bf16", "q8"});
  }
  if (given.unit != nullptr) {
    read.unit = named(function, "unit", given.unit, parse_unit, unit_names());
  }
  if (given.kernels != nullptr) read.kernels = given.kernels;
  if (given.tuning_file != nullptr) read.tuning_file = given.tuning_file;
  read.threads = given.threads;
  return read;
}

std::string reason_of(const Choice& choice) {
  std::string reason = choice.reason;
  if (!choice.precision_reason.empty()) {
    reason += fmt::format("; {}: {}", to_string(choice.precision), choice.precision_reason);
  }
  return choice.warning.empty() ? reason : reason + "; " + choice.warning;
}

}  // namespace headroom::c_api

void headroom_init_options(headroom_options* options, std::size_t size) {
  using namespace headroom::c_api;
  write_defaults(options, size, default_options());
}
