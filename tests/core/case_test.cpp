#include "core/case.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "core/case_layer.hpp"
#include "headroom/attention.hpp"
#include "headroom/error.hpp"

namespace headroom::case_test {
namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

Case gpt2() {
  Case shape;
  shape.tokens = 1024;
  shape.d_in = shape.d_out = shape.d_proj = 768;
  shape.heads = 12;
  return shape;
}

std::string refusal(const Case& shape) {
  try {
    shape.validate();
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "";
}

TEST(Case, AcceptsWhatIsAllowed) {
  EXPECT_EQ(refusal(gpt2()), "");
  for (const auto& change : std::vector<std::function<void(Case&)>>{
           [](Case& s) { s.batch = 0; }, [](Case& s) { s.tokens = 0; },
           [](Case& s) { s.d_proj = 0; }, [](Case& s) { s.d_in = 1; },
           [](Case& s) { s.heads = s.d_out; }, [](Case& s) { s.dropout = 0.999; },
           [](Case& s) { s.tokens = 46341; },
           [](Case& s) { s.d_in = s.d_out = s.d_proj = 12288, s.heads = 96; }}) {
    Case shape = gpt2();
    change(shape);
    EXPECT_EQ(refusal(shape), "") << shape.id();
  }
}

struct Refused {
  const char* names;  // must stand in the message
  std::function<void(Case&)> change;
};

TEST(Case, RefusesAndNamesTheField) {
  const std::vector<Refused> table{
      {"batch is -1", [](Case& s) { s.batch = -1; }},
      {"tokens is -5", [](Case& s) { s.tokens = -5; }},
      {"d_in is -1", [](Case& s) { s.d_in = -1; }},
      {"d_in is 0", [](Case& s) { s.d_in = 0; }},
      {"qkv_bias belongs", [](Case& s) { s.d_in = s.d_proj = 0, s.qkv_bias = true; }},
      {"dropout belongs", [](Case& s) { s.d_in = s.d_proj = 0, s.dropout = 0.1; }},
      {"rotary belongs",
       [](Case& s) { s.d_in = s.d_proj = 0, s.rotary.pairs = Rotary::Pairs::halves; }},
      {"d_memory belongs",
       [](Case& s) { s.d_in = s.d_proj = 0, s.d_memory = 3, s.causal = false; }},
      {"tokens is 0", [](Case& s) { s.d_in = s.d_proj = s.tokens = 0; }},
      {"d_out is 0", [](Case& s) { s.d_out = 0; }},
      {"heads is 0", [](Case& s) { s.heads = 0; }},
      {"heads is -12", [](Case& s) { s.heads = -12; }},
      {"d_proj is -1", [](Case& s) { s.d_proj = -1; }},
      {"dropout is 1;", [](Case& s) { s.dropout = 1; }},
      {"dropout is -0.1", [](Case& s) { s.dropout = -0.1; }},
      {"dropout is nan", [](Case& s) { s.dropout = std::nan(""); }},
      {"dropout is inf", [](Case& s) { s.dropout = std::numeric_limits<double>::infinity(); }},
  };
  for (const Refused& row : table) {
    Case shape = gpt2();
    row.change(shape);
    EXPECT_NE(refusal(shape).find(row.names), std::string::npos)
        << row.names << " is not in: " << refusal(shape);
  }
}

TEST(Case, NamesTheNearestWidthsAndHeadCounts) {
  Case shape = gpt2();
  shape.heads = 7;
  EXPECT_EQ(refusal(shape),
            "shape: d_out 768 is not a multiple of heads 7; nearest widths: 763 and 770; nearest "
            "head counts for 768: 6 and 8");
  shape.heads = 1000;
  EXPECT_EQ(refusal(shape),
            "shape: d_out 768 is not a multiple of heads 1000; nearest widths: 1000; nearest head "
            "counts for 768: 768");
  shape.d_out = kLargest;
  shape.heads = kLargest - 1;  // a hint must not search for years, nor overflow
  EXPECT_NE(refusal(shape).find("is not a multiple"), std::string::npos);
}

TEST(LayerConfig, IsNamedAndCheckedWithoutACall) {
  LayerConfig config{.d_in = 768, .d_out = 768, .heads = 12, .d_proj = 768};
  EXPECT_NO_THROW(config.validate());
  EXPECT_EQ(config.id(), "D768_H12");
  config.kv_heads = 4;
  config.causal = false;
  config.d_memory = 512;
  EXPECT_EQ(config.id(), "D768_H12_nomask_K4_M512");
  config.d_in = 0;
  EXPECT_THROW(config.validate(), InvalidArgument);
  EXPECT_THROW(choose_backend(config, {.tokens = 1}, {}), InvalidArgument);
}

TEST(Case, RefusesProductsBeyond63Bits) {
  const std::vector<Refused> table{
      {"batch * tokens * d_in", [](Case& s) { s.batch = kLargest; }},
      {"batch * tokens * d_in", [](Case& s) { s.tokens = kLargest; }},
      {"d_in * 3 * d_out", [](Case& s) { s.d_in = kLargest; }},
      {"batch * tokens * d_in", [](Case& s) { s.batch = s.tokens = s.d_in = 1 << 20; }},
      {"3 * d_out", [](Case& s) { s.d_out = kLargest, s.heads = 1; }},
      {"d_out * d_proj", [](Case& s) { s.d_proj = kLargest; }},
      {"batch * tokens * d_proj",
       [](Case& s) { s.d_out = 12, s.tokens = 1 << 20, s.d_proj = std::int64_t{1} << 50; }},
      {"d_in * 3 * d_out",
       [](Case& s) { s.tokens = 1, s.d_in = s.d_out = std::int64_t{1} << 29, s.heads = 1; }},
      {"d_out * d_proj",
       [](Case& s) {
         s.tokens = 1, s.heads = 1, s.d_in = 1, s.d_out = s.d_proj = std::int64_t{1} << 30;
       }},
      {"heads * tokens * keys",
       [](Case& s) { s.tokens = std::int64_t{1} << 30, s.d_in = s.d_out = s.d_proj = 12; }},
      // The product wraps to a small positive number.
      {"batch * tokens * d_in",
       [](Case& s) { s.batch = std::int64_t{1} << 32, s.tokens = (std::int64_t{1} << 32) + 1; }},
  };
  for (const Refused& row : table) {
    Case shape = gpt2();
    row.change(shape);
    EXPECT_NE(refusal(shape).find(row.names), std::string::npos)
        << row.names << " is not in: " << refusal(shape);
  }
}

TEST(Case, NoTokensAreNoWorkWhateverTheBatch) {
  Case shape = gpt2();
  shape.batch = 0;
  shape.tokens = kLargest;
  EXPECT_EQ(refusal(shape), "");
  EXPECT_EQ(shape.rows(), 0);
  EXPECT_EQ(shape.bytes().input, 0);
}

TEST(Case, CountsOperations) {
  Case shape = gpt2();
  EXPECT_EQ(shape.flops().qkv, 3623878656.0);
  EXPECT_EQ(shape.flops().attention, 1612185600.0);
  EXPECT_EQ(shape.flops().output, 1207959552.0);
  EXPECT_EQ(shape.flops().total(), 6444023808.0);
  shape.causal = false;
  EXPECT_EQ(shape.flops().attention, 3221225472.0);
  shape.batch = 3;
  EXPECT_EQ(shape.flops().attention, 3 * 3221225472.0);
  shape.d_proj = 0;
  EXPECT_EQ(shape.flops().output, 0);
}

TEST(Case, CountsBytes) {
  Case shape = gpt2();
  EXPECT_EQ(shape.bytes().input, 3145728);
  EXPECT_EQ(shape.bytes().output, 3145728);
  EXPECT_EQ(shape.bytes().weights, 9440256);
  shape.qkv_bias = true;
  EXPECT_EQ(shape.bytes().weights, 9440256 + 4 * 3 * 768);
  shape.d_proj = 10;
  shape.batch = 2;
  EXPECT_EQ(shape.output_width(), 10);
  EXPECT_EQ(shape.bytes().output, 2 * 1024 * 10 * 4);
  shape.d_proj = 0;
  EXPECT_EQ(shape.output_width(), 768);
  EXPECT_EQ(shape.bytes().weights, 4 * (768 * 3 * 768 + 3 * 768));
}

TEST(Case, KeysThatCannotBeCountedAreRefused) {
  Case shape = gpt2();
  shape.batch = 0;
  shape.tokens = kLargest;
  shape.past = 1;
  EXPECT_NE(refusal(shape).find("past 1 and tokens"), std::string::npos) << refusal(shape);
}

Case deepseek() {
  Case shape;
  shape.tokens = 2;
  shape.d_in = shape.d_proj = 7168;
  shape.heads = 128;
  shape.d_out = 128 * 192;
  shape.value_dim = 128;
  shape.latent = {512, 1536, 64};
  shape.rotary.pairs = Rotary::Pairs::neighbours;
  return shape;
}

TEST(Case, CountsWhatALatentLayerTakes) {
  Case shape = deepseek();
  EXPECT_EQ(refusal(shape), "");
  EXPECT_EQ(shape.id(), "B1_T2_D24576_H128_in7168_proj7168_v128_ropen_latent512x64q1536");
  EXPECT_EQ(shape.context_width(), 16384);
  EXPECT_EQ(shape.cached_width(), 576) << "and not 128 * (192 + 128)";
  const double products = 7168.0 * (1536 + 576) + 1536.0 * 24576 + 512.0 * (16384 + 16384);
  EXPECT_EQ(shape.flops().qkv, 2 * 2 * products);
  EXPECT_EQ(shape.flops().attention, 2.0 * 3 * (24576 + 16384)) << "expanded";
  shape.tokens = 1;
  shape.past = 9;
  EXPECT_EQ(shape.flops().attention, 2.0 * 10 * 128 * (576 + 512)) << "over latents";
  EXPECT_EQ(shape.bytes().past, 4 * 9 * 576);
  const std::int64_t weights =
      7168 * (1536 + 576) + 1536 + 512 + 1536 * 24576 + 512 * (16384 + 16384) + 16384 * 7168 + 7168;
  EXPECT_EQ(shape.bytes().weights, 4 * weights);
}

TEST(Case, ALatentRefusesWhatStandsBetweenItAndTheScores) {
  const std::vector<Refused> table{
      {"kv_heads and latent", [](Case& s) { s.kv_heads = 64; }},
      {"qkv_bias and latent", [](Case& s) { s.qkv_bias = true; }},
      {"clip and latent", [](Case& s) { s.clip = 1; }},
      {"norm and latent", [](Case& s) { s.norm.over = QueryKeyNorm::Over::head; }},
      {"latent shared is 192", [](Case& s) { s.latent.shared = 192; }},
      {"latent epsilon", [](Case& s) { s.latent.epsilon = 0; }},
      {"a latent that has no rank", [](Case& s) { s.latent.rank = 0; }},
      {"latent shared is 3", [](Case& s) { s.latent.shared = 3; }},
      {"rotary width is 32", [](Case& s) { s.rotary.width = 32; }},
      {"latent belongs to a layer",
       [](Case& s) { s.d_in = s.d_proj = s.value_dim = 0, s.rotary = {}; }},
      {"value_dim is -1", [](Case& s) { s.value_dim = -1; }},
      {"value_dim belongs to a layer",
       [](Case& s) { s.d_in = s.d_proj = 0, s.rotary = {}, s.latent = {}; }},
  };
  for (const Refused& row : table) {
    Case shape = deepseek();
    row.change(shape);
    EXPECT_NE(refusal(shape).find(row.names), std::string::npos) << refusal(shape);
  }
}

TEST(Case, HasAStableName) {
  Case shape = gpt2();
  EXPECT_EQ(shape.id(), "B1_T1024_D768_H12");
  shape.d_in = 512;
  shape.causal = false;
  shape.qkv_bias = true;
  shape.d_proj = 1000;
  shape.dropout = 0.1;
  EXPECT_EQ(shape.id(), "B1_T1024_D768_H12_in512_nomask_bias_proj1000_drop0.1");
  shape.d_proj = 0;
  EXPECT_EQ(shape.id(), "B1_T1024_D768_H12_in512_nomask_bias_noproj_drop0.1");
}

// Without products only attention counts, and what is read are queries, keys and values.
TEST(Case, HeadsMayBeGiven) {
  Case shape;
  shape.batch = 2;
  shape.tokens = 5;
  shape.d_out = 24;
  shape.heads = 6;
  shape.kv_heads = 2;
  shape.past = 7;
  shape.validate();
  EXPECT_FALSE(shape.has_projections());
  EXPECT_EQ(shape.id(), "B2_T5_D24_H6_qkv_K2_P7");
  EXPECT_EQ(shape.flops().total(), shape.flops().attention);
  EXPECT_EQ(shape.flops().attention, 4.0 * 24 * 2 * (8 + 9 + 10 + 11 + 12));
  EXPECT_EQ(shape.bytes().weights, 0);
  EXPECT_EQ(shape.bytes().input, 4 * 10 * (24 + 2 * 8));
  EXPECT_EQ(shape.bytes().output, 4 * 10 * 24);
  EXPECT_EQ(shape.bytes().past, 4 * 2 * 7 * 2 * 8);
  EXPECT_THROW(check_weights(shape, SplitWeights{}), InvalidArgument);
  EXPECT_THROW(layer_for(shape, SplitWeights{}), InvalidArgument);
}

}  // namespace
}  // namespace headroom::case_test
