#include "backends/simd_backend.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/simd_core.hpp"
#include "processor/unit_facts.hpp"
#include "simd/attend.hpp"
#include "simd/kernel_table.hpp"
#include "simd/packed_matrix.hpp"
#include "simd/project.hpp"
#include "simd/tiles/tile_products.hpp"
#include "simd/tiles/tile_scratch.hpp"

namespace headroom::simd {
namespace {

/// What a layer's operations share.
struct Kernels {
  const KernelTable& f32;
  Dtype dtype;
  Storage cache;
  TileChoice tiles;
  const FewBitsKernels* bytes;        ///< for products of bytes; null without
  const RoundedKernels* cache_bytes;  ///< of the bytes of a cache; null without

  /// Who computes, such as "simd:avx512" or "simd:amx:bf16x6".
  std::string provenance(bool by_unit) const {
    if (!by_unit) return "simd:" + std::string(to_string(f32.isa));
    return fmt::format("simd:{}:{}", tiles.unit, to_string(tiles.precision));
  }
  /// The same of products.
  std::string provenance_of_products(bool by_unit) const {
    return bytes == nullptr ? provenance(by_unit) : of_bytes(bytes == f32.bytes_by_dots);
  }
  /// The same of attention.
  std::string provenance_of_attention(bool by_unit) const {
    return cache_bytes == nullptr ? provenance(by_unit)
                                  : of_bytes(cache_bytes == f32.cache_bytes_by_dots);
  }
  std::string of_bytes(bool by_dots) const {
    const std::string_view dots = f32.isa == Isa::neon ? "neon_dotprod" : "avx512_vnni";
    return fmt::format("simd:{}:int8", by_dots ? dots : to_string(f32.isa));
  }
};

class SimdProjection final : public Projection {
 public:
  SimdProjection(const Kernels& kernels, const ProjectVariant& variant, const Executor& executor,
                 const ProjectionSpec& spec)
      : executor_(&executor),
        rounds_input_(spec.rounds_input),
        products_(kernels.f32, packed(kernels, executor, spec), spec.rows, executor, variant,
                  kernels.bytes),
        costs_{products_.packed_bytes(), products_.workspace_bytes(),
               kernels.provenance_of_products(kernels.tiles.takes(spec.rows))} {
    if (!kernels.tiles.takes(spec.rows)) return;
    tiles_.emplace(kernels.tiles, kernels.f32, products_.weights(), spec.rows, executor);
    costs_.packed_bytes += tiles_->packed_bytes();
    costs_.workspace_bytes += tiles_->workspace_bytes();
  }

  using Projection::run;
  void run(const ConstAnyMatrix& x, std::span<const AnyBlockedView> y) override {
    if (tiles_ && tiles_->takes(x.rows)) {
      tiles_->run(*executor_, x, y, rounds_input_);
    } else {
      products_.run(*executor_, x, y, rounds_input_);
    }
  }
  OperationCosts costs() const override { return costs_; }

 private:
  static std::vector<PackedMatrix> packed(const Kernels& kernels, const Executor& executor,
                                          const ProjectionSpec& spec) {
    const Storage storage = spec.weights.value_or(storage_of(kernels.dtype));
    const GroupOrder order = kernels.bytes == nullptr ? GroupOrder::rows : GroupOrder::words;
    std::vector<PackedMatrix> matrices;
    for (const ProductSpec& product : spec.products) {
      matrices.emplace_back(product.weights, product.biases, kernels.f32, storage, executor, order);
    }
    return matrices;
  }

  const Executor* executor_;
  bool rounds_input_;
  BlockedProducts products_;
  std::optional<TileProducts> tiles_;
  OperationCosts costs_;
};

class SimdAttention final : public HeadAttention {
 public:
  SimdAttention(const Kernels& kernels, const ProjectVariant& variant, const Executor& executor,
                const Case& shape)
      : executor_(&executor),
        attention_(kernels.f32, kernels.tiles, kernels.cache, shape, executor,
                   {variant.prefetches, streams_into_l1(kernels.f32.isa)}, kernels.cache_bytes),
        costs_{0, attention_.workspace_bytes(),
               kernels.provenance_of_attention(attention_.by_tiles())} {}

  std::unique_ptr<KeyValueStore> make_store(std::int64_t sequences,
                                            std::int64_t capacity) override {
    return attention_.make_store(*executor_, sequences, capacity);
  }
  void run(const AttendCall& call) override {
    attention_.run(*executor_, call, static_cast<PackedStore*>(call.store));
  }
  OperationCosts costs() const override { return costs_; }

  bool takes_bf16() const override { return true; }

