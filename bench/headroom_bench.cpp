// The cells of a sweep as a plain Google Benchmark program: every --benchmark_* flag works, and
// each benchmark is named after its cell. Each layer is checked before it is timed.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/placed_matrix.hpp"
#include "core/text/shown.hpp"
#include "headroom/attention.hpp"
#include "headroom/error.hpp"
#include "machine/memory.hpp"
#include "machine/meters/benchmark_compat.hpp"
#include "measure/crew/crew.hpp"
#include "measure/group/check.hpp"
#include "measure/runner.hpp"
#include "own_build.hpp"
#include "plan/axes_options.hpp"
#include "plan/cell.hpp"
#include "plan/estimate.hpp"
#include "plan/expand.hpp"
#include "program/exit_code.hpp"
#include "program/numbers.hpp"
#include "program/process_setup.hpp"

namespace {

using namespace headroom;

constexpr std::uint64_t kSeed = 1;

// Google Benchmark calls a benchmark again for each repetition and while it searches for the number
// of iterations. The inputs of the last shape and the last checked layer are kept between calls.
class Kept {
 public:
  struct Layer {
    std::unique_ptr<measure::CellLayer> layer;
    PlacedMatrix y;
    reference::Comparison error;
  };

  Layer& layer(const plan::Group& group, const plan::Cell& cell) {
    const Case& shape = group.shape;
    if (layer_id_ == cell.id) return layer_;
    layer_ = {};  // frees memory that the next layer may need
    layer_id_.clear();
    prepare_problem(group);
    layer_.layer = measure::make_layer(*problem_, cell, nullptr);
    layer_.y = PlacedMatrix(shape.rows(), shape.output_width());
    layer_.error =
        measure::run_and_compare(*layer_.layer, *problem_, x(), layer_.y.view()).comparison;
    layer_id_ = cell.id;
    return layer_;
  }

  ConstMatrixView x() const { return x_.view(); }

 private:
  void prepare_problem(const plan::Group& group) {
    if (problem_ && problem_->shape == group.shape && stored_ == group.stored()) return;
    problem_.reset();
    stored_ = group.stored();
    problem_ = measure::make_problem(group, kSeed, reference::Data::standard, plan::kCheckFlops);
    x_ = PlacedMatrix(problem_->x.view());
  }

  std::optional<measure::Problem> problem_;
  Numbers stored_;
  PlacedMatrix x_;
  std::string layer_id_;
  Layer layer_;
};

struct Context {
  Kept kept;
  std::int64_t memory_limit = 0;
  bool failed = false;
};

void run_cell(benchmark::State& state, const plan::Group& group, const plan::Cell& cell,
              Context& context) {
  Kept::Layer& layer = context.kept.layer(group, cell);
  if (!layer.error.passed) {
    context.failed = true;
    state.SkipWithError(("wrong result: " + layer.error.reason).c_str());
    return;
  }
  for (auto _ : state) layer.layer->forward(context.kept.x(), layer.y.view());
  const double gflop = group.shape.flops().total() * 1e-9 * static_cast<double>(state.iterations());
  state.counters["GFLOP/s"] = benchmark::Counter(gflop, benchmark::Counter::kIsRate);
  state.counters["nrmse"] = layer.error.nrmse;
}

void benchmark_cell(benchmark::State& state, const plan::Group& group, const plan::Cell& cell,
                    Context& context) {
  const Case& shape = group.shape;
  if (cell.unsupported) {
    machine::skip_with_reason(state, cell.skip_reason);
    return;
  }
  const std::int64_t limit = context.memory_limit - plan::shared_bytes(shape);
  if (shape.rows() == 0) {
    machine::skip_with_reason(state, "batch times tokens is 0: nothing to compute");
    return;
  }
  if (plan::cell_bytes(shape, cell) > limit) {
    machine::skip_with_reason(state, fmt::format("needs {} in addition to its inputs; {} are left",
                                                 format_bytes(plan::cell_bytes(shape, cell)),
                                                 format_bytes(std::max<std::int64_t>(0, limit))));
    return;
  }
  try {
    run_cell(state, group, cell, context);
  } catch (const Unsupported& error) {
    machine::skip_with_reason(state, error.what());
  } catch (const Unavailable& error) {
    machine::skip_with_reason(state, error.what());
  } catch (const std::exception& error) {
    context.failed = true;
    state.SkipWithError(error.what());
  }
}

bool is_for_google_benchmark(std::string_view argument) {
  return argument.starts_with("--benchmark_") || argument.starts_with("--v=");
}

plan::Plan parse_axes(const std::vector<char*>& arguments) {
  CLI::App app(
      "The cells of headroom sweep as Google Benchmark cases; all --benchmark_* flags "
      "work as well.",
      "headroom-bench");
  plan::AxesOptions axes;
  axes.add_to(app);
  try {
    app.parse(static_cast<int>(arguments.size()), arguments.data());
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error) == 0 ? kDone : kWrongUsage);
  }
  return plan::expand(axes.values(), {kSeed, false});
}

void register_cells(const plan::Plan& plan, Context& context) {
  for (const plan::Group& group : plan.groups) {
    for (const plan::Cell& cell : group.cells) {
      benchmark::RegisterBenchmark(cell.id.c_str(), [&group, &cell,
                                                     &context](benchmark::State& state) {
        benchmark_cell(state, group, cell, context);
      })->UseRealTime();
    }
  }
}

void complain(const char* kind, std::string_view message) {
  fmt::print(stderr, "headroom-bench: {}: {}\n", kind, shown_text(message));
}

int run(int count, char** arguments) {
  std::vector<char*> ours{arguments[0]};
  std::vector<char*> theirs{arguments[0]};
  for (int i = 1; i < count; ++i) {
    (is_for_google_benchmark(arguments[i]) ? theirs : ours).push_back(arguments[i]);
  }
  const plan::Plan plan = parse_axes(ours);
  for (const std::string& note : plan.notes) complain("note", note);
  for (const std::string& warning : plan.warnings) complain("warning", warning);
  int their_count = static_cast<int>(theirs.size());
  theirs.push_back(nullptr);
  benchmark::Initialize(&their_count, theirs.data());
  if (benchmark::ReportUnrecognizedArguments(their_count, theirs.data())) return kWrongUsage;
  bench::name_own_build();
  Context context;
  context.memory_limit = machine::usable_memory();
  register_cells(plan, context);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return context.failed ? kCheckFailed : kDone;
}

}  // namespace

int main(int count, char** arguments) {
  open_standard_files();
  restart_with_passive_openmp(arguments);
  const auto failed = [](const std::exception& error, int code) {
    complain("error", error.what());
    return code;
  };
  try {
    return run(count, arguments);
  } catch (const InvalidArgument& error) {
    return failed(error, kWrongUsage);
  } catch (const Unavailable& error) {
    return failed(error, kNotAvailable);
  } catch (const Unsupported& error) {
    return failed(error, kNotAvailable);
  } catch (const FileError& error) {
    return failed(error, kBadFile);
  } catch (const std::exception& error) {
    return failed(error, kNoResource);
  }
}
