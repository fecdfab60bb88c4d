// A layer as Python calls it: the interpreter unlocked, one call at a time.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cache.hpp"
#include "headroom/attention.hpp"

namespace headroom::python {

namespace nb = nanobind;

using Lengths = std::optional<std::vector<std::int64_t>>;
/// Lengths of sequences, and whether padding stands before them.
using PaddedLengths = std::pair<Lengths, bool>;

/// What rows are turned by.
using Positions = std::optional<std::vector<std::int64_t>>;

/// Options by their names, as Python gives them.
struct NamedOptions {
  std::string backend;
  std::optional<std::string> formulation;
  int threads = 0;
  std::optional<std::string> isa;
  std::optional<std::string> unit;
  std::string kernels;
  std::string precision;
  std::string dtype;
  std::optional<std::string> weights_dtype;
  std::optional<std::string> cache_dtype;
  std::string tuning_file;
};

/// @param warnings receives why a tuning file is not used; must outlive the options
/// @throws InvalidArgument for a name that no option has
AttentionOptions options_of(const NamedOptions& named, std::vector<std::string>& warnings);

struct LayerState : Owner {
  explicit LayerState(Attention&& made) : attention(std::move(made)) {}

  Attention attention;
};

class Layer {
 public:
  /// @param warnings receives why a tuning file is not used
  Layer(const LayerConfig& config, const CallSizes& largest, const WeightViews& weights,
        const NamedOptions& options, std::vector<std::string>& warnings);

  /// Computes `out` from `x`. @throws as `Attention::forward`, and as `Rows`.
  void forward(nb::handle x, nb::handle out, const PaddedLengths& padded, Cache* cache,
               nb::handle memory, const Lengths& memory_lengths, const Lengths& places_before,
               const Positions& positions, std::int64_t context, nb::handle mask);
  /// Appends x (a layer with a second input: `memory`) to the cache.
  void append(nb::handle x, const PaddedLengths& padded, Cache& cache, const Positions& positions,
              std::int64_t context);
  /// Processor time of a call of the C++ interface with these arrays, the mean of so many: what one
  /// from Python is held against.
  double seconds(nb::handle x, nb::handle out, std::int64_t calls);
  std::unique_ptr<Cache> make_cache(std::int64_t sequences, std::int64_t capacity) const;

  const Attention& attention() const { return state_->attention; }

 private:
  std::shared_ptr<LayerState> state_;
};

}  // namespace headroom::python
