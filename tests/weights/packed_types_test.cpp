// Tensors of ggml's packed types, against the values that the package `gguf` reads in them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/element/few_bits.hpp"
#include "headroom/load_weights.hpp"
#include "headroom/weights.hpp"
#include "weights/tensor_set.hpp"

namespace headroom::weights::packed_types_test {
namespace {

namespace fs = std::filesystem;

fs::path file(const char* name) { return fs::path(HEADROOM_TEST_DATA) / "gguf" / name; }

std::vector<float> values_of(TensorSet& set, const std::string& name) {
  const StoredTensor stored = set.find(name);
  std::vector<char> bytes(static_cast<std::size_t>(stored.tensor.bytes));
  stored.file->read(stored.tensor.offset, bytes);
  std::vector<float> values(static_cast<std::size_t>(*count_of(stored.tensor.dims)));
  EXPECT_EQ(bytes_of(*stored.tensor.type, *count_of(stored.tensor.dims)), stored.tensor.bytes);
  EXPECT_FALSE(to_floats(*stored.tensor.type, bytes, values));
  return values;
}

// So a layer that stores weights in few bits has what the file has, bit by bit.
TEST(PackedTypesInFewBits, AreNotRoundedAgain) {
  TensorSet set(file("packed.gguf"));
  for (const auto& [name, storage] :
       {std::pair{"Q8_0", Storage::q8}, std::pair{"Q4_0", Storage::q4}}) {
    const std::vector<float> values = values_of(set, name);
    for (std::size_t first = 0; first < values.size(); first += kGroup) {
      const WeightGroup group = store_group(storage, values.data() + first, kGroup, 1);
      for (std::int64_t i = 0; i < kGroup; ++i) {
        ASSERT_EQ(group.weight(i), values[first + static_cast<std::size_t>(i)]) << name;
      }
    }
  }
}

class PackedTypes : public testing::TestWithParam<const char*> {};

TEST_P(PackedTypes, HaveTheValuesThatOthersReadInThem) {
  TensorSet set(file("packed.gguf"));
  const std::string name = GetParam();
  ASSERT_TRUE(set.find(name).tensor.type) << "it becomes no weights";
  const std::vector<float> found = values_of(set, name);
  const std::vector<float> wanted = values_of(set, name + ".values");
  ASSERT_EQ(found.size(), 1024U);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_EQ(found[i], wanted[i]) << "value " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Each, PackedTypes,
                         testing::Values("Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q4_K", "Q5_K",
                                         "Q6_K"),
                         [](const auto& each) { return std::string(each.param); });

// Values of a layer that four types store, beside those from which they were rounded.
TEST(PackedLayer, IsCloseToTheOneThatWasPacked) {
  WeightsOptions options;
  options.layer = "1";
  const LayerWeights packed = load_weights(file("qwen3_packed.gguf"), options);
  const LayerWeights plain = load_weights(file("qwen3.gguf"), options);
  EXPECT_EQ(packed.weights.query.dtype, Dtype::f32);
  const SplitWeights a = to_split(packed.weights), b = to_split(plain.weights);
  const auto furthest = [](const Matrix& of, const Matrix& from) {
    double most = 0, largest = 0;
    for (std::int64_t r = 0; r < from.view().rows; ++r) {
      for (std::int64_t c = 0; c < from.view().cols; ++c) {
        most = std::max(most, std::fabs(double{of.view().row(r)[c]} - from.view().row(r)[c]));
        largest = std::max(largest, std::fabs(double{from.view().row(r)[c]}));
      }
    }
    return most / largest;
  };
  const auto expect_between = [](double error, double least, double most) {
    EXPECT_GT(error, least);
    EXPECT_LE(error, most);
  };
  expect_between(furthest(a.query, b.query), 1e-4,
                 0.5 / 127 + 0x1p-11);  // and the scale is rounded to f16
  expect_between(furthest(a.key, b.key), 1e-2, 1.01 / 8);
  expect_between(furthest(a.value, b.value), 1e-3, 1.01 / 16);
  expect_between(furthest(a.output, b.output), 1e-3, 1.01 / 15);
}

}  // namespace
}  // namespace headroom::weights::packed_types_test
