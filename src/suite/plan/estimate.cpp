#include "plan/estimate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/backend.hpp"
#include "core/call/demand.hpp"
#include "plan/shapes/layer_shape.hpp"
#include "processor/cores.hpp"

namespace headroom::plan {
namespace {

// Until a cell has been measured: what servers of the last five years reach.
constexpr double kReadBytesPerSecond = 2.5e10;
// Of making a layer and of freeing it: weights are arranged for the formulation and then packed.
constexpr double kPackBytesPerSecond = 1.5e9;
constexpr double kDrawSecondsPerFloat = 2.5e-8;
constexpr double kOracleFlopsPerSecond = 4e9;
// Of each process before its first layer: meters of the control that find out how long a burst is,
// and libraries that generate code.
constexpr double kProcessSeconds = 0.06;

// Keys and values of the past and of the call. Backends pad heads to whole vectors, of 16 floats at
// most.
double cache_bytes(const Case& shape) {
  constexpr double kLanes = 16;
  const auto padded = [](std::int64_t width) {
    return std::ceil(static_cast<double>(width) / kLanes) * kLanes;
  };
  const double tokens = static_cast<double>(shape.batch) * static_cast<double>(shape.context());
  // Of latents some backends keep those that are values once more.
  if (shape.is_latent()) {
    return 4.0 * tokens * (padded(shape.latent_width()) + padded(shape.latent.rank));
  }
  return 4.0 * tokens * static_cast<double>(shape.key_heads()) *
         (padded(shape.head_dim()) + padded(shape.head_value_dim()));
}

// Of what came before a row, as it is drawn.
double past_floats(const Case& shape) {
  const std::int64_t width = shape.has_projections() ? shape.key_input() : 2 * shape.kv_width();
  return static_cast<double>(shape.batch) * static_cast<double>(shape.past) *
         static_cast<double>(width);
}

// What the oracle needs at least for the rows of a cell: each row's keys, from the inputs of all
// tokens that it sees, for every head.
double least_check_flops(const Case& shape) {
  constexpr double kRows = 4;
  const double rows = std::min(kRows, static_cast<double>(shape.rows()));
  return rows * 8 * static_cast<double>(seen_keys(shape)) * static_cast<double>(shape.heads) *
         static_cast<double>(shape.key_input());
}

// Of the layer, for each rank: a guess, in which no rank has less than the heads that share keys.
double share_of_rank(const Case& shape, const Cell& cell) {
  return 1 / static_cast<double>(std::clamp<std::int64_t>(cell.ranks, 1, shape.key_heads()));
}

// Ranks beyond the key heads keep the keys and values of a head that another one has.
double copies_of_keys(const Case& shape, const Cell& cell) {
  const auto busy = static_cast<double>(std::min<std::int64_t>(cell.ranks, shape.heads));
  return std::max(1.0, busy / static_cast<double>(shape.key_heads()));
}

// Of a layer's weights, packed.
double weight_bytes(const Case& shape, const Cell& cell) {
  const Arithmetic does =
      arithmetic_of(cell.runs(), cell.numbers, select_target(cell.isa, cell.unit));
  // What is made of latents is packed for both orders of multiplication.
  const std::int64_t twice =
      shape.is_latent() ? shape.latent.rank * (shape.own_key_width() + shape.value_width()) : 0;
  return (static_cast<double>(shape.bytes().weights) / sizeof(float) + static_cast<double>(twice)) *
         does.weight_bytes;
}

std::int64_t saturate(double bytes) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  return bytes >= 0x1p63 ? kMost : static_cast<std::int64_t>(bytes);
}

}  // namespace

std::int64_t shared_bytes(const Case& shape) {
  const ByteCount bytes = shape.bytes();
  // The oracle keeps a row's expected values and magnitudes in double precision.
  // Each process has an input of its own. What came before is drawn once.
  const double past = 4.0 * past_floats(shape);
  return saturate(static_cast<double>(bytes.weights) + 2 * static_cast<double>(bytes.input) +
                  5 * static_cast<double>(bytes.output) + past);
}

std::int64_t cell_bytes(const Case& shape, const Cell& cell) {
  const Case layer = layer_shape(shape);
  const ByteCount bytes = shape.bytes();
  const auto rows = static_cast<double>(layer.rows());
  const auto widths = static_cast<double>(shape.d_out + shape.context_width() + shape.kv_width() +
                                          shape.value_width());
  double workspace = 4 * rows * widths;  // q, k, v, context
  if (shape.gate) workspace += 4 * rows * static_cast<double>(shape.context_width());
  const auto attend_bytes = backend_facts(cell.runs()).attend_bytes;
  if (attend_bytes != nullptr) workspace += attend_bytes(layer);
  const double x_and_y = static_cast<double>(bytes.input) + static_cast<double>(bytes.output);
  double total = weight_bytes(shape, cell) + cell.ranks * workspace + (cell.ranks - 1) * x_and_y;
  if (shape.past > 0) total += cache_bytes(shape) * copies_of_keys(shape, cell);
  return saturate(total);
}

double control_seconds(const Plan& plan) {
  std::map<int, double> cells;  // by threads
  double all = 0;
  for (const Group& group : plan.groups) {
    for (const Cell& cell : group.cells) {
      if (!cell.skip_reason.empty()) continue;
      ++cells[cell.threads];
      ++all;
    }
  }
  double readings = 2;
  for (const auto& entry : cells) readings -= entry.second / all * entry.second / all;
  return readings * kReadingSeconds;
}

