// Values that are stored in blocks with scales of their own, as ggml's types have them.
#pragma once

#include <cstdint>

namespace headroom::weights {

/// Each converts one block: 32 values with one scale, or of those on `_k` 256 with several.
void expand_q8_0(const std::uint8_t* block, float* out);
void expand_q4_0(const std::uint8_t* block, float* out);
void expand_q4_1(const std::uint8_t* block, float* out);
void expand_q5_0(const std::uint8_t* block, float* out);
void expand_q5_1(const std::uint8_t* block, float* out);
void expand_q4_k(const std::uint8_t* block, float* out);
void expand_q5_k(const std::uint8_t* block, float* out);
void expand_q6_k(const std::uint8_t* block, float* out);

}  // namespace headroom::weights
