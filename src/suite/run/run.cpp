#include "run/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "core/placed_matrix.hpp"
#include "core/text/shown.hpp"
#include "headroom/error.hpp"
#include "machine/memory.hpp"
#include "measure/group/cell_layer.hpp"
#include "measure/group/cell_result.hpp"
#include "measure/group/check.hpp"
#include "measure/runner.hpp"
#include "plan/admission.hpp"
#include "plan/estimate.hpp"
#include "plan/expand.hpp"
#include "plan/user_weights.hpp"
#include "weights/npy.hpp"

namespace headroom::run {
namespace {

// The axes of the call that an input has, which must not be given another way.
void take_sizes(const std::vector<std::int64_t>& dims, const std::filesystem::path& path,
                plan::Axes& axes) {
  if (dims.size() != 2 && dims.size() != 3) {
    throw FileError(fmt::format(
        "{}: the input has {} dimensions; allowed are (tokens, width) and (batch, tokens, width)",
        shown_path(path), dims.size()));
  }
  if (axes.past) {
    throw InvalidArgument(
        "--past: what came before is not in --input; leave one of them out, or give all tokens");
  }
  if (axes.outliers) {
    throw InvalidArgument(
        "--outliers: they are of an x that is drawn, and --input gives one; leave one of them out");
  }
  if (axes.lengths) return;
  const auto take = [&](plan::Axis<std::int64_t>& axis, std::int64_t size) {
    if (axis && axis.values() != std::vector{size}) {
      throw InvalidArgument(fmt::format("{}: '{}' was given, but {} has {}; leave the option out",
                                        axis.option(), axis.text(), shown_path(path), size));
    }
    axis = std::to_string(size);
  };
  take(axes.batch, dims.size() == 3 ? dims[0] : 1);
  take(axes.tokens, dims[dims.size() - 2]);
}

plan::Plan plan_of(const RunRequest& request, const plan::Axes& axes) {
  plan::Plan plan = plan::expand(axes, {request.seed, false});
  if (plan.groups.size() != 1) {
    throw InvalidArgument(fmt::format(
        "run takes one call, and these axes give {}; give one value for each", plan.groups.size()));
  }
  return plan;
}

// Every rival is asked for, so none is skipped.
void require_memory(const plan::Group& group, std::int64_t limit) {
  plan::Limits limits;
  limits.memory_bytes = limit;
  limits.more_memory = "raise --max-memory if there is more memory";
  for (const plan::Cell& cell : group.cells) {
    const plan::CellEstimate estimate = plan::Estimator().estimate(group.shape, cell, {});
    if (estimate.bytes <= limit) continue;
    throw ResourceError(cell.id + ": " + plan::reason_to_skip(group.shape, cell, estimate, limits));
  }
}

void require_width(const std::filesystem::path& path, const weights::NpyHeader& input,
                   const Case& shape) {
  const std::int64_t width = input.dims.back();
  const std::int64_t rows = width == 0 ? 0 : input.count / width;
  if (width != shape.d_in) {
    throw FileError(
        fmt::format("{}: the input is {} wide, and the layer takes {}; name the input "
                    "of this layer",
                    shown_path(path), width, shape.d_in));
  }
  if (rows != shape.rows()) {
    throw InvalidArgument(fmt::format("--lengths: they are {} tokens together, and {} has {}",
                                      shape.rows(), shown_path(path), rows));
  }
}

// @return what is to be said of values that are no numbers
std::string odd_values(ConstMatrixView matrix) {
  std::int64_t count = 0;
  std::string first;
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    for (std::int64_t col = 0; col < matrix.cols; ++col) {
      if (std::isfinite(matrix.row(row)[col])) continue;
      if (count++ == 0) first = fmt::format("({}, {})", row, col);
    }
  }
  return count == 0 ? "" : fmt::format("{} values are not finite, the first at {}", count, first);
}

// A file whose header says what the layer takes. Its values are read once it is known that they fit
// into memory.
struct InputFile {
  explicit InputFile(const std::filesystem::path& path)
      : bytes(path), header(weights::read_npy_header(bytes)) {}

  weights::FileBytes bytes;
  weights::NpyHeader header;
};

// Null without a file: then it is drawn.
std::shared_ptr<const Matrix> take_input(const RunRequest& request, const InputFile* input,
                                         plan::Plan& plan) {
  if (input == nullptr) return nullptr;
  weights::NpyArray array = weights::read_npy(input->bytes);
  if (array.dims != input->header.dims) {
    input->bytes.fail(0, "the header has changed since it was read first", "run it again");
  }
  const Case& shape = plan.groups.front().shape;
  auto x = std::make_shared<Matrix>();
  x->rows = shape.rows();
  x->cols = shape.d_in;
  x->values = std::move(array.values);
  const std::string odd = odd_values(x->view());
  if (odd.empty()) return x;
  const std::string text = fmt::format("{}: {}", request.input->string(), odd);
  if (request.axes.strict) throw FileError(text + "; --strict refuses it; leave it out to go on");
  plan.warnings.push_back(text);
  return x;
}

// Computes results in this process, and writes the first good one.
class Results {
 public:
  explicit Results(PreparedRun& run)
      : run_(run),
        problem_(run.checks ? measure::make_problem(run.group(), run.settings.seed,
                                                    reference::Data::standard, plan::kCheckFlops)
                            : measure::make_inputs(run.group(), run.settings.seed,
                                                   reference::Data::standard)),
        y_(problem_.shape.rows(), problem_.shape.output_width()) {}

