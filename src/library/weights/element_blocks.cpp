#include "weights/element_blocks.hpp"

#include <cstdint>
#include <cstring>

#include "core/element/convert.hpp"

namespace headroom::weights {
namespace {

using Byte = std::uint8_t;

constexpr int kShort = 32;  // values of a block with one scale
constexpr int kLong = 256;  // and of one with a scale for each 32 or 16

float f16_at(const Byte* place) {
  F16 value;
  std::memcpy(&value, place, sizeof value);
  return value.value();
}

int low(Byte byte) { return byte & 15; }
int high(Byte byte) { return byte >> 4; }

// The low halves of 16 bytes are the first 16 values, the high ones those that follow.
// @param least what 0 stands for
void expand_q4(const Byte* nibbles, float scale, int least, float offset, float* out) {
  for (int i = 0; i < kShort / 2; ++i) {
    out[i] = scale * static_cast<float>(low(nibbles[i]) + least) + offset;
    out[i + kShort / 2] = scale * static_cast<float>(high(nibbles[i]) + least) + offset;
  }
}

// The same with a fifth bit of each value, those of all in one number.
void expand_q5(const Byte* bits, float scale, int least, float offset, float* out) {
  std::uint32_t fifth = 0;
  std::memcpy(&fifth, bits, sizeof fifth);
  const Byte* nibbles = bits + sizeof fifth;
  const auto value = [&](int nibble, int index) {
    const int number = nibble + static_cast<int>(fifth >> index & 1U) * 16;
    return scale * static_cast<float>(number + least) + offset;
  };
  for (int i = 0; i < kShort / 2; ++i) {
    out[i] = value(low(nibbles[i]), i);
    out[i + kShort / 2] = value(high(nibbles[i]), i + kShort / 2);
  }
}

// Of 32 values each, six bits of a scale and six of an offset, in 12 bytes: four bits of the last
// four numbers of each kind share a byte, and their other two are above those of the first four.
struct ScaleAndOffset {
  int scale, offset;
};
ScaleAndOffset six_bits(const Byte* bytes, int index) {
  if (index < 4) return {bytes[index] & 63, bytes[index + 4] & 63};
  const Byte shared = bytes[index + 4];
  return {low(shared) | (bytes[index - 4] >> 6) << 4, high(shared) | (bytes[index] >> 6) << 4};
}

// @param fifth bits, one byte for each of 32 places; null for values of four bits
void expand_k(const Byte* block, const Byte* fifth, const Byte* nibbles, float* out) {
  constexpr int kScales = 4;  // where the scales begin
  const float scales = f16_at(block), offsets = f16_at(block + 2);
  for (int part = 0; part < kLong / kShort; ++part) {
    const ScaleAndOffset of = six_bits(block + kScales, part);
    const float scale = scales * static_cast<float>(of.scale);
    const float offset = offsets * static_cast<float>(of.offset);
    for (int i = 0; i < kShort; ++i) {
      const Byte byte = nibbles[part / 2 * kShort + i];
      int number = part % 2 == 0 ? low(byte) : high(byte);
      if (fifth != nullptr) number += (fifth[i] >> part & 1) * 16;
      out[part * kShort + i] = scale * static_cast<float>(number) - offset;
    }
  }
}

constexpr int kAfterOne = 2, kAfterTwo = 4, kAfterScales = 16;

}  // namespace

void expand_q8_0(const Byte* block, float* out) {
  const float scale = f16_at(block);
  for (int i = 0; i < kShort; ++i) {
    out[i] = scale * static_cast<float>(static_cast<std::int8_t>(block[2 + i]));
  }
}

void expand_q4_0(const Byte* block, float* out) {
  expand_q4(block + kAfterOne, f16_at(block), -8, 0, out);
}

void expand_q4_1(const Byte* block, float* out) {
  expand_q4(block + kAfterTwo, f16_at(block), 0, f16_at(block + 2), out);
}

void expand_q5_0(const Byte* block, float* out) {
  expand_q5(block + kAfterOne, f16_at(block), -16, 0, out);
}

void expand_q5_1(const Byte* block, float* out) {
  expand_q5(block + kAfterTwo, f16_at(block), 0, f16_at(block + 2), out);
}

void expand_q4_k(const Byte* block, float* out) {
  expand_k(block, nullptr, block + kAfterScales, out);
}

void expand_q5_k(const Byte* block, float* out) {
  expand_k(block, block + kAfterScales, block + kAfterScales + kShort, out);
}

// Four bits of each value, then the two above them, then a scale of each 16 values.
void expand_q6_k(const Byte* block, float* out) {
  constexpr int kHalf = kLong / 2;  // values whose bits lie together
  const Byte* scales = block + kHalf + kHalf / 2;
  const float scale = f16_at(scales + kLong / 16);
  for (int i = 0; i < kLong; ++i) {
    const int half = i / kHalf, quarter = i % kHalf / kShort, place = i % kShort;
    const Byte four = block[half * 64 + quarter % 2 * kShort + place];
    const Byte two = block[kHalf + half * kShort + place];
    const int number = (quarter < 2 ? low(four) : high(four)) | (two >> 2 * quarter & 3) << 4;
    const auto own = static_cast<std::int8_t>(scales[i / 16]);
    out[i] = scale * static_cast<float>(own) * static_cast<float>(number - 32);
  }
}

}  // namespace headroom::weights
