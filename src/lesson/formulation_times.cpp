#include "lesson/formulation_times.hpp"

#include <fmt/format.h>

#include <memory>
#include <stdexcept>
#include <utility>

#include "core/placed_matrix.hpp"
#include "headroom/attention.hpp"
#include "headroom/backend.hpp"
#include "headroom/error.hpp"
#include "machine/meters/timing.hpp"
#include "measure/cell_layer.hpp"
#include "measure/check.hpp"
#include "statistics/intervals.hpp"

namespace headroom::lesson {
namespace {

constexpr std::uint64_t kSeed = 1;
constexpr double kMostOracleFlops = 5e8;  // some rows of either shape in half a second
constexpr int kSamples = 9;
constexpr double kSampleSeconds = 0.02;

struct Sample {
  Shape shape;
  const char* what;
};

Shape square_layer(std::int64_t tokens, std::int64_t width, std::int64_t heads) {
  Shape shape;
  shape.tokens = tokens;
  shape.d_in = shape.d_out = shape.d_proj = width;
  shape.heads = heads;
  return shape;
}

std::vector<Sample> measured_shapes() {
  return {{square_layer(128, 768, 12), "12 heads of 64, the widths of GPT-2, 128 tokens"},
          {square_layer(16, 1536, 96), "96 heads of 16, 16 tokens"}};
}

// Both layers of one backend, and their samples.
struct Pair {
  std::string backend;
  std::unique_ptr<measure::CellLayer> wrapper, split;
  std::vector<double> wrapper_seconds, split_seconds;
};

struct Contest {
  measure::Problem problem;
  PlacedMatrix x, y;
  std::vector<Pair> pairs;
};

std::unique_ptr<measure::CellLayer> checked_layer(Contest& contest, const std::string& backend,
                                                  Formulation formulation) {
  AttentionOptions options;
  options.backend = backend;
  options.formulation = formulation;
  options.threads = 1;
  const measure::Problem& problem = contest.problem;
  auto layer = std::make_unique<measure::LocalLayer>(problem, options);
  const reference::Comparison found =
      measure::run_and_compare(*layer, problem, contest.x.view(), contest.y.view()).comparison;
  if (found.passed) return layer;
  throw std::runtime_error(
      fmt::format("explain: wrong result of {}/{} for {}: {}; nothing is timed",
                  to_string(formulation), backend, problem.shape.id(), found.reason));
}

void make_layers(Contest& contest) {
  for (const BackendInfo& info : backends()) {
    if (!info.available) continue;
    try {
      Pair pair;
      pair.backend = info.name;
      pair.wrapper = checked_layer(contest, info.name, Formulation::wrapper);
      pair.split = checked_layer(contest, info.name, Formulation::split);
      contest.pairs.push_back(std::move(pair));
    } catch (const Unsupported&) {
      continue;  // a backend that declines the shape has no time
    }
  }
}

void take_samples(Contest& contest, const std::function<bool()>& stopped) {
  std::vector<machine::TimedTask> tasks;
  std::vector<std::vector<double>*> into;
  const auto add = [&](measure::CellLayer& layer, std::vector<double>& seconds) {
    machine::TimedTask task;
    // Samples come back by name, so each has its own.
    task.name =
        fmt::format("{}/{}", to_string(*layer.options().formulation), layer.options().backend);
    task.run = [&contest, &layer] { layer.forward(contest.x.view(), contest.y.view()); };
    task.repetitions = kSamples;
    task.min_time = kSampleSeconds;
    tasks.push_back(std::move(task));
    into.push_back(&seconds);
  };
  for (Pair& pair : contest.pairs) {
    add(*pair.wrapper, pair.wrapper_seconds);
    add(*pair.split, pair.split_seconds);
  }
  machine::time_interleaved(
      tasks,
      [&](std::size_t task, const machine::TimedSamples& samples) {
        *into[task] = samples.seconds;
      },
      stopped);
}

std::vector<FormulationTimes> judged(const std::vector<Pair>& pairs) {
  std::vector<judge::SamplePair> samples;
  samples.reserve(pairs.size());
  for (const Pair& pair : pairs) samples.push_back({{pair.wrapper_seconds}, {pair.split_seconds}});
  const std::vector<judge::Difference> differences = judge::compare_samples(samples);
  std::vector<FormulationTimes> times;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    times.push_back({pairs[i].backend, statistics::pooled_median(samples[i].base),
                     statistics::pooled_median(samples[i].next), differences[i]});
  }
  return times;
}

}  // namespace

std::vector<ShapeTimes> time_formulations(const std::function<void(const std::string&)>& started,
                                          const std::function<bool()>& stopped) {
  const auto is_stopped = [&] { return stopped && stopped(); };
  std::vector<ShapeTimes> all;
  for (const Sample& sample : measured_shapes()) {
    if (is_stopped()) return {};
    if (started) started(fmt::format("wrapper and split, {}", sample.what));
    Contest contest;
    contest.problem =
        measure::make_problem(sample.shape, kSeed, reference::Data::standard, kMostOracleFlops);
    contest.x = PlacedMatrix(contest.problem.x.view());
    contest.y = PlacedMatrix(sample.shape.rows(), sample.shape.output_width());
    make_layers(contest);
    take_samples(contest, stopped);
    if (is_stopped()) return {};
    all.push_back({sample.shape, sample.what, judged(contest.pairs)});
  }
  return all;
}

}  // namespace headroom::lesson
