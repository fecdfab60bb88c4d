#include "support/layer_cases.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "backends/backend.hpp"
#include "core/case_layer.hpp"
#include "core/element/layer_numbers.hpp"
#include "reference/oracle.hpp"

namespace headroom::test {
namespace {

std::vector<Isa> isas_of_this_family() {
#if defined(__aarch64__)
  return {Isa::neon};
#else
  return {Isa::sse42, Isa::avx2, Isa::avx512};
#endif
}

/// The levels at which a backend is tested. oneDNN reads its level once per process, so only the
/// default can be tried in this one.
std::vector<std::optional<Isa>> levels_of(const BackendInfo& backend) {
  if (!backend.uses_isa || backend.name == "onednn") return {std::nullopt};
  std::vector<std::optional<Isa>> levels;
  for (const Isa isa : isas_of_this_family()) levels.emplace_back(isa);
  return levels;
}

std::string why_not(const BackendInfo& backend, std::optional<Isa> isa) {
  if (!backend.available) return backend.reason;
  const std::vector<Isa> here = available_isas();
  if (isa && std::find(here.begin(), here.end(), *isa) == here.end()) {
    return "this machine, or this build, has no " + std::string(to_string(*isa));
  }
  return {};
}

}  // namespace

AttentionOptions LayerCase::options(int threads) const {
  AttentionOptions options;
  options.backend = backend;
  options.formulation = formulation;
  options.threads = threads > 0 ? threads : (backend == "onednn" ? 1 : 2);
  options.isa = isa;
  options.unit = unit;
  options.precision = precision;
  return options;
}

std::ostream& operator<<(std::ostream& out, const LayerCase& layer_case) {
  out << layer_case.backend << '/' << to_string(layer_case.formulation);
  if (layer_case.isa) out << '/' << to_string(*layer_case.isa);
  if (layer_case.unit) out << '/' << to_string(*layer_case.unit);
  if (layer_case.precision != Precision::f32) out << '/' << to_string(layer_case.precision);
  if (!layer_case.skip_reason.empty()) out << " (skipped: " << layer_case.skip_reason << ")";
  return out;
}

std::vector<LayerCase> layer_cases() {
  std::vector<LayerCase> cases;
  for (LayerCase layer_case : backend_cases()) {
    for (const auto formulation : {Formulation::wrapper, Formulation::split, Formulation::fused}) {
      layer_case.formulation = formulation;
      cases.push_back(layer_case);
    }
  }
  return cases;
}

std::vector<LayerCase> precision_cases() {
  std::vector<LayerCase> cases;
  for (const BackendInfo& backend : backends()) {
    if (!backend.available || !backend.uses_isa || backend.name == "onednn") continue;
    const Isa isa = available_isas().back();
    for (const Unit unit : available_units(isa)) {
      for (const Precision precision : kAllPrecisions) {
        if (precision == Precision::f32) continue;
        const Arithmetic does = arithmetic_of(backend.name, {precision, Dtype::f32}, {isa, unit});
        if (does.precision != precision) continue;
        cases.push_back({backend.name, Formulation::split, isa, precision, "", unit});
      }
    }
  }
  return cases;
}

std::vector<LayerCase> backend_cases() {
  std::vector<LayerCase> cases;
  for (const BackendInfo& backend : backends()) {
    for (const std::optional<Isa>& isa : levels_of(backend)) {
      cases.push_back(
          {backend.name, Formulation::split, isa, Precision::f32, why_not(backend, isa)});
    }
  }
  return cases;
}

std::string case_name(const testing::TestParamInfo<LayerCase>& info) {
  std::string name = info.param.backend;
  name.append("_").append(to_string(info.param.formulation));
  if (info.param.isa) name.append("_").append(to_string(*info.param.isa));
  if (info.param.unit) name.append("_").append(to_string(*info.param.unit));
  if (info.param.precision != Precision::f32) {
    name.append("_").append(to_string(info.param.precision));
  }
  // GoogleTest allows letters, digits and underscores only.
  std::erase(name, '.');
  return name;
}

void LayerTest::SetUp() {
  if (!GetParam().skip_reason.empty()) GTEST_SKIP() << GetParam().skip_reason;
}

Matrix run(const LayerCase& layer_case, const Layer& layer, int threads) {
  Attention attention = layer_for(layer.shape, layer.weights, layer_case.options(threads));
  Matrix y(layer.shape.rows(), layer.shape.output_width());
  attention.forward(layer.x.view(), y.view());
  return y;
}

bool same_bits(ConstMatrixView a, ConstMatrixView b) {
  if (a.rows != b.rows || a.cols != b.cols) return false;
  for (std::int64_t r = 0; r < a.rows; ++r) {
    const bool equal = std::equal(a.row(r), a.row(r) + a.cols, b.row(r), [](float p, float q) {
      return std::bit_cast<std::uint32_t>(p) == std::bit_cast<std::uint32_t>(q);
    });
    if (!equal) return false;
  }
  return true;
}

bool same_bits(const Matrix& a, const Matrix& b) { return same_bits(a.view(), b.view()); }

ConstMatrixView rows(const Matrix& matrix, std::int64_t first, std::int64_t count) {
  return matrix.view().slice(first, count);
}

testing::AssertionResult agree(ConstMatrixView a, ConstMatrixView b, Precision precision) {
  if (a.rows != b.rows || a.cols != b.cols) return testing::AssertionFailure() << "sizes differ";
  double difference = 0;
  double norm = 0;
  double worst = 0;
  for (std::int64_t r = 0; r < a.rows; ++r) {
    for (std::int64_t c = 0; c < a.cols; ++c) {
      const double p = a.row(r)[c];
      const double q = b.row(r)[c];
      if (!std::isfinite(p) || !std::isfinite(q)) {
        return testing::AssertionFailure() << "not finite at row " << r << ", column " << c;
      }
      difference += (p - q) * (p - q);
      norm += q * q;
      worst = std::max(worst, std::abs(p - q));
    }
  }
  const double rms =
      std::sqrt(norm / static_cast<double>(std::max<std::int64_t>(1, a.rows * a.cols)));
  const reference::Limits limits = reference::limits_of({precision, Dtype::f32});
  const bool close =
      std::sqrt(difference) <= limits.nrmse * std::sqrt(norm) && worst <= limits.max_over_rms * rms;
  if (close) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << "nrmse " << std::sqrt(difference / norm) << ", max_over_rms " << worst / rms;
}

testing::AssertionResult agree(const Matrix& a, const Matrix& b, Precision precision) {
  return agree(a.view(), b.view(), precision);
}

testing::AssertionResult equal_for(const LayerCase& layer_case, ConstMatrixView a,
                                   ConstMatrixView b) {
  if (!layer_case.same_bits_everywhere()) return agree(a, b, layer_case.precision);
  if (same_bits(a, b)) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "the bits differ; as numbers: " << agree(a, b).message();
}

Case plain_shape(std::int64_t tokens, std::int64_t d_in, std::int64_t heads,
                 std::int64_t head_dim) {
  Case shape;
  shape.tokens = tokens;
  shape.d_in = d_in;
  shape.d_out = heads * head_dim;
  shape.heads = heads;
  return shape;
}

}  // namespace headroom::test
