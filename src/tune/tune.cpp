#include "tune/tune.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <utility>

#include "backends/backend.hpp"
#include "core/placed_matrix.hpp"
#include "headroom/attention.hpp"
#include "headroom/error.hpp"
#include "machine/meters/timing.hpp"
#include "measure/check.hpp"

namespace headroom::tune {
namespace {

// What the oracle may take: some rows of the widest shape in about a second.
constexpr double kMostOracleFlops = 1e9;

// A backend whose kernels have variants and that uses this number of threads; the one that the
// project prefers.
std::string backend_for(int threads, Isa isa) {
  const BackendInfo* best = nullptr;
  const std::vector<BackendInfo> all = backends();
  for (const BackendInfo& info : all) {
    const BackendFacts& facts = backend_facts(info.name);
    if (!info.available || facts.kernel_variants == nullptr) continue;
    if (facts.kernel_variants(isa).size() < 2 || (threads > 1 && !info.threaded)) continue;
    if (best == nullptr || facts.preference < backend_facts(best->name).preference) best = &info;
  }
  if (best == nullptr) {
    throw Unavailable(
        fmt::format("tune: no backend of this program has kernels with variants for {} thread{}",
                    threads, threads == 1 ? "" : "s"));
  }
  return best->name;
}

AttentionOptions options_of(const std::string& backend, const std::string& variant, int threads,
                            Isa isa) {
  AttentionOptions options;
  options.backend = backend;
  options.formulation = Formulation::fused;
  options.threads = threads;
  options.isa = isa;
  options.kernels = variant;
  return options;
}

// The layers of one shape, the backend's own choice first.
struct Contest {
  measure::Problem problem;
  PlacedMatrix x, y;
  std::vector<std::unique_ptr<measure::CellLayer>> layers;
};

void check(Contest& contest, const std::vector<std::string>& variants) {
  const auto first = measure::run_and_compare(*contest.layers.front(), contest.problem,
                                              contest.x.view(), contest.y.view());
  if (!first.comparison.passed) {
    throw std::runtime_error(fmt::format("tune: wrong result of variant '{}' for {}: {}",
                                         variants.front(), contest.problem.shape.id(),
                                         first.comparison.reason));
  }
  const PlacedMatrix expected(contest.y.view());
  for (std::size_t i = 1; i < contest.layers.size(); ++i) {
    contest.layers[i]->forward(contest.x.view(), contest.y.view());
    const ConstMatrixView y = contest.y.view();
    const auto bytes = static_cast<std::size_t>(y.rows * y.cols) * sizeof(float);
    if (std::memcmp(y.data, expected.view().data, bytes) == 0) continue;
    throw std::runtime_error(fmt::format("tune: variant '{}' gives other bits than '{}' for {}",
                                         variants[i], variants.front(),
                                         contest.problem.shape.id()));
  }
}

// @return seconds per variant; fewer samples if it was stopped
std::vector<std::vector<double>> times_of(Contest& contest,
                                          const std::vector<std::string>& variants,
                                          const TuneSettings& settings) {
  std::vector<machine::TimedTask> tasks;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    machine::TimedTask task;
    task.name = variants[i];
    task.run = [&contest, layer = contest.layers[i].get()] {
      layer->forward(contest.x.view(), contest.y.view());
    };
    task.repetitions = settings.repetitions;
    task.min_time = settings.min_time;
    tasks.push_back(std::move(task));
  }
  std::vector<std::vector<double>> times(variants.size());
  machine::time_interleaved(
      tasks,
      [&](std::size_t task, const machine::TimedSamples& samples) {
        times[task] = samples.seconds;
      },
      settings.stopped);
  return times;
}

bool is_stopped(const TuneSettings& settings) { return settings.stopped && settings.stopped(); }

}  // namespace

double VariantTimes::mean_ratio() const {
  double sum = 0;
  for (const judge::Difference& difference : by_shape) sum += std::log(difference.ratio);
  return by_shape.empty() ? 1 : std::exp(sum / static_cast<double>(by_shape.size()));
}

std::string choose(const std::string& own_choice, const std::vector<VariantTimes>& others) {
  const auto any = [](const VariantTimes& times, judge::Verdict verdict) {
    return std::any_of(times.by_shape.begin(), times.by_shape.end(),
                       [&](const judge::Difference& one) { return one.verdict == verdict; });
  };
  const VariantTimes* best = nullptr;
  for (const VariantTimes& times : others) {
    if (!any(times, judge::Verdict::faster) || any(times, judge::Verdict::slower)) continue;
    if (best == nullptr || times.mean_ratio() < best->mean_ratio()) best = &times;
  }
  return best != nullptr ? best->variant : own_choice;
}

std::vector<Shape> default_shapes() {
  std::vector<Shape> shapes;
  const auto add = [&](std::int64_t tokens, std::int64_t width, std::int64_t heads) {
    Shape shape;
    shape.tokens = tokens;
    shape.d_in = shape.d_out = shape.d_proj = width;
    shape.heads = heads;
    shapes.push_back(shape);
  };
  add(128, 768, 12);
  add(1024, 768, 12);
  add(256, 2048, 32);
  return shapes;
}

std::vector<Tuned> tune_kernels(const TuneSettings& settings) {
  std::vector<Tuned> all;
  for (const int threads : settings.threads) {
    Tuned tuned;
    tuned.threads = threads;
    tuned.backend = backend_for(threads, settings.isa);
    const KernelChoice own =
        backend_entry(tuned.backend).make({threads, {settings.isa}, ""})->kernels();
    tuned.own_choice = own.name;
    tuned.reason = own.reason;
    std::vector<std::string> variants{own.name};
    for (const std::string& name : backend_facts(tuned.backend).kernel_variants(settings.isa)) {
      if (name != own.name) variants.push_back(name);
    }
    std::vector<judge::SamplePair> pairs;
    for (const Shape& shape : settings.shapes) {
      if (is_stopped(settings)) return all;
      if (settings.started) {
        settings.started(fmt::format("{} with {} thread{}, {}", tuned.backend, threads,
                                     threads == 1 ? "" : "s", shape.id()));
      }
      Contest contest;
      contest.problem =
          measure::make_problem(shape, settings.seed, reference::Data::standard, kMostOracleFlops);
      contest.x = PlacedMatrix(contest.problem.x.view());
      contest.y = PlacedMatrix(shape.rows(), shape.output_width());
      for (const std::string& variant : variants) {
        contest.layers.push_back(std::make_unique<measure::LocalLayer>(
            contest.problem, options_of(tuned.backend, variant, threads, settings.isa)));
      }
      check(contest, variants);
      const auto times = times_of(contest, variants, settings);
      if (is_stopped(settings)) return all;
      for (std::size_t i = 1; i < variants.size(); ++i) {
        pairs.push_back({{times.front()}, {times[i]}, 0});
      }
    }
    // All pairs of a number of threads are corrected together.
    const std::vector<judge::Difference> differences = judge::compare_samples(pairs, {});
    for (std::size_t i = 1; i < variants.size(); ++i) {
      VariantTimes& times = tuned.others.emplace_back();
      times.variant = variants[i];
      for (std::size_t s = 0; s < settings.shapes.size(); ++s) {
        times.by_shape.push_back(differences[s * (variants.size() - 1) + i - 1]);
      }
    }
    tuned.chosen = choose(tuned.own_choice, tuned.others);
    all.push_back(std::move(tuned));
  }
  return all;
}

}  // namespace headroom::tune
