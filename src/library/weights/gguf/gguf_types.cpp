#include "weights/gguf/gguf_types.hpp"

#include <algorithm>
#include <span>

namespace headroom::weights {
namespace {

// Of a type that becomes weights, whose blocks are known.
GgufType of(std::uint32_t number, std::string_view name, Element element) {
  const std::int64_t block = values_per_block(element);
  return {number, name, block, bytes_of(element, block), element};
}

// All that ggml has, because a file may hold other tensors beside the weights. Sizes of blocks: a
// scale or several, and the bits of the values.
std::span<const GgufType> types() {
  static const GgufType all[] = {of(0, "F32", Element::f32),
                                 of(1, "F16", Element::f16),
                                 of(2, "Q4_0", Element::q4_0),
                                 of(3, "Q4_1", Element::q4_1),
                                 of(6, "Q5_0", Element::q5_0),
                                 of(7, "Q5_1", Element::q5_1),
                                 of(8, "Q8_0", Element::q8_0),
                                 {9, "Q8_1", 32, 36},
                                 {10, "Q2_K", 256, 84},
                                 {11, "Q3_K", 256, 110},
                                 of(12, "Q4_K", Element::q4_k),
                                 of(13, "Q5_K", Element::q5_k),
                                 of(14, "Q6_K", Element::q6_k),
                                 {15, "Q8_K", 256, 292},
                                 {16, "IQ2_XXS", 256, 66},
                                 {17, "IQ2_XS", 256, 74},
                                 {18, "IQ3_XXS", 256, 98},
                                 {19, "IQ1_S", 256, 50},
                                 {20, "IQ4_NL", 32, 18},
                                 {21, "IQ3_S", 256, 110},
                                 {22, "IQ2_S", 256, 82},
                                 {23, "IQ4_XS", 256, 136},
                                 {24, "I8", 1, 1},
                                 {25, "I16", 1, 2},
                                 {26, "I32", 1, 4},
                                 {27, "I64", 1, 8},
                                 of(28, "F64", Element::f64),
                                 {29, "IQ1_M", 256, 56},
                                 of(30, "BF16", Element::bf16),
                                 {34, "TQ1_0", 256, 54},
                                 {35, "TQ2_0", 256, 66},
                                 {39, "MXFP4", 32, 17},
                                 {40, "NVFP4", 64, 36},
                                 {41, "Q1_0", 128, 18}};
  return all;
}

}  // namespace

const GgufType* find_gguf_type(std::uint32_t number) {
  const std::span<const GgufType> all = types();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const GgufType& type) { return type.number == number; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace headroom::weights
