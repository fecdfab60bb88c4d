#include "show/weights_words.hpp"

#include <fmt/format.h>

#include "program/numbers.hpp"

namespace headroom::show {

std::string weights_words(const Case& shape, const Numbers& stored,
                          const std::optional<double>& storage_error,
                          const std::optional<reference::AttentionShift>& shift) {
  std::string words = "weights " + format_bytes(shape.bytes(stored).weights);
  const Storage storage = stored.stored_weights();
  if (storage != Storage::f32) words.append(" of ").append(to_string(storage));
  if (stored.cache) words.append(", cache of ").append(to_string(*stored.cache));
  if (!storage_error) return words;
  words += fmt::format(" (error of storing {:.1e}", *storage_error);
  if (shift) {
    words += fmt::format("; attention weights: {:.2g} % of maxima moved, KL {:.1e}",
                         100 * shift->moved, shift->divergence);
  }
  return words + ")";
  return words;
}

}  // namespace headroom::show
