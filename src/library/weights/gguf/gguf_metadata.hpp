// The metadata of a GGUF file: keys with values of twelve types, and lists of them.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "weights/byte_walk.hpp"

namespace headroom::weights {

/// Keys of a file at most; models have some forty.
inline constexpr std::uint64_t kMaxGgufKeys = 10'000;
/// Longer texts and lists are walked over: vocabularies, and no sizes of a layer.
inline constexpr std::uint64_t kMostKeptText = 256;
inline constexpr std::uint64_t kMostKeptValues = 512;
/// Lists within lists, at most.
inline constexpr int kMostDepth = 4;

/// An object with each key's value: truth values, whole numbers, texts, and lists of them. A float
/// is the decimal number that its writer was given, as far as a float tells. What is too long to be
/// kept, and every list of texts or lists, is null.
/// @param walk at the first key; behind the last one afterwards
/// @throws FileError for a type that is not known, a key that is there twice, lists that are too
///         deep, and whatever the file is too short for.
nlohmann::json read_gguf_metadata(ByteWalk& walk, std::uint64_t keys);

/// A text that is kept, and its length before it.
/// @param most bytes; longer ones are refused
std::string read_gguf_text(ByteWalk& walk, std::uint64_t most, std::string_view what);

}  // namespace headroom::weights
