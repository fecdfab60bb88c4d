#include "layer.hpp"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <string_view>

#include "arrays.hpp"
#include "headroom/error.hpp"

namespace headroom::python {
namespace {

template <class Value>
Value parsed(std::string_view option, const std::string& name, std::optional<Value> value,
             std::string_view allowed) {
  if (value) return *value;
  throw InvalidArgument(fmt::format("{} is '{}'; allowed are {}", option, name, allowed));
}

Attention made_without_interpreter(const LayerConfig& config, const CallSizes& largest,
                                   const WeightViews& weights, const NamedOptions& options,
                                   std::vector<std::string>& warnings) {
  nb::gil_scoped_release unlocked;
  return Attention(config, largest, weights, options_of(options, warnings));
}

// Rows as they lie in an array, and the lengths of their sequences. Two dimensions are one sequence
// or, with lengths, sequences without gaps; three are sequences of so many rows each.
class CallRows {
 public:
  /// @param even the sequences that a call without lengths has
  CallRows(const Rows& x, const PaddedLengths& padded, std::int64_t even) : before_(padded.second) {
    const Lengths& given = padded.first;
    if (before_ && !x.batched()) {
      throw InvalidArgument(
          "padding_side is 'left', and x has 2 dimensions, which have no padding; give it 3: "
          "(batch, tokens, d_in)");
    }
    if (given) {
      lengths_ = *given;
      if (!x.batched()) return;
      if (static_cast<std::int64_t>(lengths_.size()) != x.sequences()) {
        throw InvalidArgument(
            fmt::format("there are {} lengths for a batch of {}; give one for each",
                        lengths_.size(), x.sequences()));
      }
      padded_tokens_ = x.tokens();
    } else if (x.sequences() != even) {
      lengths_.assign(static_cast<std::size_t>(x.sequences()), x.tokens());
    }
  }

  void tell(Call& call) const {
    call.lengths = lengths_;
    call.padded_tokens = padded_tokens_;
    call.padded_before = before_ && padded_tokens_ > 0;
  }

  std::int64_t sequences(std::int64_t even) const {
    return lengths_.empty() ? even : static_cast<std::int64_t>(lengths_.size());
  }

 private:
  std::vector<std::int64_t> lengths_;
  std::int64_t padded_tokens_ = 0;
  bool before_;
};

std::vector<std::int64_t> memory_lengths_of(const Rows& memory, const Lengths& given,
                                            std::int64_t sequences) {
  if (given && memory.batched()) {
    throw InvalidArgument(
        "memory has 3 dimensions and memory_lengths are given; allowed is one of them; leave the "
        "padding out: (sum of memory_lengths, width)");
  }
  if (given) return *given;
  if (memory.sequences() != sequences) {
    throw InvalidArgument(
        fmt::format("memory has {} sequences, and x has {}; give as many, or memory_lengths",
                    memory.sequences(), sequences));
  }
  return std::vector<std::int64_t>(static_cast<std::size_t>(sequences), memory.tokens());
}

}  // namespace

AttentionOptions options_of(const NamedOptions& named, std::vector<std::string>& warnings) {
  AttentionOptions options;
  options.backend = named.backend;
  options.threads = named.threads;
  options.kernels = named.kernels;
  options.tuning_file = named.tuning_file;
  options.precision.reset();
  if (named.precision != "auto") {
    options.precision = parsed("precision", named.precision, parse_precision(named.precision),
                               "f32, bf16x9, bf16x6, fp16x3, bf16x3, bf16, int8 and auto");
  }
  options.dtype = parsed("dtype", named.dtype, parse_dtype(named.dtype), "f32 and bf16");
  if (named.cache_dtype) {
    options.cache_dtype = parsed("cache_dtype", *named.cache_dtype,
                                 parse_storage(*named.cache_dtype), "f32, bf16 and q8");
  }
  if (named.weights_dtype) {
    options.weights_dtype = parsed("weights_dtype", *named.weights_dtype,
                                   parse_storage(*named.weights_dtype), "f32, bf16, q8 and q4");
  }
  if (named.formulation) {
    options.formulation = parsed("formulation", *named.formulation,
                                 parse_formulation(*named.formulation), "wrapper, split and fused");
  }
  if (named.isa) {
    options.isa = parsed("isa", *named.isa, parse_isa(*named.isa), "sse4.2, avx2, avx512 and neon");
  }
  if (named.unit) {
    options.unit =
        parsed("unit", *named.unit, parse_unit(*named.unit), "none, avx512_bf16, amx and emulated");
  }
  options.on_warning = [&warnings](const std::string& warning) { warnings.push_back(warning); };
  return options;
}

Layer::Layer(const LayerConfig& config, const CallSizes& largest, const WeightViews& weights,
             const NamedOptions& options, std::vector<std::string>& warnings)
    : state_(std::make_shared<LayerState>(
          made_without_interpreter(config, largest, weights, options, warnings))) {}

void Layer::forward(nb::handle x, nb::handle out, const PaddedLengths& padded, Cache* cache,
                    nb::handle memory, const Lengths& memory_lengths, const Lengths& places_before,
                    const Positions& positions, std::int64_t context, nb::handle mask) {
  const Attention& attention = state_->attention;
  const Rows rows = Rows::read("x", x);
  const Rows result = Rows::write("out", out);
  result.require_like(rows, attention.config().output_width());
  const std::int64_t even = cache != nullptr ? cache->sequences() : attention.largest().batch;
  const CallRows call_rows(rows, padded, even);
  Call call;
  call_rows.tell(call);
  if (cache != nullptr) call.cache = cache->get();
  if (places_before) call.places_before = *places_before;
  if (positions) call.positions = *positions;
  call.context = context;

  std::optional<Rows> memory_rows;
  std::vector<std::int64_t> lengths_of_memory;
  if (!memory.is_none()) {
    memory_rows = Rows::read("memory", memory);
    lengths_of_memory = memory_lengths_of(*memory_rows, memory_lengths, call_rows.sequences(even));
    call.memory = memory_rows->view();
    call.memory_lengths = lengths_of_memory;
  }
  const ArrayMask of_mask(mask);
  call.mask = of_mask.view();
  const Turn turn(*state_);
  state_->attention.forward(rows.view(), result.view(), call);
}

void Layer::append(nb::handle x, const PaddedLengths& padded, Cache& cache,
                   const Positions& positions, std::int64_t context) {
  const Rows rows = Rows::read("x", x);
  Call call;
  const CallRows call_rows(rows, padded, cache.sequences());
  call_rows.tell(call);
  call.cache = cache.get();
  if (positions) call.positions = *positions;
  call.context = context;
  const Turn turn(*state_);
  state_->attention.append(rows.view(), call);
}

double Layer::seconds(nb::handle x, nb::handle out, std::int64_t calls) {
  const Rows rows = Rows::read("x", x);
  const Rows result = Rows::write("out", out);
  const Turn turn(*state_);
  // Of this thread, so that others on the same core do not count.
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  const double start = now();
  for (std::int64_t i = 0; i < calls; ++i) state_->attention.forward(rows.view(), result.view());
  return (now() - start) / static_cast<double>(std::max<std::int64_t>(calls, 1));
}

std::unique_ptr<Cache> Layer::make_cache(std::int64_t sequences, std::int64_t capacity) const {
  return std::make_unique<Cache>(state_, KeyValueCache(state_->attention, {sequences, capacity}));
}

}  // namespace headroom::python
