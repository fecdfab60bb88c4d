#include "posed_problem.hpp"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/element/few_bits.hpp"
#include "headroom/headroom.hpp"
#include "json/read_numbers.hpp"
#include "measure/group/check.hpp"
#include "measure/group/heads_layout.hpp"
#include "plan/estimate.hpp"
#include "plan/shapes/op.hpp"
#include "processor/cores.hpp"
#include "protocol.hpp"
#include "reference/inputs.hpp"
#include "reference/oracle_cost.hpp"

namespace headroom::peers {
namespace {

// Of what rounds otherwise than we do: activations to int8 (some 7e-3 of a layer is left of half a
// step in 127) or bf16, or weights, keys and values by groups of its own (8 bits by channel cost
// 1e-2 to 2e-2). They say that it is the layer, and its own error says how exact it is.
constexpr reference::Limits kOtherwiseRounded{3e-2, 3e-1};

void round_to_bf16(std::vector<float>& values) {
  for (float& value : values) value = headroom::round_to_bf16(value).value();
}

std::vector<Matrix*> matrices_of(SplitWeights& weights) {
  return {&weights.query, &weights.key, &weights.value, &weights.output};
}

// Sizes of a layer whose output projection has its own width, or of attention alone.
Case shape_of(const JsonFields& request) {
  Case shape;
  shape.batch = request.whole("batch", 1);
  shape.tokens = request.whole("tokens", 1);
  shape.d_out = request.whole("width", 1);
  shape.heads = request.whole("heads", 1);
  if (request.has("past")) shape.past = request.whole("past", 0);
  const auto op = request.has("op") ? plan::parse_op(request.text("op")) : plan::Op::layer;
  if (!op) request.fail("op", "layer or attention");
  if (op == plan::Op::layer) shape.d_in = shape.d_proj = shape.d_out;
  if (op == plan::Op::layer && shape.past > 0) request.fail("past", "0 for a layer");
  shape.validate();
  return shape;
}

std::set<Storage> read_storages(const JsonFields& request, const char* key,
                                const std::set<Storage>& known) {
  std::set<Storage> storages;
  if (!request.has(key)) return storages;
  for (const std::string& name : texts(request, key)) {
    const std::optional<Storage> storage = parse_storage(name);
    if (!storage || !known.contains(*storage)) {
      std::string names;
      for (const Storage each : known)
        names.append(names.empty() ? "" : " and ").append(to_string(each));
      request.fail(key, fmt::format("a list of {}", names));
    }
    storages.insert(*storage);
  }
  return storages;
}

// Weights of a layer, or keys and values of attention alone.
std::set<Storage> storages_of(const JsonFields& request, const Case& shape) {
  const auto weights = read_storages(request, "weights", {Storage::q8, Storage::q4});
  const auto caches = read_storages(request, "caches", {Storage::bf16, Storage::q8});
  if (!weights.empty() && !shape.has_projections()) {
    request.fail("weights", "an empty list for attention alone, which has no weights");
  }
  if (!caches.empty() && shape.has_projections()) {
    request.fail("caches", "an empty list for a layer, which has no past");
  }
  return shape.has_projections() ? weights : caches;
}

void write_weights(const std::filesystem::path& folder, const SplitWeights& weights) {
  write_floats(folder / "query.f32", weights.query.values);
  write_floats(folder / "key.f32", weights.key.values);
  write_floats(folder / "value.f32", weights.value.values);
  write_floats(folder / "output.f32", weights.output.values);
  write_floats(folder / "output_bias.f32", weights.output_bias);
}

void write_and_round(const std::filesystem::path& file, Matrix& matrix, bool rounded) {
  if (rounded) round_to_bf16(matrix.values);
  write_floats(file, matrix.values);
}

// What all inputs meet.
struct Given {
  SplitWeights weights;
  Matrix key = {}, value = {};  // of attention alone
  bool rounds_cache = false;    // in the eight bits of ours

