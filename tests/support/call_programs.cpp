#include "support/call_programs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
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
  std::string all =
      fmt::format("program {}: {}, {} sequences of {}", seed, shape.id(), sequences, capacity);
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
  const Case& shape = program.shape;
  Draws masks(seed * 15485863 + 5);  // likewise
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

namespace {

/// What a sequence has seen: rows of x, or of the second input.
using Rows = std::vector<float>;

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
        // Steps multiply latents in another order than prompts.
        same_bits_(same_bits && program.shape.causal && !program.shape.is_latent()),
        truth_(truth),
        seen_(static_cast<std::size_t>(program.sequences)) {}

  std::string run() {
    for (step_ = 0; step_ < program_.steps.size(); ++step_) {
      const CallStep& step = program_.steps[step_];
      std::string fault;
      if (step.kind == CallStep::Kind::clear) {
        cache_.clear();
        for (Rows& rows : seen_) rows.clear();
      } else if (step.kind == CallStep::Kind::truncate) {
        cache_.truncate({step.sequence, step.length});
        seen_[static_cast<std::size_t>(step.sequence)].resize(
            static_cast<std::size_t>(step.length * key_cols()));
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
    const Mask mask = place_mask(step);
    call.mask = mask.view();
    if (step.padded_tokens > 0) {
      forward_padded(x, y, step, call);
    } else {
      layer_.forward(x.view(), y.view(), call);
    }
    std::int64_t row = 0;
    std::int64_t memory_row = 0;
    for (std::size_t s = 0; s < step.lengths.size(); ++s) {
      const std::int64_t length = step.lengths[s];
      Rows before = step.cached ? seen_[s] : Rows{};
      Rows all = before;
      const ConstMatrixView keys =
          cross() ? rows(memory, memory_row, step.memory_lengths[s]) : rows(x, row, length);
      all.insert(all.end(), keys.data, keys.data + keys.rows * keys.cols);
      const auto keys_of = static_cast<std::int64_t>(all.size()) / key_cols();
      reference::MaskFunction added;
      if (step.mask) {
        const std::int64_t mask_row = step.padded_before ? step.padded_tokens - length : 0;
        const std::int64_t mask_key = step.padded_before && !cross() ? mask_keys_ - keys_of : 0;
        added = [&mask, s, mask_row, mask_key](std::int64_t, std::int64_t h, std::int64_t t,
                                               std::int64_t j) {
          return mask.at(static_cast<std::int64_t>(s), h, mask_row + t, mask_key + j);
        };
      }
      const std::string fault =
          check(s, rows(x, row, length), before, all, rows(y, row, length), added);
      if (!fault.empty()) return fmt::format("sequence {}: {}", s, fault);
      if (step.cached) seen_[s] = all;
      row += length;
      memory_row += keys.rows;
      const std::int64_t found = cache_.length(static_cast<std::int64_t>(s));
      const auto expected = static_cast<std::int64_t>(seen_[s].size()) / key_cols();
      if (found != expected) return fmt::format("the cache has {} of {}", found, expected);
    }
    return {};
  }

  // Of the sizes that the call has.
  Mask place_mask(const CallStep& step) {
    if (!step.mask) return {};
    RandomCall of = *step.mask;
    of.sizes.batch = static_cast<std::int64_t>(step.lengths.size());
    of.sizes.heads = shape().heads;
    of.sizes.queries = step.padded_tokens > 0
                           ? step.padded_tokens
                           : *std::max_element(step.lengths.begin(), step.lengths.end());
    mask_keys_ = 0;
    for (std::size_t s = 0; s < step.lengths.size(); ++s) {
      std::int64_t keys = cross()                  ? step.memory_lengths[s]
                          : step.padded_tokens > 0 ? step.padded_tokens
                                                   : step.lengths[s];
      if (step.cached) keys += static_cast<std::int64_t>(seen_[s].size()) / key_cols();
      mask_keys_ = std::max(mask_keys_, keys);
    }
    of.sizes.keys = mask_keys_;
    std::mt19937 random(static_cast<std::uint32_t>(program_.seed * 31 + step_));
    return {of, random};
  }

  // The rows of x come from between rows of NaN, and those of y from between rows that nobody
  // writes.
  void forward_padded(const Matrix& x, Matrix& y, const CallStep& step, Call& call) {
    call.padded_tokens = step.padded_tokens;
    call.padded_before = step.padded_before;
    const auto sequences = static_cast<std::int64_t>(step.lengths.size());
    Matrix from(sequences * step.padded_tokens, x.cols), to(from.rows, y.cols);
    std::fill(from.values.begin(), from.values.end(), std::numeric_limits<float>::quiet_NaN());
    const auto each = [&](const auto& work) {
      std::int64_t row = 0;
      for (std::size_t s = 0; s < step.lengths.size(); ++s) {
        const std::int64_t length = step.lengths[s];
        const std::int64_t before = step.padded_before ? step.padded_tokens - length : 0;
        for (std::int64_t t = 0; t < length; ++t) {
          work(row++, static_cast<std::int64_t>(s) * step.padded_tokens + before + t);
        }
      }
    };
    each([&](std::int64_t row, std::int64_t at) {
      std::copy_n(x.view().row(row), x.cols, from.view().row(at));
    });
    layer_.forward(from.view(), to.view(), call);
    each([&](std::int64_t row, std::int64_t at) {
      std::copy_n(to.view().row(at), y.cols, y.view().row(row));
    });
  }

  std::string check(std::size_t sequence, ConstMatrixView x, const Rows& before, const Rows& all,
                    ConstMatrixView y, const reference::MaskFunction& mask) {
    if (x.rows == 0) return {};
    Case call = shape();
    call.batch = 1;
    call.tokens = x.rows;
    reference::Inputs inputs;
    inputs.x = x;
    inputs.mask = mask;
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
    const std::vector<float> added = of_one_pass(mask, x.rows, whole.rows);
    if (mask) {
      alone.mask = {.added = added.data(),
                    .heads = shape().heads,
                    .queries = whole.rows,
                    .keys = whole.rows,
                    .head_stride = whole.rows * whole.rows,
                    .query_stride = whole.rows};
    }
    layer_.forward(whole, once.view(), alone);
    if (same_bits(rows(once, whole.rows - x.rows, x.rows), y)) return {};
    return "the bits differ from those of one pass";
  }

  // What a mask adds to the last rows of so many, in every head; nothing to those before.
  std::vector<float> of_one_pass(const reference::MaskFunction& mask, std::int64_t rows,
                                 std::int64_t all) const {
    if (!mask) return {};
    std::vector<float> added(static_cast<std::size_t>(shape().heads * all * all));
    for (std::int64_t h = 0; h < shape().heads; ++h) {
      for (std::int64_t t = 0; t < rows; ++t) {
        float* row = added.data() + (h * all + all - rows + t) * all;
        for (std::int64_t j = 0; j < all; ++j) row[j] = static_cast<float>(mask(0, h, t, j));
      }
    }
    return added;
  }

  const CallProgram& program_;
  SplitWeights weights_;
  Attention layer_;
  KeyValueCache cache_;
  std::mt19937_64 draws_;
  bool same_bits_;
  CallTruth& truth_;
  std::size_t step_ = 0;
  std::int64_t mask_keys_ = 0;
  std::vector<Rows> seen_;
};

}  // namespace

std::string run_program(const CallProgram& program, const AttentionOptions& options, bool same_bits,
                        CallTruth& truth) {
  return ProgramRun(program, options, same_bits, truth).run();
}

}  // namespace headroom::test
