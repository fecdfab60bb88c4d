#include "support/call_programs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <random>

#include "reference/comparator.hpp"
#include "reference/oracle.hpp"
#include "support/layer_cases.hpp"

namespace headroom::test {
namespace {

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : generator_(seed) {}
  std::int64_t from_to(std::int64_t least, std::int64_t most) {
    const auto choices = static_cast<std::uint64_t>(most - least + 1);
    return least + static_cast<std::int64_t>(generator_() % choices);
  }
  bool one_in(std::int64_t n) { return from_to(1, n) == 1; }
  std::int64_t one_of(const std::vector<std::int64_t>& values) {
    return values[static_cast<std::size_t>(
        from_to(0, static_cast<std::int64_t>(values.size()) - 1))];
  }

 private:
  std::mt19937_64 generator_;
};

Case random_shape(Draws& draws) {
  Case shape;
  const std::int64_t key_heads = draws.from_to(1, 3);
  shape.kv_heads = key_heads;
  shape.heads = key_heads * draws.one_of({1, 1, 2, 3, 7});
  shape.d_out = shape.heads * draws.one_of({2, 4, 8, 16, 22, 32});
  shape.d_in = draws.from_to(5, 40);
  shape.d_proj = draws.one_in(3) ? 0 : draws.from_to(3, 40);
  shape.qkv_bias = draws.one_in(3);
  shape.tokens = draws.one_in(8) ? draws.from_to(400, 1200) : draws.from_to(1, 70);
  shape.batch = draws.from_to(1, 3);
  shape.causal = !draws.one_in(4);
  if (shape.causal && draws.one_in(2)) shape.window = draws.from_to(1, shape.tokens + 5);
  if (!shape.causal && draws.one_in(2)) {
    shape.d_memory = draws.from_to(3, 30);
    shape.memory_tokens = draws.from_to(1, 60);
  } else if (draws.one_in(2)) {
    shape.rotary.pairs = draws.one_in(2) ? Rotary::Pairs::halves : Rotary::Pairs::neighbours;
    shape.rotary.base = static_cast<double>(draws.one_of({100, 10000, 500000}));
    shape.rotary.scale = draws.one_in(3) ? 0.125 : 1;
  }
  if (draws.one_in(6)) {
    shape.dropout = 0.2;
    shape.dropout_seed = 3;
  }
  return shape;
}

void stretch(Draws& draws, Rotary& rotary, std::int64_t head_dim) {
  if (head_dim > 2 && draws.one_in(2)) rotary.width = 2 * draws.from_to(1, head_dim / 2);
  if (draws.one_in(3)) rotary.amplitude = 1.25;
  if (!draws.one_in(3)) return;
  const std::int64_t pairs = (rotary.width > 0 ? rotary.width : head_dim) / 2;
  for (std::int64_t i = 0; i < pairs; ++i) {
    rotary.divisors.push_back(static_cast<double>(draws.from_to(1, 8)));
  }
}

// Keys and values of a latent, and what it excludes left out.
void make_latent(Draws& draws, Case& shape) {
  shape.kv_heads = 0;
  shape.qkv_bias = false;
  shape.norm = {};
  shape.clip = 0;
  shape.latent.rank = draws.from_to(1, 40);
  if (draws.one_in(2)) shape.latent.query_rank = draws.from_to(1, 30);
  shape.latent.shared = 2 * draws.from_to(0, (shape.head_dim() - 1) / 2);
  if (draws.one_in(2)) shape.latent.epsilon = 0.1;
  Rotary& rotary = shape.rotary;
  rotary.width = 0;
  if (shape.latent.shared == 0) rotary = {};
  rotary.divisors.resize(
      rotary.divisors.empty() ? 0 : static_cast<std::size_t>(shape.latent.shared / 2), 2);
}

// What models add, each now and then, so that all pairs of them meet.
void add_features(Draws& draws, Case& shape) {
  if (draws.one_in(3)) return;
  if (draws.one_in(3)) shape.scale = draws.one_in(2) ? 1 : 0.07;
  if (draws.one_in(3)) shape.softcap = draws.one_in(2) ? 1.5 : 30;
  shape.sinks = draws.one_in(3);
  if (shape.rotary.pairs != Rotary::Pairs::none) stretch(draws, shape.rotary, shape.head_dim());
  if (draws.one_in(2)) {
    shape.norm.over = draws.one_in(3) ? QueryKeyNorm::Over::width : QueryKeyNorm::Over::head;
    shape.norm.weighted = !draws.one_in(4);
    shape.norm.after_rotary = shape.norm.over == QueryKeyNorm::Over::head && draws.one_in(3);
    shape.norm.epsilon = draws.one_in(2) ? 1e-6 : 0.1;
  }
  shape.gate = shape.d_proj > 0 && draws.one_in(4);
  if (draws.one_in(4)) shape.temperature = {7, 0.4};
  if (draws.one_in(5)) shape.clip = 0.8;
  if (shape.d_memory == 0 && draws.one_in(3)) {
    shape.position_bias.kind =
        draws.one_in(2) ? PositionBias::Kind::slopes : PositionBias::Kind::buckets;
    if (shape.position_bias.kind == PositionBias::Kind::buckets) {
      shape.position_bias.buckets = 2 * draws.from_to(2, 9);
      shape.position_bias.farthest = draws.from_to(20, 60);
    }
  }
  if (shape.causal && shape.window == 0 && draws.one_in(2)) {
    shape.chunk = draws.from_to(1, shape.tokens + 5);
  }
  if (!shape.causal && shape.d_memory == 0 && draws.one_in(2)) {
    shape.window = draws.from_to(1, shape.tokens + 5);
  }
  if (draws.one_in(3)) shape.value_dim = draws.one_of({1, 3, 8, 16, 24, 40});
  if (shape.d_memory == 0 && draws.one_in(4)) make_latent(draws, shape);
}

std::int64_t turned_width(const Case& shape) {
  if (shape.is_latent()) return shape.latent.shared;
  return shape.rotary.width > 0 ? shape.rotary.width : shape.head_dim();
}

// Another base or other divisors in long contexts. All calls say how long it will be, so that a row
// has the same bits in each of them.
void lengthen(Draws& draws, CallProgram& program) {
  const Case& shape = program.shape;
  Rotary& rotary = program.shape.rotary;
  const std::int64_t width = turned_width(shape);
  rotary.context = draws.from_to(1, 2 * shape.tokens);
  program.context = 2 * shape.tokens + draws.from_to(0, 200);  // no cache has more room
  if (width > 2 && draws.one_in(2)) {
    rotary.growth = static_cast<double>(draws.from_to(1, 8));
    return;
  }
  for (std::int64_t i = 0; i < width / 2; ++i) {
    rotary.long_divisors.push_back(static_cast<double>(draws.from_to(1, 64)));
  }
}

// Sections, and whether calls give positions; of draws of their own, too.
void add_positions(Draws& draws, CallProgram& program) {
  Rotary& rotary = program.shape.rotary;
  if (rotary.pairs == Rotary::Pairs::none) return;
  if (draws.one_in(4)) lengthen(draws, program);
  if (draws.one_in(2)) return;
  program.axes = 1;
  if (draws.one_in(3)) return;
  const std::int64_t pairs = turned_width(program.shape) / 2;
  const std::int64_t heights = draws.from_to(0, pairs);
  const std::int64_t widths = draws.from_to(0, pairs - heights);
  rotary.sections = {pairs - heights - widths, heights, widths};
  rotary.interleaved = draws.one_in(2);
  program.axes = static_cast<int>(draws.one_of({0, 1, 3, 3, 3}));
}

// How many tokens come next: often one, sometimes as many as there is room for.
std::int64_t next_length(Draws& draws, std::int64_t most) {
  const std::int64_t kind = draws.from_to(1, 5);
  if (kind == 1) return 0;
  if (kind == 2) return most;
  return std::min(most, kind == 3 ? draws.from_to(0, most) : draws.from_to(1, 3));
}

}  // namespace