  /// @return whether the result was written
  bool compute(record::CellResult& result) {
    try {
      measure::LocalLayer layer(problem_, result.cell.options());
      result.costs = layer.costs();
      result.threads = layer.options().threads;
      forward(layer, result);
    } catch (const Unsupported& error) {
      end(result, record::Status::unsupported, error.what());
    } catch (const Unavailable& error) {
      end(result, record::Status::unsupported, error.what());
    }
    return result.status == record::Status::ok && write();
  }

 private:
  static void end(record::CellResult& result, record::Status status, std::string reason) {
    result.status = status;
    result.reason = std::move(reason);
  }

  // NaN in the weights or the input is the user's own; out of numbers it is the layer's.
  bool all_numbers() const {
    const plan::UserWeights* weights = run_.group().weights.get();
    return (weights == nullptr || weights->survey.warnings.empty()) &&
           odd_values(problem_.x.view()).empty();
  }

  void forward(measure::CellLayer& layer, record::CellResult& result) {
    if (run_.checks) {
      result.error =
          measure::run_and_compare(layer, problem_, problem_.x.view(), y_.view()).comparison;
      if (!result.error->passed) {
        end(result, record::Status::failed, "wrong result: " + result.error->reason);
        return;
      }
    } else {
      layer.forward(problem_.x.view(), y_.view());
      layer.give(y_.view());
    }
    const std::string odd = odd_values(y_.view());
    if (odd.empty() || !all_numbers()) return;
    end(result, record::Status::failed, "it turned finite numbers into others: " + odd);
  }

  bool write() {
    if (run_.output == nullptr) return false;
    std::vector<std::int64_t> dims = run_.dims;
    dims.push_back(problem_.shape.output_width());
    const ConstMatrixView y = y_.view();
    run_.output->write(weights::npy_header(dims));
    run_.output->write({reinterpret_cast<const char*>(y.data),
                        static_cast<std::size_t>(y.rows * y.cols) * sizeof(float)});
    run_.output->commit();
    run_.output.reset();
    return true;
  }

  PreparedRun& run_;
  const measure::Problem problem_;
  PlacedMatrix y_;
};

RunOutcome compute_all(PreparedRun& run, measure::Observer& observer) {
  Results results(run);
  RunOutcome outcome;
  for (const plan::Cell& cell : run.group().cells) {
    if (observer.stopped()) break;
    record::CellResult& result = outcome.results.emplace_back(
        measure::blank_result(run.group(), cell, run.settings.timing, plan::Estimator()));
    if (cell.unsupported) {
      result.status = record::Status::unsupported;
      result.reason = cell.skip_reason;
    } else if (results.compute(result)) {
      outcome.wrote = true;
      outcome.writer = outcome.results.size() - 1;
    }
  }
  return outcome;
}

// Nothing runs in this process until the last sample is taken: the processes of the samples are
// forked from it, and a fork takes no threads along.
RunOutcome measure_all(PreparedRun& run, measure::Observer& observer) {
  RunOutcome outcome;
  outcome.results = measure::run_plan(run.plan, run.settings, observer);
  std::sort(outcome.results.begin(), outcome.results.end(),
            [](const auto& a, const auto& b) { return a.cell.order < b.cell.order; });
  if (run.output == nullptr || observer.stopped()) return outcome;
  Results results(run);
  for (std::size_t i = 0; i < outcome.results.size() && !outcome.wrote; ++i) {
    if (outcome.results[i].status != record::Status::ok) continue;
    outcome.wrote = results.compute(outcome.results[i]);
    outcome.writer = i;
  }
  return outcome;
}

}  // namespace

PreparedRun prepare_run(const RunRequest& request) {
  PreparedRun run;
  if (request.output) {
    require_writable(*request.output);  // a disk may be full
    run.output = std::make_unique<FreshFile>(*request.output);
  }
  plan::Axes axes = request.axes;
  std::optional<InputFile> input;
  if (request.input) {
    const std::vector<std::int64_t>& dims = input.emplace(*request.input).header.dims;
    take_sizes(dims, *request.input, axes);
    run.dims.assign(dims.begin(), dims.end() - 1);
  }
  run.plan = plan_of(request, axes);
  const Case& shape = run.group().shape;
  if (!request.input) {
    run.dims = {shape.rows()};
    if (shape.lengths.empty() && shape.batch > 1) run.dims = {shape.batch, shape.tokens};
  }
  if (input) require_width(*request.input, input->header, shape);
  run.settings = measure::settings_for(run.plan.target, request.limits_of);
  run.settings.seed = request.seed;
  run.settings.memory_limit = machine::usable_memory(request.max_memory);
  if (request.repetitions) run.settings.timing.repetitions = *request.repetitions;
  run.checks = request.check && shape.rows() > 0;
  require_memory(run.group(), run.settings.memory_limit);
  run.plan.groups.front().input = take_input(request, input ? &*input : nullptr, run.plan);
  return run;
}

RunOutcome run_rivals(PreparedRun& run, measure::Observer& observer) {
  return run.checks ? measure_all(run, observer) : compute_all(run, observer);
}

}  // namespace headroom::run
