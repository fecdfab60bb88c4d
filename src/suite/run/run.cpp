#include "run/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "core/placed_matrix.hpp"
#include "core/text/shown.hpp"
#include "headroom/error.hpp"
#include "headroom/initialise.hpp"
#include "machine/memory.hpp"
#include "machine/meters/timing.hpp"
#include "measure/group/cell_layer.hpp"
#include "measure/group/check.hpp"
#include "measure/group/outlier_data.hpp"
#include "plan/admission.hpp"
#include "plan/estimate.hpp"
#include "plan/expand.hpp"
#include "plan/user_weights.hpp"
#include "processor/cores.hpp"
#include "reference/oracle_cost.hpp"
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
  return count == 0 ? ""
                    : fmt::format("{} values are no finite numbers, the first at {}", count, first);
}

// A file whose header says what the layer takes. Its values are read once it is known that they fit
// into memory.
struct InputFile {
  explicit InputFile(const std::filesystem::path& path)
      : bytes(path), header(weights::read_npy_header(bytes)) {}

  weights::FileBytes bytes;
  weights::NpyHeader header;
};

Matrix take_input(const RunRequest& request, const InputFile* input, plan::Plan& plan) {
  const Case& shape = plan.groups.front().shape;
  if (input == nullptr) return gaussian_input(shape.rows(), shape, request.seed + 1);
  weights::NpyArray array = weights::read_npy(input->bytes);
  if (array.dims != input->header.dims) {
    input->bytes.fail(0, "the header has changed since it was read first", "run it again");
  }
  Matrix x;
  x.rows = shape.rows();
  x.cols = shape.d_in;
  x.values = std::move(array.values);
  const std::string odd = odd_values(x.view());
  if (odd.empty()) return x;
  const std::string text = fmt::format("{}: {}", request.input->string(), odd);
  if (request.axes.strict) throw FileError(text + "; --strict refuses it; leave it out to go on");
  plan.warnings.push_back(text);
  return x;
}

measure::Problem problem_of(const RunRequest& request, const plan::Group& group, Matrix x) {
  measure::Problem problem{group.shape,
                           group.weights != nullptr
                               ? plan::load_user_weights(*group.weights, group.shape)
                               : gaussian_weights(group.shape, request.seed),
                           std::move(x),
                           {},
                           reference::Data::adversarial};
  const Case& shape = group.shape;
  if (shape.past > 0)
    problem.past = gaussian_past(shape.batch * shape.past, shape, request.seed + 1);
  measure::add_outliers(problem);
  if (!request.check || shape.rows() == 0) return problem;
  std::vector<Numbers> rivals;
  for (const plan::Cell& cell : group.cells) rivals.push_back(cell.numbers);
  measure::expect_result(problem, request.seed, plan::kCheckFlops, rivals);
  return problem;
}

// NaN in the weights or the input is the user's own; out of numbers it is the layer's.
bool all_numbers(const measure::Problem& problem, const plan::UserWeights* weights) {
  return (weights == nullptr || weights->survey.warnings.empty()) &&
         odd_values(problem.x.view()).empty();
}

class Rival {
 public:
  Rival(PreparedRun& run, const RunRequest& request, const plan::Cell& cell)
      : run_(run), request_(request), y_(shape().rows(), shape().output_width()) {
    outcome_.cell = cell;
  }

  RivalOutcome go(const std::function<bool()>& stopped) {
    if (outcome_.cell.unsupported) {
      end(record::Status::unsupported, outcome_.cell.skip_reason);
      return std::move(outcome_);
    }
    try {
      measure::LocalLayer layer(run_.problem, outcome_.cell.options());
      outcome_.costs = layer.costs();
      outcome_.options = layer.options();
      compute(layer);
      if (outcome_.status == record::Status::ok) time(layer, stopped);
    } catch (const Unsupported& error) {
      end(record::Status::unsupported, error.what());
    } catch (const Unavailable& error) {
      end(record::Status::unsupported, error.what());
    }
    return std::move(outcome_);
  }

 private:
  const Case& shape() const { return run_.problem.shape; }

  void end(record::Status status, std::string reason) {
    outcome_.status = status;
    outcome_.reason = std::move(reason);
  }

  void compute(measure::CellLayer& layer) {
    if (request_.check && shape().rows() > 0) {
      outcome_.error =
          measure::run_and_compare(layer, run_.problem, run_.problem.x.view(), y_.view())
              .comparison;
      if (!outcome_.error->passed) {
        end(record::Status::failed, "wrong result: " + outcome_.error->reason);
      }
    } else {
      layer.forward(run_.problem.x.view(), y_.view());
      layer.give(y_.view());
    }
    const std::string odd = odd_values(y_.view());
    if (outcome_.status == record::Status::ok && !odd.empty() &&
        all_numbers(run_.problem, run_.weights())) {
      end(record::Status::failed, "of finite numbers it made others: " + odd);
    }
    if (outcome_.status == record::Status::ok) write();
  }

  void write() {
    if (run_.output == nullptr) return;
    std::vector<std::int64_t> dims = run_.dims;
    dims.push_back(shape().output_width());
    const ConstMatrixView y = y_.view();
    run_.output->write(weights::npy_header(dims));
    run_.output->write({reinterpret_cast<const char*>(y.data),
                        static_cast<std::size_t>(y.rows * y.cols) * sizeof(float)});
    run_.output->commit();
    run_.output.reset();
    outcome_.wrote = true;
  }

  void time(measure::CellLayer& layer, const std::function<bool()>& stopped) {
    if (shape().rows() == 0) return;
    const PlacedMatrix x(run_.problem.x.view());
    machine::TimedTask task;
    task.name = outcome_.cell.id;
    task.run = [&] { layer.forward(x.view(), y_.view()); };
    task.repetitions = request_.repetitions;
    machine::time_interleaved(
        {task},
        [&](std::size_t, const machine::TimedSamples& samples) {
          outcome_.time = record::summarise(samples.seconds, {}, request_.seed);
        },
        stopped);
  }

  PreparedRun& run_;
  const RunRequest& request_;
  PlacedMatrix y_;
  RivalOutcome outcome_;
};

}  // namespace

PreparedRun prepare_run(const RunRequest& request) {
  PreparedRun run;
  if (request.output) run.output = std::make_unique<FreshFile>(*request.output);
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
  require_memory(run.group(), machine::usable_memory(request.max_memory));
  run.problem =
      problem_of(request, run.group(), take_input(request, input ? &*input : nullptr, run.plan));
  return run;
}

void run_rivals(PreparedRun& run, const RunRequest& request,
                const std::function<void(const RivalOutcome&)>& done,
                const std::function<bool()>& stopped) {
  for (const plan::Cell& cell : run.group().cells) {
    if (stopped()) return;
    done(Rival(run, request, cell).go(stopped));
  }
}

}  // namespace headroom::run