std::string CallProgram::text() const {
  std::string all = fmt::format("program {}: {}, {} sequences of {}, {} positions a token", seed,
                                shape.id(), sequences, capacity, axes);
  for (const CallStep& step : steps) {
    if (step.kind == CallStep::Kind::clear) all += "; clear";
    if (step.kind == CallStep::Kind::truncate) {
      all += fmt::format("; cut {} to {}", step.sequence, step.length);
    }
    if (step.kind != CallStep::Kind::forward) continue;
    all += fmt::format("; {}{}", step.cached ? "+" : "", fmt::join(step.lengths, ","));
    if (shape.d_memory > 0) all += fmt::format(" of {}", fmt::join(step.memory_lengths, ","));
  }
  return all;
}

CallProgram random_program(std::uint64_t seed) {
  Draws draws(seed * 7919 + 1);
  CallProgram program;
  program.seed = seed;
  program.shape = random_shape(draws);
  Draws features(seed * 104729 + 11);  // of their own, so that programs stay what they were
  add_features(features, program.shape);
  Draws positions(seed * 15485863 + 5);
  add_positions(positions, program);
  const Case& shape = program.shape;
  // The pattern of a sequence goes by its place, and the oracle knows one sequence at a time.
  program.sequences = shape.dropout > 0 ? 1 : draws.from_to(1, 3);
  const bool cross = shape.d_memory > 0;
  const std::int64_t tokens = cross ? shape.memory_tokens : shape.tokens;
  program.capacity = tokens + draws.from_to(0, tokens);
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(program.sequences), 0);
  const std::int64_t steps = draws.from_to(2, 7);
  for (std::int64_t i = 0; i < steps; ++i) {
    CallStep step;
    const std::int64_t kind = draws.from_to(1, 10);
    step.sequence = draws.from_to(0, program.sequences - 1);
    std::int64_t& present = lengths[static_cast<std::size_t>(step.sequence)];
    if (kind == 1) {
      step.kind = CallStep::Kind::clear;
      std::fill(lengths.begin(), lengths.end(), 0);
    } else if (kind == 2) {
      step.kind = CallStep::Kind::truncate;
      step.length = present = draws.from_to(0, present);
    } else {
      step.cached = kind > 3;
      std::int64_t rows_left = shape.rows();
      std::int64_t memory_left = shape.memory_rows();
      for (std::int64_t& length : lengths) {
        const std::int64_t room = step.cached ? program.capacity - length : program.capacity;
        std::int64_t rows = std::min(shape.tokens, rows_left);
        if (!cross) rows = std::min(rows, room);
        step.lengths.push_back(next_length(draws, rows));
        rows_left -= step.lengths.back();
        std::int64_t keys = step.lengths.back();
        if (cross) {
          keys = next_length(draws, std::min({shape.memory_tokens, memory_left, room}));
          step.memory_lengths.push_back(keys);
          memory_left -= keys;
        }
        if (step.cached) length += keys;
      }
    }
    program.steps.push_back(std::move(step));
  }
  return program;
}

