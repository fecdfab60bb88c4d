// The oracle where tokens are turned by positions that are given, against the definition.
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <vector>

#include "reference/oracle.hpp"
#include "reference/steps/rotation.hpp"
#include "support/definition.hpp"
#include "support/layer_data.hpp"

namespace headroom::reference::oracle_positions_test {
namespace {

using test::gaussian_layer;
using test::index;
using test::Layer;
using test::oracle;

// Two sequences or ragged ones, with and without a past, in both layouts of pairs.
std::vector<Case> shapes_that_turn() {
  std::vector<Case> shapes;
  for (const auto pairs : {Rotary::Pairs::halves, Rotary::Pairs::neighbours}) {
    for (const std::int64_t past : {0, 3}) {
      Case shape = test::make_shape(2, 5, 7, 48, 4, 0);  // 6 pairs of a head
      shape.kv_heads = 2;
      shape.past = past;
      shape.rotary = {pairs, 100, 1};
      shapes.push_back(shape);
      shape.batch = 3;
      shape.lengths = {2, 0, 5};
      shapes.push_back(shape);
    }
  }
  return shapes;
}

std::vector<std::int64_t> drawn_positions(const Case& shape, std::int64_t axes) {
  std::mt19937 draws(7);
  std::vector<std::int64_t> positions(index(axes * (shape.batch * shape.past + shape.rows())));
  for (std::int64_t& position : positions) position = static_cast<std::int64_t>(draws() % 50);
  return positions;
}

void expect_agreement(const Layer& layer) {
  SCOPED_TRACE(layer.shape.id() + ", " + std::to_string(layer.positions.size()) + " positions");
  test::expect_the_definition(layer, oracle(layer));
}

TEST(OraclePositions, AreThoseOfTheDefinition) {
  for (Case shape : shapes_that_turn()) {
    Layer layer = gaussian_layer(shape, 1);
    layer.positions = drawn_positions(shape, 1);
    expect_agreement(layer);
    for (const bool interleaved : {false, true}) {
      layer.shape.rotary.interleaved = interleaved;
      layer.shape.rotary.sections = {2, 3, 1};
      layer.positions = drawn_positions(shape, 3);
      expect_agreement(layer);
      layer.positions = drawn_positions(shape, 1);
      expect_agreement(layer);
    }
  }
}

// Only distances between positions count.
TEST(OraclePositions, MayAllBeFurtherOn) {
  for (const Case& shape : shapes_that_turn()) {
    Layer layer = gaussian_layer(shape, 1);
    const Expected expected = oracle(layer);
    for (std::int64_t s = 0; s < shape.batch; ++s) {
      for (std::int64_t j = 0; j < shape.past + shape.length(s); ++j) {
        layer.positions.push_back(1000 + j);
      }
    }
    const Expected found = oracle(layer);
    for (std::size_t i = 0; i < found.y.size(); ++i) {
      ASSERT_NEAR(found.y[i], expected.y[i], 1e-6 * expected.bound[i]) << shape.id();
    }
    layer.positions.back() += 1;
    EXPECT_NE(oracle(layer).y, found.y);
  }
}

// As the modules of Qwen2-VL (8, 12, 12 of 32 pairs) and Qwen3-VL (12, 10, 10) cut them.
TEST(OraclePositions, SectionsAreThoseOfTheModels) {
  const auto axes = [](std::array<std::int64_t, 3> sections, bool interleaved) {
    Case shape = test::make_shape(1, 1, 1, 64, 1, 0);
    shape.rotary = {Rotary::Pairs::halves, 10000, 1};
    shape.rotary.sections = sections;
    shape.rotary.interleaved = interleaved;
    std::string text;
    for (std::int64_t pair = 0; pair < 32; ++pair) {
      // The angle at which only the position of one axis is not 0.
      for (std::int64_t axis = 0; axis < 3; ++axis) {
        std::vector<double> values(64, 0), sizes(64, 0);
        values[index(pair)] = 1;
        Whereabouts token = {};
        token[index(axis)] = 1;
        Rotation(shape).turn(token, 1, values.data(), sizes.data());
        if (values[index(pair)] != 1) text += "THW"[axis];
      }
    }
    return text;
  };
  EXPECT_EQ(axes({8, 12, 12}, false), "TTTTTTTTHHHHHHHHHHHHWWWWWWWWWWWW");
  EXPECT_EQ(axes({12, 10, 10}, true), "THWTHWTHWTHWTHWTHWTHWTHWTHWTHWTT");
}

}  // namespace
}  // namespace headroom::reference::oracle_positions_test
