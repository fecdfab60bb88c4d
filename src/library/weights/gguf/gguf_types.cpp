#include "weights/gguf/gguf_types.hpp"

#include <algorithm>
#include <iterator>

namespace headroom::weights {
namespace {

// All that ggml has, because a file may hold other tensors beside the weights. Sizes of blocks: a
// scale or several, and the bits of the values.
constexpr GgufType kTypes[] = {{0, "F32", 1, 4, Element::f32},
                               {1, "F16", 1, 2, Element::f16},
                               {2, "Q4_0", 32, 18, Element::q4_0},
                               {3, "Q4_1", 32, 20, Element::q4_1},
                               {6, "Q5_0", 32, 22, Element::q5_0},
                               {7, "Q5_1", 32, 24, Element::q5_1},
                               {8, "Q8_0", 32, 34, Element::q8_0},
                               {9, "Q8_1", 32, 36},
                               {10, "Q2_K", 256, 84},
                               {11, "Q3_K", 256, 110},
                               {12, "Q4_K", 256, 144, Element::q4_k},
                               {13, "Q5_K", 256, 176, Element::q5_k},
                               {14, "Q6_K", 256, 210, Element::q6_k},
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
                               {28, "F64", 1, 8, Element::f64},
                               {29, "IQ1_M", 256, 56},
                               {30, "BF16", 1, 2, Element::bf16},
                               {34, "TQ1_0", 256, 54},
                               {35, "TQ2_0", 256, 66},
                               {39, "MXFP4", 32, 17},
                               {40, "NVFP4", 64, 36},
                               {41, "Q1_0", 128, 18}};

}  // namespace

const GgufType* find_gguf_type(std::uint32_t number) {
  const auto* found = std::find_if(std::begin(kTypes), std::end(kTypes),
                                   [&](const GgufType& type) { return type.number == number; });
  return found == std::end(kTypes) ? nullptr : found;
}

}  // namespace headroom::weights