  reference::Inputs with(const Matrix& x) const {
    reference::Inputs inputs{.x = x.view()};
    inputs.key = key.view();
    inputs.value = value.view();
    inputs.rounds_cache = rounds_cache;
    return inputs;
  }
};

Given drawn(const Case& shape, std::uint64_t seed, const std::filesystem::path& folder,
            bool rounded) {
  Given given{measure::drawn_weights(shape, seed)};
  if (rounded) {
    for (Matrix* matrix : matrices_of(given.weights)) round_to_bf16(matrix->values);
    round_to_bf16(given.weights.output_bias);
  }
  if (shape.has_projections()) {
    write_weights(folder, given.weights);
    return given;
  }
  given.key = measure::gaussian_keys(shape, seed + 1);
  given.value = measure::gaussian_values(shape, seed + 1);
  write_and_round(folder / "key.f32", given.key, rounded);
  write_and_round(folder / "value.f32", given.value, rounded);
  return given;
}

reference::Expected expect(const Case& shape, const Given& given, const Matrix& x,
                           const std::vector<std::int64_t>& rows) {
  return reference::attention(shape, given.weights, given.with(x), rows, allowed_cores());
}

// What `judged_as` asks for where products are of fewer bits than floats.
void add_bounds(const Case& shape, const Given& given, const Matrix& x,
                const std::vector<Precision>& classes, reference::Expected& expected) {
  for (const Precision coarse : classes) {
    reference::add_coarse_bound(shape, given.weights, given.with(x), coarse, allowed_cores(),
                                expected);
  }
}

// Whose elements have a bound each. Bytes are multiplied beside stored bytes alone.
std::vector<Precision> bounded_classes(const Case& shape, std::optional<Storage> stored) {
  std::vector<Precision> classes;
  if (!shape.has_projections()) classes = {Precision::bf16x3, Precision::bf16};
  const bool bytes = stored && is_few_bits(*stored);
  if (bytes && !reference::averages_bytes(shape)) classes.push_back(Precision::int8);
  return classes;
}

// Rounds the weights of a layer, or keys and values.
Given stored_as(Storage storage, const Case& shape, Given given) {
  if (shape.has_projections()) {
    for (Matrix* matrix : matrices_of(given.weights)) round_weights(storage, matrix->view());
    return given;
  }
  given.rounds_cache = storage == Storage::q8;
  if (storage != Storage::bf16) return given;
  round_to_bf16(given.key.values);
  round_to_bf16(given.value.values);
  return given;
}

// If it is stored otherwise than it was given.
std::optional<Storage> stored_otherwise(const Case& shape, const Numbers& numbers) {
  if (!shape.has_projections()) return numbers.cache;
  return is_few_bits(numbers.stored_weights()) ? numbers.weights : std::nullopt;
}

bool rounds_itself(const JsonFields& request) {
  if (!request.has("rounding")) return false;
  if (request.text("rounding") != "own") request.fail("rounding", "own, or none at all");
  return true;
}

bool rounds_activations(const JsonFields& request) {
  if (!request.has("products")) return false;
  const std::string products = request.text("products");
  if (products != "int8" && products != "bf16") request.fail("products", "int8, bf16 or none");
  return true;
}

// In place of the limits of the numbers, which are narrower. What is no number has no error.
void judge_by(const reference::Limits& limits, reference::Comparison& comparison) {
  comparison.limits = limits;
  comparison.data = reference::Data::standard;
  if (!std::isfinite(comparison.nrmse)) return;
  comparison.passed =
      comparison.nrmse <= limits.nrmse && comparison.max_over_rms <= limits.max_over_rms;
  comparison.reason.clear();
  if (comparison.passed) return;
  comparison.reason = fmt::format(
      "nrmse {:.3g} and max_over_rms {:.3g}; {:g} and {:g} are the limits of roundings"
      " other than ours",
      comparison.nrmse, comparison.max_over_rms, limits.nrmse, limits.max_over_rms);
}

}  // namespace

Numbers asked_numbers(const JsonFields& request) {
  Numbers numbers;
  if (request.has("precision")) numbers.precision = read_precision(request);
  if (request.has("dtype")) numbers.dtype = read_dtype(request);
  if (!request.has("weights_dtype") && !request.has("cache_dtype")) return numbers;
  return read_numbers(request);
}

PosedProblem::PosedProblem(const JsonFields& request)
    : seed_(static_cast<std::uint64_t>(request.whole("seed", 0))), shape_(shape_of(request)) {
  const std::set<Storage> storages = storages_of(request, shape_);
  const std::filesystem::path folder = request.text("folder");
  const bool rounded = request.has("rounded") && request.at("rounded") == true;
  const Given given = drawn(shape_, seed_, folder, rounded);
  const auto rows = reference::affordable_rows(shape_, plan::kCheckFlops, seed_);
  const std::int64_t inputs = request.whole("inputs", 1, 64);
  std::map<std::int64_t, Matrix> checked;
  for (std::int64_t i = 0; i < inputs; ++i) {
    const std::uint64_t seed = seed_ + 1 + static_cast<std::uint64_t>(i);
    Matrix x = shape_.has_projections() ? gaussian_input(shape_.rows(), shape_, seed)
                                        : measure::gaussian_queries(shape_, seed);
    write_and_round(input_file(folder, i), x, rounded);
    if (i == 0 || i == inputs - 1) checked[i] = std::move(x);
  }
  const auto expected_of_all = [&](const Given& all, std::optional<Storage> stored,
                                   const Matrix& x) {
    reference::Expected expected = expect(shape_, all, x, rows);
    add_bounds(shape_, all, x, bounded_classes(shape_, stored), expected);
    return expected;
  };
  for (const auto& [i, x] : checked) {
    expected_[i].unrounded = expected_of_all(given, std::nullopt, x);
  }
  for (const Storage storage : storages) {
    const Given stored = stored_as(storage, shape_, given);
    for (const auto& [i, x] : checked) {
      expected_[i].stored[storage] = expected_of_all(stored, storage, x);
    }
  }
}

std::vector<std::int64_t> PosedProblem::checked_inputs() const {
  std::vector<std::int64_t> inputs;
  for (const auto& [input, _] : expected_) inputs.push_back(input);
  return inputs;
}

std::int64_t PosedProblem::checked_rows() const {
  if (expected_.empty()) return 0;
  return static_cast<std::int64_t>(expected_.begin()->second.unrounded.rows.size());
}

const reference::Expected& PosedProblem::expected_of(const OfInput& input,
                                                     const JsonFields& request) const {
  const std::optional<Storage> storage = stored_otherwise(shape_, asked_numbers(request));
  if (!storage || rounds_itself(request)) return input.unrounded;
  const auto stored = input.stored.find(*storage);
  if (stored == input.stored.end()) {
    if (shape_.has_projections()) request.fail("weights_dtype", "one of the problem's weights");
    request.fail("cache_dtype", "one of the problem's caches");
  }
  return stored->second;
}

Judged PosedProblem::judge(const JsonFields& request) const {
  const auto input = expected_.find(request.whole("input", 0));
  if (input == expected_.end()) request.fail("input", "one of checked_inputs");
  const reference::Expected& expected = expected_of(input->second, request);
  const bool otherwise = rounds_activations(request) || rounds_itself(request);
  const Numbers numbers = asked_numbers(request);
  const reference::Data data = measure::judged_as(shape_, reference::Data::standard, {numbers});
  Judged judged;
  try {
    Matrix y;
    y.rows = shape_.rows();
    y.cols = shape_.output_width();
    y.values = read_floats(request.text("file"), y.rows * y.cols);
    const ConstMatrixView output = std::as_const(y).view();
    judged.comparison = reference::compare(expected, output, data, numbers);
    if (otherwise) judge_by(kOtherwiseRounded, judged.comparison);
    if (stored_otherwise(shape_, numbers)) {
      judged.to_unrounded =
          reference::compare(input->second.unrounded, output, reference::Data::standard, numbers)
              .nrmse;
    }
  } catch (const std::runtime_error& error) {
    judged.comparison.reason = error.what();
  }
  return judged;
}

}  // namespace headroom::peers
