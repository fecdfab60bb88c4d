// Measures how close correct results come to the element bound, and how far wrong ones exceed it:
// runs random layers on every backend and plants every fault in them.
//
//   headroom-fit-bound [PROGRAMS, default 1400] [FOLDER]
//   headroom-fit-bound bytes [PROGRAMS, default 1000]
//   headroom-fit-bound attended-bytes [CALLS, default 1000]
//
// Besides, as many calls with a past, groups of heads, windows, rotary positions, lengths or a
// second input, in plain float loops instead of the backends. Writes the layers and their bounds to
// FOLDER, for pytorch.py. Takes three minutes. `bytes` fits the limits of int8 instead, and
// `attended-bytes` the bound of attention over a cache of q8 with it.
#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attended_bytes.hpp"
#include "bytes.hpp"
#include "core/case_layer.hpp"
#include "headroom/headroom.hpp"
#include "processor/cores.hpp"
#include "programs.hpp"
#include "reference/comparator.hpp"
#include "reference/oracle.hpp"
#include "support/planted.hpp"

namespace {

using namespace headroom;
using test::Program;

struct Worst {
  double ratio = -1;
  std::string program;
};
using WorstByName = std::map<std::string, Worst>;

struct Rival {
  std::string name;
  AttentionOptions options;
};

std::vector<Rival> rivals() {
  std::vector<Rival> all;
  for (const BackendInfo& backend : backends()) {
    if (!backend.available) continue;
    // oneDNN reads its level once per process.
    std::vector<std::optional<Isa>> levels{std::nullopt};
    if (backend.uses_isa && backend.name != "onednn") {
      levels.clear();
      for (const Isa isa : available_isas()) levels.emplace_back(isa);
    }
    for (const auto formulation : {Formulation::wrapper, Formulation::split, Formulation::fused}) {
      for (const auto& isa : levels) {
        Rival rival{backend.name, {}};
        rival.options.backend = backend.name;
        rival.options.formulation = formulation;
        rival.options.threads = 1;
        rival.options.isa = isa;
        all.push_back(rival);
      }
    }
  }
  return all;
}

void note(WorstByName& worst, const std::string& name, double ratio, const std::string& program) {
  Worst& entry = worst[name];
  if (ratio > entry.ratio) entry = {ratio, program};
}

template <class T>
void write(std::ofstream& out, const std::vector<T>& values) {
  out.write(reinterpret_cast<const char*>(values.data()),
            static_cast<std::streamsize>(values.size() * sizeof(T)));
}

// Every kept weight's factor, `B x H x T x T`, so that no other program needs the generator.
std::vector<float> dropout_factors(const Case& shape) {
  std::vector<float> factors;
  if (shape.dropout == 0) return factors;
  const DropoutPattern pattern{shape.dropout, shape.dropout_seed};
  const std::int64_t heads = shape.batch * shape.heads;
  factors.resize(static_cast<std::size_t>(heads * shape.tokens * shape.tokens));
  float* to = factors.data();
  for (std::int64_t head = 0; head < heads; ++head) {
    for (std::int64_t token = 0; token < shape.tokens; ++token, to += shape.tokens) {
      pattern.factors(dropout_row(head, token), 0, shape.tokens, to);
    }
  }
  return factors;
}

void dump(const std::string& folder, std::uint64_t number, const Program& program,
          const reference::Expected& expected) {
  const Case& s = program.layer.shape;
  const SplitWeights& w = program.layer.weights;
  std::ofstream text(fmt::format("{}/{}.json", folder, number));
  text << fmt::format(
      R"({{"data": "{}", "batch": {}, "tokens": {}, "d_in": {}, "d_out": {}, "heads": {}, )"
      R"("d_proj": {}, "causal": {}, "bias": {}, "dropout": {}}})",
      program.data, s.batch, s.tokens, s.d_in, s.d_out, s.heads, s.d_proj, s.causal, s.qkv_bias,
      s.dropout);
  std::ofstream out(fmt::format("{}/{}.bin", folder, number), std::ios::binary);
  for (const auto* values :
       {&program.layer.x.values, &w.query.values, &w.key.values, &w.value.values, &w.query_bias,
        &w.key_bias, &w.value_bias, &w.output.values, &w.output_bias}) {
    write(out, *values);
  }
  write(out, dropout_factors(s));
  write(out, expected.y);
  write(out, expected.bound);
  if (!text.flush() || !out.flush()) throw std::runtime_error("cannot write to " + folder);
}

/// How far beyond the bound a planted fault is, over all layers where it shows.
struct Planted {
  double least = std::numeric_limits<double>::infinity();
  int layers = 0;
  int missed = 0;
  std::string program;
};
using PlantedByFault = std::map<test::Fault, Planted>;

// A fault that changes a thousandth of the result or less need not be found: a layer may have
// settled on one token, or all that is left of it may be below the smallest float.
void plant(PlantedByFault& planted, const Program& program, const reference::Expected& expected,
           const std::string& name) {
  constexpr double kShows = 1e-3;
  for (const test::Fault fault : test::faults_of(program.layer.shape)) {
    const Matrix y = test::planted(program.layer, fault);
    const auto result = reference::compare(expected, y.view(), reference::Data::adversarial);
    const bool single = fault == test::Fault::one_bad_element && result.max_over_rms > kShows;
    if (!single && !(result.nrmse > kShows)) continue;
    Planted& entry = planted[fault];
    ++entry.layers;
    if (result.passed) ++entry.missed;
    if (result.bound_ratio >= entry.least) continue;
    entry.least = result.bound_ratio;
    entry.program = name;
  }
}

reference::Expected expected_of(const Program& program) {
  const test::Layer& layer = program.layer;
  return reference::attention(layer.shape, layer.weights, layer.inputs(),
                              reference::all_rows(layer.shape), allowed_cores());
}

std::string name_of(std::uint64_t number, const Program& program) {
  return fmt::format("{}: {} {}", number, program.data, program.layer.shape.id());
}

struct Findings {
  WorstByName by_backend;
  WorstByName by_data;
  PlantedByFault planted;
};

void run_program(std::uint64_t number, const std::vector<Rival>& rivals, const std::string& folder,
                 Findings& findings) {
  constexpr std::int64_t kPlantedTokens = 200;
  const Program program = test::drawn_program(number);
  const Case& shape = program.layer.shape;
  const reference::Expected expected = expected_of(program);
  if (!folder.empty()) dump(folder, number, program, expected);
  const std::string name = name_of(number, program);
  for (const Rival& rival : rivals) {
    Attention attention = layer_for(shape, program.layer.weights, rival.options);
    Matrix y(shape.rows(), shape.output_width());
    attention.forward(program.layer.x.view(), y.view());
    const auto result = reference::compare(expected, y.view(), reference::Data::adversarial);
    note(findings.by_backend, rival.name, result.bound_ratio, name);
    note(findings.by_data, program.data, result.bound_ratio, name);
  }
  if (shape.tokens <= kPlantedTokens) plant(findings.planted, program, expected, name);
}

void run_call(std::uint64_t number, Findings& findings) {
  const Program program = test::random_call(number);
  const reference::Expected expected = expected_of(program);
  const std::string name = name_of(number, program);
  const Matrix y = test::in_float(program.layer);
  const auto result = reference::compare(expected, y.view(), reference::Data::adversarial);
  const bool turned = program.layer.shape.rotary.pairs != Rotary::Pairs::none;
  note(findings.by_data, "call, " + program.data + (turned ? ", rotary" : ""), result.bound_ratio,
       name);
  plant(findings.planted, program, expected, name);
}

void run(std::uint64_t programs, const std::string& folder) {
  const std::vector<Rival> all = rivals();
  Findings findings;
  for (std::uint64_t number = 0; number < programs; ++number) {
    run_program(number, all, folder, findings);
    run_call(number, findings);
  }
  for (const WorstByName* worst : {&findings.by_backend, &findings.by_data}) {
    for (const auto& [name, entry] : *worst) {
      fmt::print("{:<27} at most  {:.3f}  {}\n", name, entry.ratio, entry.program);
    }
  }
  for (const auto& [fault, entry] : findings.planted) {
    fmt::print("{:<27} at least {:.3g}, missed in {} of {}  {}\n", to_string(fault), entry.least,
               entry.missed, entry.layers, entry.program);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::string what = argc > 1 ? argv[1] : "";
    if (what == "bytes" || what == "attended-bytes") {
      constexpr std::uint64_t kMany = 1000;
      const std::uint64_t programs = argc > 2 ? std::stoull(argv[2]) : kMany;
      if (what == "bytes") {
        test::fit_bytes(programs);
      } else {
        test::fit_attended_bytes(programs);
      }
      return 0;
    }
    std::uint64_t programs = 1400;
    if (argc > 1) programs = std::stoull(argv[1]);
    run(programs, argc > 2 ? argv[2] : "");
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "fit-bound: {}\n", error.what());
    return 1;
  }
}