namespace {

/// What a sequence has seen: rows of x, or of the second input.
using Rows = std::vector<float>;
/// Of its tokens, those of each axis.
using Positions = std::array<std::vector<std::int64_t>, 3>;

// As a call takes them.
std::vector<std::int64_t> one_list(const Positions& positions) {
  std::vector<std::int64_t> all;
  for (const auto& axis : positions) all.insert(all.end(), axis.begin(), axis.end());
  return all;
}

Positions part_of(const Positions& positions, std::int64_t first, std::int64_t count) {
  Positions part;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (positions[axis].empty()) continue;
    const auto begin = positions[axis].begin() + first;
    part[axis].assign(begin, begin + count);
  }
  return part;
}

void append_to(Positions& positions, const Positions& more) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    positions[axis].insert(positions[axis].end(), more[axis].begin(), more[axis].end());
  }
}

ConstMatrixView view_of(const Rows& rows, std::int64_t cols) {
  return {rows.data(), static_cast<std::int64_t>(rows.size()) / cols, cols, cols};
}

class ProgramRun {
 public:
  ProgramRun(const CallProgram& program, const AttentionOptions& options, bool same_bits,
             CallTruth& truth)
      : program_(program),
        weights_(gaussian_weights(program.shape, program.seed)),
        layer_(program.shape, program.shape, weights_, options),
        cache_(layer_, {program.sequences, program.capacity}),
        draws_(program.seed),
        turns_(program.seed + 1),
        // Steps multiply latents in another order than prompts.
        same_bits_(same_bits && program.shape.causal && !program.shape.is_latent()),
        truth_(truth),
        seen_(static_cast<std::size_t>(program.sequences)),
        positions_(seen_.size()) {}

  std::string run() {
    for (step_ = 0; step_ < program_.steps.size(); ++step_) {
      const CallStep& step = program_.steps[step_];
      std::string fault;
      if (step.kind == CallStep::Kind::clear) {
        cache_.clear();
        for (Rows& rows : seen_) rows.clear();
        for (Positions& of : positions_) of = {};
      } else if (step.kind == CallStep::Kind::truncate) {
        cache_.truncate({step.sequence, step.length});
        seen_[static_cast<std::size_t>(step.sequence)].resize(
            static_cast<std::size_t>(step.length * key_cols()));
        Positions& positions = positions_[static_cast<std::size_t>(step.sequence)];
        positions = part_of(positions, 0, step.length);
      } else {
        fault = forward(step);
      }
      if (!fault.empty()) return fault;
    }
    return {};
  }

 private:
  const Case& shape() const { return program_.shape; }
  bool cross() const { return shape().d_memory > 0; }
  std::int64_t key_cols() const { return shape().key_input(); }

  Matrix draw(std::int64_t rows, std::int64_t cols) {
    Matrix matrix(rows, cols);
    std::normal_distribution<float> gaussian;
    for (float& value : matrix.values) value = gaussian(draws_);
    return matrix;
  }

