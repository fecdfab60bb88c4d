#include "bytes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "core/case_layer.hpp"
#include "headroom/headroom.hpp"
#include "processor/cores.hpp"
#include "programs.hpp"
#include "reference/comparator.hpp"
#include "reference/oracle.hpp"
#include "support/layer_data.hpp"

namespace headroom::test {
namespace {

struct Errors {
  double nrmse = 0, max_over_rms = 0, bound_ratio = 0;

  void note(const reference::Comparison& found) {
    nrmse = std::max(nrmse, found.nrmse);
    max_over_rms = std::max(max_over_rms, found.max_over_rms);
    bound_ratio = std::max(bound_ratio, found.bound_ratio);
  }
};

reference::Comparison compare(Layer layer, Storage storage) {
  layer.weights = stored(std::move(layer.weights), storage);
  const Numbers numbers{Precision::int8, Dtype::f32, storage};
  reference::Expected expected =
      reference::attention(layer.shape, layer.weights, layer.inputs(),
                           reference::all_rows(layer.shape), allowed_cores());
  reference::add_coarse_bound(layer.shape, layer.weights, layer.inputs(), Precision::int8,
                              allowed_cores(), expected);
  AttentionOptions options{"xsimd"};
  options.precision = numbers.precision;
  options.weights_dtype = storage;
  Attention attention = layer_for(layer.shape, layer.weights, options);
  Matrix y(layer.shape.rows(), layer.shape.output_width());
  attention.forward(layer.x.view(), y.view());
  return reference::compare(expected, y.view(), reference::Data::adversarial, numbers);
}

}  // namespace

void fit_bytes(std::uint64_t programs) {
  std::map<std::string, Errors> errors;
  for (std::uint64_t number = 0; number < programs; ++number) {
    const Program program = drawn_program(number);
    for (const Storage storage : {Storage::q8, Storage::q4}) {
      const std::string of(to_string(storage));
      errors[fmt::format("int8, {}, {}", of, program.data)].note(compare(program.layer, storage));
      Case shape = program.layer.shape;
      shape.dropout = 0;
      errors[fmt::format("int8, {}, Gaussian{}", of,
                         reference::averages_bytes(shape) ? "" : ", small")]
          .note(compare(gaussian_layer(shape, number + programs), storage));
    }
  }
  for (const auto& [name, worst] : errors) {
    fmt::print("{:<27} at most  {:.3f} of the bound, nrmse {:.2e}, max/rms {:.2e}\n", name,
               worst.bound_ratio, worst.nrmse, worst.max_over_rms);
  }
}

}  // namespace headroom::test