std::string Estimator::key(const Case& shape, const Cell& cell) {
  std::string key = cell.runs() + "/" + std::string(way_of(shape, cell));
  if (cell.numbers != Numbers{}) key.append("/").append(headroom::to_string(cell.numbers));
  if (cell.ranks > 1) key.append("/r").append(std::to_string(cell.ranks));
  return key;
}

double Estimator::modelled_seconds(const Case& shape, const FlopCount& flops, const Cell& cell) {
  const BackendFacts& facts = backend_facts(cell.runs());
  const bool wrapper = cell.formulation == Formulation::wrapper && !facts.packs_heads_together;
  const int threads = std::min(cell.threads, allowed_cores());
  const double rate = facts.gflops * 1e9 * threads / share_of_rank(shape, cell);
  const double compute = flops.qkv / (rate * (wrapper ? facts.narrow_share : 1)) +
                         (flops.attention * 1.5 + flops.output) / rate;
  const double of_layer = wrapper ? 3 * static_cast<double>(shape.heads) : 3;
  const double calls = shape.has_projections() ? of_layer : 1;
  const double memory = static_cast<double>(bytes_to_read(shape)) / kReadBytesPerSecond;
  return std::max(compute, memory) + calls * facts.call_seconds;
}

double Estimator::forward_seconds(const Case& shape, const Cell& cell) const {
  const auto known = forward_.find(key(shape, cell));
  const double factor = known == forward_.end() ? 1 : std::exp(known->second);
  return modelled_seconds(shape, shape.flops(), cell) * factor;
}

// Keys and values are appended: projections without attention.
double Estimator::modelled_fill_seconds(const Case& shape, const Cell& cell) {
  const Case fill = fill_shape(shape);
  return modelled_seconds(fill, {fill.flops().qkv, 0, 0}, cell);
}

double Estimator::fill_seconds(const Case& shape, const Cell& cell) const {
  if (shape.past == 0 || !shape.has_projections()) return 0;
  const auto known = fill_.find(key(shape, cell));
  const double factor = known == fill_.end() ? 1 : std::exp(known->second);
  return modelled_fill_seconds(shape, cell) * factor;
}

double Estimator::cell_seconds(const Case& shape, const Cell& cell, const TimingPlan& plan) const {
  const double forward = forward_seconds(shape, cell);
  const double pass = plan.emptying + forward;
  const double launch = setup_seconds(shape, cell) + fill_seconds(shape, cell) + pass;
  const double phases = forward < kShortPass ? kPhaseRuns * pass : 0;
  const SamplePlan samples = plan.samples(forward, launch);
  return phases + samples.processes * launch + samples.repetitions * plan.sample_seconds(forward);
}

CellEstimate Estimator::estimate(const Case& shape, const Cell& cell,
                                 const TimingPlan& plan) const {
  std::int64_t bytes = 0;
  if (__builtin_add_overflow(shared_bytes(shape), cell_bytes(shape, cell), &bytes)) {
    bytes = std::numeric_limits<std::int64_t>::max();
  }
  return {bytes, cell_seconds(shape, cell, plan)};
}

double Estimator::group_seconds(const Group& group, const TimingPlan& plan) const {
  const Case& shape = group.shape;
  const double weights = static_cast<double>(shape.bytes().weights) / 4 * kDrawSecondsPerFloat;
  const double past = past_floats(shape) * kDrawSecondsPerFloat;
  double checked = std::min(shape.flops().total(), kCheckFlops);
  // A few rows after many tokens may cost more than all that is checked elsewhere.
  if (shape.past > 0) checked = std::max(checked, least_check_flops(shape));
  double fastest = std::numeric_limits<double>::infinity();
  for (const Cell& cell : group.cells) {
    if (cell.skip_reason.empty()) fastest = std::min(fastest, forward_seconds(shape, cell));
  }
  const double twin = fastest < kShortPass ? plan.repetitions * plan.sample_seconds(fastest) : 0;
  return weights + past + 2 * checked / (kOracleFlopsPerSecond * allowed_cores()) +
         plan.processes * kProcessSeconds + twin;
}

double Estimator::setup_seconds(const Case& shape, const Cell& cell) const {
  const auto known = setup_.find(cell.backend);
  const double factor = known == setup_.end() ? 1 : std::exp(known->second);
  const double bytes = static_cast<double>(shape.bytes().weights) * share_of_rank(shape, cell);
  return bytes / kPackBytesPerSecond * factor;
}

void Estimator::learn(Corrections& corrections, const std::string& key, double ratio) {
  if (!(ratio > 0)) return;
  const double seen = std::log(ratio);
  const auto [known, fresh] = corrections.try_emplace(key, seen);
  if (!fresh) known->second = 0.5 * (known->second + seen);
}

void Estimator::observe(const Case& shape, const Cell& cell, double seconds) {
  learn(forward_, key(shape, cell), seconds / modelled_seconds(shape, shape.flops(), cell));
}

void Estimator::observe_fill(const Case& shape, const Cell& cell, double seconds) {
  if (shape.past > 0) {
    learn(fill_, key(shape, cell), seconds / modelled_fill_seconds(shape, cell));
  }
}

void Estimator::observe_setup(const Case& shape, const Cell& cell, double seconds) {
  // With fewer weights, creating threads and primitives dominates the time.
  constexpr double kLeastBytes = 1 << 24;
  const double bytes = static_cast<double>(shape.bytes().weights) * share_of_rank(shape, cell);
  if (bytes >= kLeastBytes) learn(setup_, cell.backend, seconds * kPackBytesPerSecond / bytes);
}

}  // namespace headroom::plan