 private:
  const Executor* executor_;
  StreamingAttention attention_;
  OperationCosts costs_;
};

// A core is only looked at where nobody has said what suits it.
TileChoice tiles_of(const BackendConfig& config) {
  if (tile_unit(config.target, config.precision) == nullptr) return {};
  TileChoice tiles =
      choose_tiles(config.target, config.precision,
                   config.few_rows ? CoreFacts{} : core_facts(config.target.isa), config.weights);
  tiles.few_rows = config.few_rows.value_or(tiles.few_rows);
  return tiles;
}

// The same bits by either; one instruction multiplies four bytes where there is one.
template <class Kernels>
const Kernels* bytes_of(const Kernels* kernels, const Kernels* by_dots) {
  return by_dots != nullptr && unit_facts().byte_dots ? by_dots : kernels;
}

Kernels kernels_of(const BackendConfig& config) {
  const KernelTable& table = kernel_table(config.target.isa);
  Kernels kernels{table, config.dtype, config.cache, tiles_of(config), nullptr, nullptr};
  if (config.precision != Precision::int8) return kernels;
  kernels.bytes = bytes_of(table.bytes, table.bytes_by_dots);
  if (config.cache == Storage::q8) {
    kernels.cache_bytes = bytes_of(table.cache_bytes, table.cache_bytes_by_dots);
  }
  return kernels;
}

class SimdBackend final : public Backend {
 public:
  SimdBackend(const BackendConfig& config, std::unique_ptr<Executor> executor)
      : kernels_(kernels_of(config)), executor_(std::move(executor)) {
    if (kernels_.tiles.kernels != nullptr && !config.few_rows) {
      const std::string core = kernels_.tiles.measured_on;
      border_reason_ = core.empty() ? "reckoned" : "measured on " + core;
    }
    variant_ = find_project_variant(config.target.isa, config.kernels);
    if (variant_ != nullptr) return;
    const CoreFacts core = core_facts(config.target.isa);
    variant_ = &first_choice(config.target.isa, core);
    reason_ = to_text(core);
    if (streams_into_l1(config.target.isa))
      reason_ += "; steps prefetch keys and values into the L1";
  }

  HeadLayout head_layout() const override { return HeadLayout::head_major; }
  std::unique_ptr<Projection> make_projection(const ProjectionSpec& spec) override {
    return std::make_unique<SimdProjection>(kernels_, *variant_, *executor_, spec);
  }
  std::unique_ptr<HeadAttention> make_attention(const Case& shape) override {
    return std::make_unique<SimdAttention>(kernels_, *variant_, *executor_, shape);
  }
  KernelChoice kernels() const override {
    return {std::string(variant_->name), reason_, kernels_.tiles.few_rows, border_reason_};
  }

 private:
  Kernels kernels_;
  std::unique_ptr<Executor> executor_;
  const ProjectVariant* variant_ = nullptr;
  std::string reason_;         ///< empty if the caller named the variant
  std::string border_reason_;  ///< empty if the caller gave the border
};

}  // namespace

std::unique_ptr<Backend> make_simd_backend(const BackendConfig& config,
                                           std::unique_ptr<Executor> executor) {
  return std::make_unique<SimdBackend>(config, std::move(executor));
}

namespace {

Arithmetic of_products(const Numbers& numbers, const Target& target) {
  const Precision precision = numbers.precision;
  const Storage stored = numbers.stored_weights();
  const double panels = static_cast<double>(storage_bytes(stored, kGroup)) / kGroup;
  if (precision == Precision::int8) {
    if (is_few_bits(stored)) return {precision, "", Unit::none, panels};
    return {Precision::f32,
            fmt::format("int8 multiplies weights of q8 or q4, and these are {}", to_string(stored)),
            Unit::none,
            panels,
            0,
            fmt::format("int8 multiplies keys and values of q8, and these are {}",
                        to_string(numbers.stored_cache()))};
  }
  if (precision == Precision::f32) return {precision, "", Unit::none, panels};
  if (tile_precision(target, precision) != nullptr) {
    // Tiles are always faster by far.
    if (target.unit == Unit::avx512_bf16) {
      std::string reason = why_f32_is_no_slower(avx512_bf16_gain());
      if (!reason.empty()) return {Precision::f32, std::move(reason), Unit::none, panels};
    }
    const std::int64_t few_rows = choose_tiles(target, precision, {}, stored).few_rows;
    // Few bits are cut as they are used.
    if (is_few_bits(stored)) return {precision, "", target.unit, panels, few_rows};
    // Panels stay beside the parts, for calls of few rows.
    const double parts =
        static_cast<double>(right_part_count(precision, dtype_of(stored))) * sizeof(Half);
    return {precision, "", target.unit, panels + parts, few_rows};
  }
  if (precision == Precision::fp16x3 && target.unit == Unit::amx) {
    return {Precision::f32,
            "the tiles of this processor announce no products of fp16 (AMX-FP16); bf16x6 is as "
            "exact, and HEADROOM_AMX_FP16=1 takes them for present",
            Unit::none, panels};
  }
  return {
      Precision::f32,
      fmt::format(
          "{} has no unit for products of {}{}; f32 is more exact and no slower there",
          to_string(target.isa), to_string(precision),
          target.unit == Unit::none ? "" : fmt::format(" ({} has none)", to_string(target.unit))),
      Unit::none, panels};
}

}  // namespace

Arithmetic computes(const Numbers& numbers, const Target& target) {
  Arithmetic does = of_products(numbers, target);
  const bool rounds = numbers.stored_cache() == Storage::q8;
  does.attends_bytes = rounds && numbers.precision == Precision::int8;
  if (rounds && !does.attends_bytes && does.precision != Precision::f32) {
    does.why_attention_is_f32 = "keys and values of q8 are multiplied in f32";
  }
  return does;
}

std::vector<std::string> kernel_variants(Isa isa) {
  std::vector<std::string> names;
  for (const ProjectVariant& variant : project_variants(isa)) names.emplace_back(variant.name);
  return names;
}

double attend_bytes(const Case& shape) {
  const double keys = static_cast<double>(shape.d_memory > 0 ? shape.memory_rows() : shape.rows());
  return keys * static_cast<double>(shape.kv_width() + shape.value_width()) * sizeof(float);
}

}  // namespace headroom::simd