  // Of a text, of pictures, and now and then far beyond what a cache has room for.
  Positions draw_positions(std::int64_t tokens) {
    Positions drawn;
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(program_.axes); ++axis) {
      for (std::int64_t i = 0; i < tokens; ++i) {
        const std::int64_t furthest = program_.context > 0 ? program_.context - 1
                                      : turns_.one_in(5)   ? 100'000
                                                           : 40;
        drawn[axis].push_back(turns_.from_to(0, furthest));
      }
    }
    return drawn;
  }

  std::string forward(const CallStep& step) {
    const auto sum = [](const std::vector<std::int64_t>& lengths) {
      return std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
    };
    const Matrix x = draw(sum(step.lengths), shape().d_in);
    const Matrix memory =
        draw(sum(step.memory_lengths), std::max<std::int64_t>(shape().d_memory, 1));
    Matrix y(x.rows, shape().output_width());
    Call call;
    call.lengths = step.lengths;
    if (step.cached) call.cache = &cache_;
    if (cross()) {
      call.memory = memory.view();
      call.memory_lengths = step.memory_lengths;
    }
    const Positions positions = draw_positions(x.rows);
    const std::vector<std::int64_t> given = one_list(positions);
    call.positions = given;
    call.context = program_.context;
    layer_.forward(x.view(), y.view(), call);
    std::int64_t row = 0;
    std::int64_t memory_row = 0;
    for (std::size_t s = 0; s < step.lengths.size(); ++s) {
      const std::int64_t length = step.lengths[s];
      Rows before = step.cached ? seen_[s] : Rows{};
      Rows all = before;
      const ConstMatrixView keys =
          cross() ? rows(memory, memory_row, step.memory_lengths[s]) : rows(x, row, length);
      all.insert(all.end(), keys.data, keys.data + keys.rows * keys.cols);
      Positions turned = step.cached ? positions_[s] : Positions{};
      append_to(turned, part_of(positions, row, length));
      const std::string fault =
          check(s, rows(x, row, length), {before, all, one_list(turned)}, rows(y, row, length));
      if (!fault.empty()) return fmt::format("sequence {}: {}", s, fault);
      if (step.cached) seen_[s] = all;
      if (step.cached) positions_[s] = turned;
      row += length;
      memory_row += keys.rows;
      const std::int64_t found = cache_.length(static_cast<std::int64_t>(s));
      const auto expected = static_cast<std::int64_t>(seen_[s].size()) / key_cols();
      if (found != expected) return fmt::format("the cache has {} of {}", found, expected);
    }
    return {};
  }

  /// What a sequence's rows see.
  struct Seen {
    Rows before, all;  // of the call, with it
    std::vector<std::int64_t> positions;
  };

  std::string check(std::size_t sequence, ConstMatrixView x, const Seen& seen, ConstMatrixView y) {
    if (x.rows == 0) return {};
    const auto& [before, all, positions] = seen;
    Case call = shape();
    call.batch = 1;
    call.tokens = x.rows;
    reference::Inputs inputs;
    inputs.x = x;
    inputs.positions = positions;
    inputs.context = program_.context;
    if (cross()) {
      inputs.memory = view_of(all, key_cols());
      call.memory_tokens = inputs.memory.rows;
    } else {
      inputs.past = view_of(before, key_cols());
      call.past = inputs.past.rows;
    }
    const auto [place, fresh] = truth_.try_emplace({step_, sequence});
    if (fresh) {
      place->second = reference::attention(call, weights_, inputs, reference::all_rows(call), 1);
    }
    const reference::Comparison found =
        reference::compare(place->second, y, reference::Data::adversarial);
    if (!found.passed) return found.reason;
    if (!same_bits_ || static_cast<std::int64_t>(all.size()) > shape().tokens * key_cols()) {
      return {};
    }
    const ConstMatrixView whole = view_of(all, key_cols());
    Matrix once(whole.rows, y.cols);
    Call alone;
    const std::vector<std::int64_t> lengths{whole.rows};
    alone.lengths = lengths;
    alone.positions = positions;
    alone.context = program_.context;
    layer_.forward(whole, once.view(), alone);
    if (same_bits(rows(once, whole.rows - x.rows, x.rows), y)) return {};
    return "the bits differ from those of one pass";
  }

  const CallProgram& program_;
  SplitWeights weights_;
  Attention layer_;
  KeyValueCache cache_;
  std::mt19937_64 draws_;
  Draws turns_;
  bool same_bits_;
  CallTruth& truth_;
  std::size_t step_ = 0;
  std::vector<Rows> seen_;
  std::vector<Positions> positions_;
};

}  // namespace

std::string run_program(const CallProgram& program, const AttentionOptions& options, bool same_bits,
                        CallTruth& truth) {
  return ProgramRun(program, options, same_bits, truth).run();
}

}  // namespace headroom::test
