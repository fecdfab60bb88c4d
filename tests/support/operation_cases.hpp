// Every backend of this program at every instruction-set level, for tests of the two operations.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "backends/backend.hpp"
#include "support/guarded_buffer.hpp"

namespace headroom::test {

struct OperationCase {
  std::string backend;
  Isa isa = Isa::sse42;
};

std::ostream& operator<<(std::ostream& out, const OperationCase& operation_case);

/// Highest level first: oneDNN supports one level per process, so it runs with this one if
/// tests share a process.
std::vector<OperationCase> operation_cases();

/// Such as `xsimd_avx512`.
std::string operation_case_name(const testing::TestParamInfo<OperationCase>& info);

/// Makes the backend, or skips the test with the reason why it cannot be made.
class OperationTest : public testing::TestWithParam<OperationCase> {
 protected:
  void SetUp() override;
  /// The same backend for another thread count.
  std::unique_ptr<Backend> make(int threads) const;

  std::unique_ptr<Backend> backend_;
};

/// Reproducible values: whole numbers in [-4, 4], and unit Gaussians.
void fill_integers(std::span<float> values, std::uint32_t seed);
void fill_gaussian(std::span<float> values, std::uint32_t seed);

/// Equal bits, so that NaN equals itself and -0 differs from 0.
bool same_bits(std::span<const float> a, std::span<const float> b);

/// `rows` rows of `blocks` blocks in a layout, each row followed by `padding` floats.
struct Activations {
  Activations(HeadLayout layout, std::int64_t rows, std::int64_t blocks, std::int64_t block_cols,
              std::int64_t padding = 0);
  BlockedView view(float* data) const;
  std::int64_t size() const { return size_; }

 private:
  BlockedView shape_;
  std::int64_t size_ = 0;
};

}  // namespace headroom::test
