// Attention by products of bytes has the same bits whether one instruction multiplies four of them
// or not, in tiles of every height. Over every cache few rows have the same bits with prefetches,
// into whichever cache of the core, as without.
#include <gtest/gtest.h>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/executor.hpp"
#include "headroom/headroom.hpp"
#include "processor/unit_facts.hpp"
#include "simd/attend.hpp"
#include "support/layer_cases.hpp"

namespace headroom::simd::cache_byte_kernels_test {
namespace {

Case case_of(std::int64_t tokens, std::int64_t past, std::int64_t group, std::int64_t head_dim) {
  Case shape;
  shape.tokens = tokens;
  shape.past = past;
  shape.heads = group;
  shape.kv_heads = 1;
  shape.d_in = shape.d_out = group * head_dim;
  return shape;
}

constexpr AttendPrefetches kNone{};
constexpr AttendPrefetches kIntoL2{true, false};
constexpr AttendPrefetches kIntoL1{true, true};

// The last rows of a sequence, behind keys of an earlier call.
// @param rounding of floats, as the caller may have set it
Matrix attended(const KernelTable& kernels, Storage stored, const RoundedKernels* bytes,
                const AttendPrefetches& prefetches, Case shape, int rounding = FE_TONEAREST) {
  const SerialExecutor executor;
  const std::int64_t dim = shape.head_dim();
  const std::int64_t past = shape.past;
  shape.past = 0;
  Case largest = shape;
  largest.tokens += past;
  StreamingAttention attention(kernels, {}, stored, largest, executor, prefetches, bytes);
  const std::unique_ptr<PackedStore> store = attention.make_store(executor, 1, largest.tokens);
  Matrix q = gaussian_input(largest.tokens, shape, 1);
  Case narrow = shape;
  narrow.d_in = dim;
  Matrix k = gaussian_input(largest.tokens, narrow, 2);
  Matrix v = gaussian_input(largest.tokens, narrow, 3);
  Matrix y(shape.tokens, shape.d_out);
  const auto heads = [&](Matrix& of, std::int64_t row, std::int64_t count) -> AnyBlockedView {
    return BlockedView{of.view().row(row), count, of.cols, of.cols / dim, dim, dim};
  };
  Sequence before;
  before.new_keys = past;
  if (past > 0) {
    attention.run(executor,
                  {heads(q, 0, past), heads(k, 0, past), heads(v, 0, past), heads(y, 0, 0),
                   std::vector<Sequence>{before}, nullptr},
                  store.get());
  }
  Sequence own;
  own.rows = own.new_keys = shape.tokens;
  own.past = own.position = past;
  std::fesetround(rounding);
  attention.run(
      executor,
      {heads(q, past, shape.tokens), heads(k, past, shape.tokens), heads(v, past, shape.tokens),
       heads(y, 0, shape.tokens), std::vector<Sequence>{own}, nullptr},
      store.get());
  std::fesetround(FE_TONEAREST);
  return y;
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all{case_of(1, 300, 1, 128), case_of(1, 300, 2, 64),
                                     case_of(1, 300, 4, 128), case_of(1, 300, 7, 40),
                                     case_of(5, 1100, 3, 96), case_of(200, 0, 1, 24)};
  return all;
}

TEST(CacheByteKernels, HaveTheSameBitsByEitherInstruction) {
  for (const Isa isa : available_isas()) {
    const KernelTable& kernels = kernel_table(isa);
    const auto of = [&](const RoundedKernels* bytes, const AttendPrefetches& prefetches,
                        const Case& shape) {
      return attended(kernels, Storage::q8, bytes, prefetches, shape);
    };
    for (const Case& shape : cases()) {
      SCOPED_TRACE(std::string(to_string(isa)) + " " + shape.id());
      const Matrix wanted = of(kernels.cache_bytes, kNone, shape);
      EXPECT_TRUE(test::same_bits(of(kernels.cache_bytes, kIntoL2, shape), wanted));
      EXPECT_TRUE(test::same_bits(of(kernels.cache_bytes, kIntoL1, shape), wanted));
      EXPECT_FALSE(test::same_bits(of(nullptr, kNone, shape), wanted)) << "floats were multiplied";
      if (kernels.cache_bytes_by_dots == nullptr || !unit_facts().byte_dots) continue;
      EXPECT_TRUE(test::same_bits(of(kernels.cache_bytes_by_dots, kIntoL2, shape), wanted));
      EXPECT_TRUE(test::same_bits(of(kernels.cache_bytes_by_dots, kIntoL1, shape), wanted));
    }
  }
}

// The largest of a group is a byte by division, whose rounding may leave a little more than that.
TEST(CacheByteKernels, StayBytesHoweverTheCallerRounds) {
  for (const Isa isa : available_isas()) {
    const KernelTable& kernels = kernel_table(isa);
    for (const RoundedKernels* bytes : {kernels.cache_bytes, kernels.cache_bytes_by_dots}) {
      if (bytes == nullptr || (bytes != kernels.cache_bytes && !unit_facts().byte_dots)) continue;
      for (const Case& shape : cases()) {
        const Matrix expected = attended(kernels, Storage::q8, bytes, kNone, shape);
        for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
          SCOPED_TRACE(std::string(to_string(isa)) + " " + shape.id());
          const Matrix y = attended(kernels, Storage::q8, bytes, kNone, shape, mode);
          float worst = 0;
          for (std::size_t i = 0; i < y.values.size(); ++i) {
            worst = std::max(worst, std::abs(y.values[i] - expected.values[i]));
          }
          EXPECT_LT(worst, 0.05F) << mode;
        }
      }
    }
  }
}

TEST(CacheStreams, HaveTheSameBitsWithPrefetchesAsWithout) {
  for (const Isa isa : available_isas()) {
    const KernelTable& kernels = kernel_table(isa);
    for (const Storage stored : {Storage::f32, Storage::bf16, Storage::q8}) {
      for (const Case& shape : cases()) {
        SCOPED_TRACE(std::string(to_string(isa)) + " " + std::string(to_string(stored)) + " " +
                     shape.id());
        const Matrix wanted = attended(kernels, stored, nullptr, kNone, shape);
        for (const AttendPrefetches& prefetches : {kIntoL2, kIntoL1}) {
          EXPECT_TRUE(
              test::same_bits(attended(kernels, stored, nullptr, prefetches, shape), wanted));
        }
      }
    }
  }
}

}  // namespace
}  // namespace headroom::simd::cache_byte_kernels_test
