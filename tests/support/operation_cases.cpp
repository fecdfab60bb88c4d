#include "support/operation_cases.hpp"

#include <algorithm>
#include <cstring>
#include <random>

#include "headroom/error.hpp"

namespace headroom::test {

std::ostream& operator<<(std::ostream& out, const OperationCase& operation_case) {
  return out << operation_case.backend << ' ' << to_string(operation_case.isa);
}

std::vector<OperationCase> operation_cases() {
  std::vector<Isa> levels = available_isas();
  std::reverse(levels.begin(), levels.end());
  std::vector<OperationCase> cases;
  for (const BackendInfo& info : backends()) {
    if (!info.available) continue;
    for (const Isa isa : levels) {
      cases.push_back({info.name, isa});
      if (!info.uses_isa) break;
    }
  }
  return cases;
}

std::string operation_case_name(const testing::TestParamInfo<OperationCase>& info) {
  std::string name = info.param.backend + "_" + std::string(to_string(info.param.isa));
  std::erase(name, '.');
  return name;
}

void OperationTest::SetUp() {
  try {
    backend_ = make(2);
  } catch (const Unavailable& reason) {
    GTEST_SKIP() << reason.what();
  }
}

std::unique_ptr<Backend> OperationTest::make(int threads) const {
  return backend_entry(GetParam().backend).make({threads, {GetParam().isa}});
}

void fill_integers(std::span<float> values, std::uint32_t seed) {
  std::mt19937 generator(seed);
  for (float& value : values) value = static_cast<float>(static_cast<int>(generator() % 9) - 4);
}

void fill_gaussian(std::span<float> values, std::uint32_t seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> gaussian;
  for (float& value : values) value = gaussian(generator);
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

Activations::Activations(HeadLayout layout, std::int64_t rows, std::int64_t blocks,
                         std::int64_t block_cols, std::int64_t padding) {
  shape_ = {nullptr, rows, blocks * block_cols + padding, blocks, block_cols, block_cols};
  size_ = rows * shape_.row_stride;
  if (layout == HeadLayout::head_major) {
    shape_.row_stride = block_cols + padding;
    shape_.block_stride = rows * shape_.row_stride;
    size_ = blocks * shape_.block_stride;
  }
}

BlockedView Activations::view(float* data) const {
  BlockedView view = shape_;
  view.data = data;
  return view;
}

}  // namespace headroom::test
