#include "support/call_programs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/layer/rotary_rules.hpp"
#include "support/draws.hpp"

namespace headroom::test {
namespace {

Case random_shape(Draws& draws) {
  Case shape;
  const std::int64_t key_heads = draws.from_to(1, 3);
  shape.kv_heads = key_heads;
  const std::int64_t group = draws.one_of({1, 1, 2, 3, 7});
  shape.heads = key_heads * group;
  const std::int64_t head_dim = draws.one_of({2, 4, 8, 16, 22, 32});
  shape.d_in = draws.from_to(5, 40);
  shape.d_proj = draws.one_in(3) ? 0 : draws.from_to(3, 40);
  shape.qkv_bias = draws.one_in(3);
  shape.tokens = draws.one_in(8) ? draws.from_to(400, 1200) : draws.from_to(1, 70);
  shape.batch = draws.from_to(1, 3);
  if (shape.tokens >= 400) {  // naive loops would take minutes over more
    shape.batch = 1;
    shape.kv_heads = 1;
    shape.heads = group;
  }
  shape.d_out = shape.heads * head_dim;
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

// A mask now and then, of any kind; and padding, which says where its rows and keys lie.
void add_mask(Draws& draws, CallStep& step) {
  const std::int64_t longest = *std::max_element(step.lengths.begin(), step.lengths.end());
  if (draws.one_in(2))
    step.padded_tokens = std::max<std::int64_t>(longest, 1) + draws.from_to(0, 3);
  step.padded_before = step.padded_tokens > 0 && draws.one_in(2);
  if (draws.one_in(4)) return;
  RandomCall& mask = step.mask.emplace();
  mask.mask = static_cast<MaskKind>(draws.from_to(1, 3));
  mask.mask_batch = draws.one_in(2);
  mask.mask_heads = draws.one_in(2);
  mask.mask_queries = !draws.one_in(3);
  mask.mask_keys = !draws.one_in(8);
  mask.mask_gap = draws.one_in(3) ? 2 : 0;
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
    if (step.padded_tokens > 0) {
      all += fmt::format(" {} to {}", step.padded_before ? "before" : "padded", step.padded_tokens);
    }
    if (step.mask) all += fmt::format(" masked ({})", describe(*step.mask));
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
  Draws masks(seed * 32452843 + 7);  // likewise
  const bool masked = masks.one_in(3);
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
      if (masked) add_mask(masks, step);
    }
    program.steps.push_back(std::move(step));
  }
  return program;
}

}  // namespace headroom::test
