#include "measure/verify/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <string>

#include "backends/backend.hpp"
#include "core/environment_variable.hpp"
#include "headroom/error.hpp"
#include "measure/crew/crew.hpp"
#include "measure/group/cell_result.hpp"
#include "measure/group/check.hpp"
#include "measure/verify/verify_process.hpp"
#include "plan/admission.hpp"
#include "plan/estimate.hpp"
#include "plan/shapes/outliers.hpp"
#include "program/numbers.hpp"

namespace headroom::measure {
namespace {

using reference::Data;

// Few, and no divisor of any block, so that what came before arrives in many small chunks.
constexpr std::int64_t kFillTokens = 5;

Case make(std::int64_t batch, std::int64_t tokens, std::int64_t d_in, std::int64_t heads,
          std::int64_t head_dim) {
  Case shape;
  shape.batch = batch;
  shape.tokens = tokens;
  shape.d_in = d_in;
  shape.d_out = heads * head_dim;
  shape.heads = heads;
  shape.d_proj = d_in;
  return shape;
}

// What models add, as they have it together; long enough for two segments of keys, or after a past.
std::vector<VerifyCase> model_cases() {
  std::vector<VerifyCase> cases;
  const auto add = [&](Case shape, auto change) {
    change(shape);
    cases.push_back({{shape, {}}, Data::standard});
  };
  using Over = QueryKeyNorm::Over;
  add(make(1, 300, 64, 4, 32), [](Case& s) {  // Gemma 2
    s.kv_heads = 2, s.softcap = 2, s.scale = 0.2, s.rotary.pairs = Rotary::Pairs::halves;
  });
  add(make(1, 45, 64, 4, 24), [](Case& s) {  // Qwen3, Gemma 3
    s.kv_heads = 2, s.norm.over = Over::head, s.rotary.pairs = Rotary::Pairs::halves;
  });
  add(make(2, 33, 64, 4, 16), [](Case& s) { s.norm.over = Over::width; });  // OLMo 2
  add(make(2, 1, 64, 4, 16), [](Case& s) {                                  // gpt-oss
    s.past = 200, s.window = 100, s.sinks = true, s.qkv_bias = true;
    s.rotary = {Rotary::Pairs::halves, 100, 1, 0, {1, 1, 1, 2, 3, 4, 4, 4}, 1.14};
  });
  add(make(1, 40, 64, 4, 16), [](Case& s) {  // Llama 4
    s.chunk = 16, s.rotary.pairs = Rotary::Pairs::neighbours, s.temperature = {8, 0.3};
    s.norm = {Over::head, false, true, 1e-5};
  });
  add(make(1, 50, 64, 4, 16), [](Case& s) {  // Qwen3-Next, GLM-4.5
    s.gate = true, s.norm.over = Over::head, s.rotary.pairs = Rotary::Pairs::halves;
    s.rotary.width = 4;
  });
  add(make(2, 70, 64, 4, 16), [](Case& s) { s.causal = false, s.window = 9; });  // ModernBERT
  add(make(1, 60, 64, 8, 8), [](Case& s) {                                       // MPT, BLOOM
    s.position_bias.kind = PositionBias::Kind::slopes, s.clip = 1.5;
  });
  add(make(1, 60, 64, 8, 8), [](Case& s) {  // T5
    s.causal = false, s.scale = 1, s.position_bias = {PositionBias::Kind::buckets, 32, 128};
  });
  return cases;
}

// Each case covers something that no other case does.
std::vector<VerifyCase> own_cases() {
  std::vector<VerifyCase> cases;
  const auto add = [&](Case shape, auto change, Data data = Data::standard) {
    change(shape);
    cases.push_back({{shape, {}}, data});
  };
  const auto plain = [](Case&) {};
  add(make(1, 6, 3, 2, 1), plain);       // smaller than any vector
  add(make(1, 1, 768, 12, 64), plain);   // a single token: a matrix times a vector
  add(make(1, 64, 768, 12, 64), plain);  // GPT-2
  add(make(2, 33, 96, 3, 59), plain);    // odd sizes, two sequences, narrow input
  add(make(1, 47, 500, 5, 8), plain);    // wide input, narrow heads
  add(make(1, 19, 200, 25, 3), plain);   // more heads than a block holds
  add(make(1, 40, 768, 96, 8), plain);   // 96 heads
  add(make(1, 300, 128, 2, 80), plain);  // longer than a block of keys
  add(make(3, 17, 111, 1, 111), [](Case& s) { s.causal = false; });
  add(make(1, 270, 64, 1, 128), [](Case& s) { s.causal = false, s.qkv_bias = true; });
  add(make(2, 29, 80, 4, 40), [](Case& s) { s.qkv_bias = true; });
  add(make(1, 37, 48, 6, 16), [](Case& s) { s.d_proj = 0; });
  add(make(1, 31, 64, 4, 16), [](Case& s) { s.d_proj = 13; });
  add(make(2, 35, 64, 4, 24), [](Case& s) { s.dropout = 0.3; });
  const auto turned = [](Case& s, Rotary::Pairs pairs) { s.rotary.pairs = pairs; };
  add(make(2, 33, 96, 6, 16), [](Case& s) { s.kv_heads = 2; });
  add(make(1, 40, 80, 25, 8), [](Case& s) { s.kv_heads = 1, s.qkv_bias = true; });
  add(make(1, 300, 64, 2, 40), [](Case& s) { s.window = 37; });
  add(make(1, 45, 64, 4, 16), [&](Case& s) { turned(s, Rotary::Pairs::halves); });
  add(make(1, 45, 64, 4, 24), [&](Case& s) { turned(s, Rotary::Pairs::neighbours); });
  add(make(2, 1, 96, 6, 16), [](Case& s) { s.past = 290, s.kv_heads = 3; });
  add(make(1, 21, 96, 3, 59), [](Case& s) { s.past = 64; });
  add(make(1, 3, 64, 4, 16), [](Case& s) { s.past = 100, s.causal = false; });
  add(make(4, 40, 64, 4, 16), [](Case& s) { s.lengths = {17, 0, 40, 1}; });
  add(make(3, 9, 64, 4, 16), [&](Case& s) {
    s.past = 70, s.lengths = {1, 9, 0}, s.window = 30, s.kv_heads = 2;
    turned(s, Rotary::Pairs::halves);
  });
  for (VerifyCase& each : model_cases()) cases.push_back(std::move(each));
  add(make(1, 128, 128, 4, 32), plain, Data::adversarial);
  add(
      make(1, 290, 96, 3, 64), [](Case& s) { s.causal = false; }, Data::adversarial);
  add(
      make(2, 21, 70, 96, 2), [](Case& s) { s.qkv_bias = true; }, Data::adversarial);
  return cases;
}

// Attention alone over the heads of these, as far as a layer's own axes leave them.
std::vector<VerifyCase> own_attention_cases() {
  std::vector<VerifyCase> cases;
  for (VerifyCase each : own_cases()) {
    Case& shape = each.group.shape;
    const Case alone = plan::attention_alone(shape);
    shape.d_in = shape.d_proj = 0;
    if (shape != alone || !shape.lengths.empty() || shape.dropout > 0) continue;
    cases.push_back(std::move(each));
  }
  return cases;
}

bool isa_is_forced(const plan::Axes& axes) {
  return axes.isa || !environment("HEADROOM_ISA").empty();
}

VerifyCheck check_cell(const Problem& problem, const plan::Cell& cell, Crew* crew,
                       VerifyCheck check) {
  try {
    const std::unique_ptr<CellLayer> layer = make_layer(problem, cell, crew, kFillTokens);
    Matrix y(problem.shape.rows(), problem.shape.output_width());
    check.error = run_and_compare(*layer, problem, problem.x.view(), y.view()).comparison;
    check.checked_rows = static_cast<std::int64_t>(problem.expected.rows.size());
    if (!check.error->passed) check.status = record::Status::failed;
    check.reason = check.error->reason;
  } catch (const Unsupported& error) {
    check.status = record::Status::unsupported;
    check.reason = error.what();
  } catch (const Unavailable& error) {
    check.status = record::Status::unsupported;
    check.reason = error.what();
  } catch (const std::bad_alloc&) {
    check.status = record::Status::skipped;
    check.reason = "out of memory";
  } catch (const ResourceError&) {
    throw;  // says nothing about the backend
  } catch (const std::exception& error) {
    check.status = record::Status::failed;
    check.reason = fmt::format("ended with an error: {}", error.what());
  }
  return check;
}

// What identifies the check is filled in by whoever asked for it.
VerifyCheck check_rival(const VerifyCase& each, const plan::Cell& cell,
                        std::optional<Problem>& problem, const Settings& settings) {
  VerifyCheck check;
  check.data = each.data;
  const Case& shape = each.group.shape;
  plan::Limits limits;
  limits.memory_bytes = settings.memory_limit;
  // Nothing is timed, so that the seconds of the estimate do not matter.
  const plan::CellEstimate estimate = plan::Estimator().estimate(shape, cell, {});
  check.reason = plan::reason_to_skip(shape, cell, estimate, limits);
  if (!check.reason.empty()) {
    check.status = cell.unsupported ? record::Status::unsupported : record::Status::skipped;
    return check;
  }
  if (!problem) problem = make_problem(each.group, settings.seed, each.data, plan::kCheckFlops);
  check.data = problem->data;
  return check_cell(*problem, cell, settings.crew, check);
}

void count(const VerifyCheck& check, VerifyCounts& counts) {
  if (check.status == record::Status::ok) {
    ++counts.passed;
  } else if (check.status == record::Status::failed) {
    ++counts.failed;
  } else {
    ++counts.skipped;
  }
}

std::vector<plan::Cell> on_each_ranks(const std::vector<plan::Cell>& rivals,
                                      const std::vector<int>& ranks) {
  std::vector<plan::Cell> all;
  for (const int count : ranks) {
    for (const plan::Cell& rival : rivals) {
      all.push_back(rival);
      all.back().ranks = count;
    }
  }
  return all;
}

std::vector<plan::Cell> rivals_of(const plan::Axes& axes) {
  const plan::RivalAxes asked = plan::rival_axes_of(axes);
  std::vector<Numbers> all_numbers;
  for (Numbers numbers : plan::stored_of(axes)) {
    for (const Precision precision : asked.precisions) {
      numbers.precision = precision;
      all_numbers.push_back(numbers);
    }
  }
  std::vector<plan::Cell> rivals;
  for (const plan::BackendChoice& backend : axes.backend.values_or(plan::every_backend())) {
    find_backend(backend.name);  // `auto` computes nothing itself
    struct Level {
      std::optional<Isa> isa;
      std::optional<Unit> unit;
    };
    std::vector<Level> levels{{asked.isa, asked.unit}};
    if (backend.uses_isa && !backend_facts(backend.name).one_isa_per_process &&
        !isa_is_forced(axes)) {
      levels.clear();
      for (const Target& target : available_targets(asked.unit)) {
        levels.push_back({target.isa, target.unit});
      }
    }
    for (const int threads : backend.threaded ? asked.threads : std::vector<int>{1}) {
      for (const Formulation formulation : asked.formulations) {
        for (const Level& level : levels) {
          for (const Numbers& numbers : all_numbers) {
            plan::Cell cell;
            cell.formulation = formulation;
            cell.backend = backend.name;
            cell.numbers = numbers;
            cell.threads = threads;
            cell.isa = backend.uses_isa ? level.isa : std::nullopt;
            cell.unit = backend.uses_isa ? level.unit : std::nullopt;
            plan::decline_numbers(cell);
            rivals.push_back(cell);
          }
        }
      }
    }
  }
  return on_each_ranks(rivals, asked.ranks);
}

std::vector<plan::Cell> that_store(const std::vector<plan::Cell>& rivals, const Numbers& stored) {
  std::vector<plan::Cell> fed;
  std::copy_if(rivals.begin(), rivals.end(), std::back_inserter(fed),
               [&](const plan::Cell& rival) { return rival.numbers.as_stored() == stored; });
  return fed;
}

}  // namespace

std::vector<VerifyCase> verify_cases(const plan::Axes& axes, const plan::ExpandOptions& options) {
  // Expanded even if unused, so that an invalid axis is an error here as in every command.
  const plan::Plan plan = plan::expand(axes, options);
  const std::vector<plan::Cell> rivals = rivals_of(axes);
  const std::vector<plan::Cell> of_attention = plan::attention_rivals(rivals);
  const auto rivals_for = [&](const Case& shape, const Numbers& stored) {
    std::vector<plan::Cell> fed =
        that_store(shape.has_projections() ? rivals : of_attention, stored);
    plan::decline_outliers(shape, fed);
    return fed;
  };
  std::vector<VerifyCase> cases;
  if (!axes.only_quick()) {
    for (const plan::Group& group : plan.groups) {
      cases.push_back({{group.shape, rivals_for(group.shape, group.stored()), group.weights}});
    }
    return cases;
  }
  const Case& asked = plan.groups.front().shape;
  std::vector<VerifyCase> own;
  for (const plan::Op op : axes.op.values_or({plan::Op::layer})) {
    for (const VerifyCase& each : op == plan::Op::layer ? own_cases() : own_attention_cases()) {
      for (const std::int64_t factor : axes.outliers.values_or({1})) {
        own.push_back(each);
        own.back().group.shape.outliers = plan::factor_of_outliers(factor);
      }
    }
  }
  for (VerifyCase& each : own) {
    Case& shape = each.group.shape;
    if (axes.no_causal) shape.causal = false, shape.window = shape.chunk = 0;
    if (axes.qkv_bias) shape.qkv_bias = true;
    if (axes.no_out_proj) shape.d_proj = 0, shape.gate = false;
    // Pairs need heads of even width.
    if (axes.rotary && shape.head_dim() % 2 == 0) shape.rotary = asked.rotary;
    if (axes.dropout) shape.dropout = asked.dropout;
    shape.dropout_seed = options.seed;
    for (const Numbers& stored : plan::stored_of(axes)) {
      each.group.cells = rivals_for(shape, stored);
      cases.push_back(each);
    }
  }
  return cases;
}

VerifyCounts verify(const std::vector<VerifyCase>& cases, const Settings& settings,
                    const std::function<void(const VerifyCheck&)>& done,
                    const std::function<bool()>& stopped) {
  VerifyCounts counts;
  for (const VerifyCase& each : cases) {
    if (stopped()) return counts;
    const std::vector<plan::Cell>& rivals = each.group.cells;
    std::optional<Problem> problem;  // of the process that checks
    const auto check = [&](std::size_t rival) {
      return check_rival(each, rivals[rival], problem, settings);
    };
    const auto report = [&](std::size_t rival, VerifyCheck found) {
      const plan::Cell& cell = rivals[rival];
      found.id = plan::cell_id(each.group.shape, cell);
      found.isa = cell.isa ? std::string(to_string(*cell.isa)) : "";
      const std::string multiplied = unit_in_use(cell);
      found.unit = multiplied == "none" ? "" : multiplied;
      found.rows = each.group.shape.rows();
      count(found, counts);
      done(found);
    };
    if (settings.crew == nullptr) {
      check_apart(rivals.size(), check, settings.memory_limit, report, stopped);
      continue;
    }
    for (std::size_t i = 0; i < rivals.size() && !stopped(); ++i) report(i, check(i));
  }
  return counts;
}

}  // namespace headroom::measure
