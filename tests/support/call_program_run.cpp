#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "reference/comparator.hpp"
#include "reference/oracle.hpp"
#include "support/call_programs.hpp"
#include "support/draws.hpp"
#include "support/layer_cases.hpp"
#include "support/token_positions.hpp"

namespace headroom::test {
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
    call.context = program_.context;
    const Mask& mask = place_mask(step);
    call.mask = mask.view();
    if (step.padded_tokens > 0) {
      forward_padded(x, positions, y, step, call);
    } else {
      const std::vector<std::int64_t> given = one_list(positions);
      call.positions = given;
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
      Positions turned = step.cached ? positions_[s] : Positions{};
      append_to(turned, part_of(positions, row, length));
      const Seen seen{before, all, one_list(turned), mask_of(mask, step, s, length, all),
                      step.mask && step.mask->mask == MaskKind::seen};
      const std::string fault = check(s, rows(x, row, length), seen, rows(y, row, length));
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
    reference::MaskFunction mask;
    bool only_hides = false;  ///< it is of the kind that adds nothing
  };

  // Of the sizes that the call has.
  const Mask& place_mask(const CallStep& step) {
    const auto [place, fresh] = truth_.masks.try_emplace(step_);
    if (!step.mask) return place->second;
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
    if (fresh) {
      std::mt19937 random(static_cast<std::uint32_t>(program_.seed * 31 + step_));
      place->second = Mask(of, random);
    }
    return place->second;
  }

  // The keys that the longest sequence has decide where those of others lie.
  reference::MaskFunction mask_of(const Mask& mask, const CallStep& step, std::size_t sequence,
                                  std::int64_t length, const Rows& all) const {
    if (!step.mask) return {};
    const std::int64_t keys = static_cast<std::int64_t>(all.size()) / key_cols();
    const std::int64_t row = step.padded_before ? step.padded_tokens - length : 0;
    const std::int64_t key = step.padded_before && !cross() ? mask_keys_ - keys : 0;
    return
        [&mask, sequence, row, key](std::int64_t, std::int64_t h, std::int64_t t, std::int64_t j) {
          return mask.at(static_cast<std::int64_t>(sequence), h, row + t, key + j);
        };
  }

  // The rows of x come from between rows of NaN, and those of y from between rows that nobody
  // writes. Positions of padding are such as no call may have.
  void forward_padded(const Matrix& x, const Positions& positions, Matrix& y, const CallStep& step,
                      Call& call) {
    call.padded_tokens = step.padded_tokens;
    call.padded_before = step.padded_before;
    const auto sequences = static_cast<std::int64_t>(step.lengths.size());
    Matrix from(sequences * step.padded_tokens, x.cols), to(from.rows, y.cols);
    std::fill(from.values.begin(), from.values.end(), std::numeric_limits<float>::quiet_NaN());
    std::vector<std::int64_t> given(static_cast<std::size_t>(program_.axes * from.rows), -1);
    call.positions = given;
    const auto each = [&](const auto& work) {
      std::int64_t row = 0;
      for (std::size_t s = 0; s < step.lengths.size(); ++s) {
        const std::int64_t length = step.lengths[s];
        const std::int64_t first = call.padded_row(static_cast<std::int64_t>(s), length);
        for (std::int64_t t = 0; t < length; ++t) work(row++, first + t);
      }
    };
    each([&](std::int64_t row, std::int64_t at) {
      std::copy_n(x.view().row(row), x.cols, from.view().row(at));
      for (std::size_t axis = 0; axis < static_cast<std::size_t>(program_.axes); ++axis) {
        given[axis * static_cast<std::size_t>(from.rows) + static_cast<std::size_t>(at)] =
            positions[axis][static_cast<std::size_t>(row)];
      }
    });
    layer_.forward(from.view(), to.view(), call);
    each([&](std::int64_t row, std::int64_t at) {
      std::copy_n(to.view().row(at), y.cols, y.view().row(row));
    });
    call.positions = {};
  }

  std::string check(std::size_t sequence, ConstMatrixView x, const Seen& seen, ConstMatrixView y) {
    if (x.rows == 0) return {};
    const auto& [before, all, positions, mask, only_hides] = seen;
    Case call = shape();
    call.batch = 1;
    call.tokens = x.rows;
    reference::Inputs inputs;
    inputs.x = x;
    inputs.positions = positions;
    inputs.context = program_.context;
    inputs.mask = mask;
    if (cross()) {
      inputs.memory = view_of(all, key_cols());
      call.memory_tokens = inputs.memory.rows;
    } else {
      inputs.past = view_of(before, key_cols());
      call.past = inputs.past.rows;
    }
    const auto [place, fresh] = truth_.expected.try_emplace({step_, sequence});
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
    const std::vector<float> added = of_one_pass(mask, x.rows, whole.rows);
    std::vector<std::uint8_t> shown;
    for (const float value : added) shown.push_back(value == 0 ? 1 : 0);
    if (mask) {
      alone.mask = {.added = only_hides ? nullptr : added.data(),
                    .seen = only_hides ? shown.data() : nullptr,
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
  Draws turns_;
  bool same_bits_;
  CallTruth& truth_;
  std::size_t step_ = 0;
  std::int64_t mask_keys_ = 0;
  std::vector<Rows> seen_;
  std::vector<Positions> positions_;
};

}  // namespace

std::string run_program(const CallProgram& program, const AttentionOptions& options, bool same_bits,
                        CallTruth& truth) {
  return ProgramRun(program, options, same_bits, truth).run();
}

}  // namespace headroom::test
