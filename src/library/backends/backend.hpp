// The contract of every backend: it prepares the two operations of a layer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/call/attend_call.hpp"
#include "core/case.hpp"
#include "core/element/layer_numbers.hpp"
#include "core/head_view.hpp"
#include "headroom/backend.hpp"
#include "headroom/export.h"
#include "headroom/precision.hpp"
#include "headroom/unit.hpp"
#include "headroom/view.hpp"

namespace headroom {

/// What an operation keeps, and who computes it.
struct OperationCosts {
  std::int64_t packed_bytes = 0;
  std::int64_t workspace_bytes = 0;
  std::string provenance;
};

/// One or more products `Y = X W (+ b)` of the same X, with weights packed once.
class Projection {
 public:
  virtual ~Projection() = default;
  /// @param x tokens of the width given at set-up, at most as many, the values of each side by
  ///        side; @param y one per product, with as many rows. No overlap. Of both the dtype is f32
  ///        or that of the backend. A row's bits do not depend on the others.
  virtual void run(const ConstAnyMatrix& x, std::span<const AnyBlockedView> y) = 0;
  void run(const ConstAnyMatrix& x, const AnyBlockedView& y) { run(x, std::span(&y, 1)); }
  virtual OperationCosts costs() const = 0;
};

/// One product. The matrices stand side by side: columns of `Y` are those of the first matrix, then
/// of the second, and so on. Views are read during set-up only.
struct ProductSpec {
  std::vector<ConstAnyMatrix> weights;  ///< each `d_in x width`
  std::vector<ConstAnyMatrix> biases;   ///< one row per matrix, or empty for no bias
  std::int64_t block_cols = 0;          ///< block width of the destination
  /// Each matrix is one head's and fills one block: `wrapper`'s separate small products. A backend
  /// issues them one by one, or its facts say `packs_heads_together`.
  bool per_head = false;
};

/// What a projection is made from. A backend may prepare the input once for all products.
struct ProjectionSpec {
  std::int64_t rows = 0;              ///< the most rows of x
  std::vector<ProductSpec> products;  ///< at least one, all of the same depth
  bool rounds_input = false;          ///< floats of x count as the bf16 numbers nearest to them
  std::optional<Storage> weights = std::nullopt;  ///< what they are rounded to; empty: the dtype
};

/// Softmax attention for all heads of all sequences. It also appends to the store, because a head's
/// new keys are best written by the thread that reads them next.
class HeadAttention {
 public:
  virtual ~HeadAttention() = default;
  /// Room for the keys and values of earlier calls.
  virtual std::unique_ptr<KeyValueStore> make_store(std::int64_t sequences,
                                                    std::int64_t capacity) = 0;
  /// @param call at most as many rows, and rows of a sequence, as the shape has; its store is one
  ///        of this object, with room for the new keys.
  virtual void run(const AttendCall& call) = 0;
  virtual OperationCosts costs() const = 0;
  /// Whether views of a call may be of Bf16, each for itself.
  virtual bool takes_bf16() const { return false; }
};

/// Which variant of its kernels a backend runs, and why. Variants differ in speed alone.
struct KernelChoice {
  std::string name;  ///< empty: it has no variants
  std::string reason;
  std::int64_t few_rows = 0;  ///< as `Choice::few_rows`
  std::string few_rows_reason = {};
};

/// A backend made ready for one thread count, level and unit.
class Backend {
 public:
  virtual ~Backend() = default;

  /// The layout of query, key and value that suits this backend best.
  virtual HeadLayout head_layout() const = 0;

  virtual std::unique_ptr<Projection> make_projection(const ProjectionSpec& spec) = 0;
  /// @param shape the layer, and the largest call
  virtual std::unique_ptr<HeadAttention> make_attention(const Case& shape) = 0;
  virtual KernelChoice kernels() const { return {}; }
};

/// What a backend is given when it is made.
struct BackendConfig {
  int threads = 1;
  Target target = {};
  std::string kernels = {};  ///< one of `BackendFacts::kernel_variants`; empty: its own choice
  Precision precision = Precision::f32;  ///< one that it computes, see `BackendFacts::computes`
  Dtype dtype = Dtype::f32;
  std::optional<std::int64_t> few_rows = std::nullopt;  ///< empty: its own choice
  Storage weights = Storage::f32;                       ///< of products
  Storage cache = Storage::f32;                         ///< of keys and values
};

/// What a backend makes of numbers on a target.
struct Arithmetic {
  /// As asked for, or at least as exact where the one asked for would only be slower. Empty: the
  /// backend cannot do it.
  std::optional<Precision> precision = std::nullopt;
  std::string reason = {};  ///< why it is another, or none
  /// Who multiplies. The unit of the target does only what it can, and nothing of f32.
  Unit unit = Unit::none;
  /// Bytes that a packed weight takes, in all forms that are kept of it.
  double weight_bytes = sizeof(float);
  /// Of a unit: up to so many rows it is no faster than f32, on the machine where that was found.
  std::int64_t few_rows = 0;
  /// Why attention is computed in f32 all the same; empty unless it is.
  std::string why_attention_is_f32 = {};
  /// The bytes of a cache are multiplied as they are, where `int8` was asked for.
  bool attends_bytes = false;

  /// What is left of it where there are no products.
  Arithmetic of_attention() const {
    if (attends_bytes) return {Precision::int8, "", Unit::none, weight_bytes};
    if (why_attention_is_f32.empty()) return *this;
    return {
        .precision = Precision::f32, .reason = why_attention_is_f32, .weight_bytes = weight_bytes};
  }
};

/// What the rest of the program assumes before a backend has been measured. Rates are round figures
/// of one core of a server processor with 256-bit vectors or wider; a factor of two is fine,
/// because the first cells of a sweep correct them. The defaults are those of plain loops.
struct BackendFacts {
  double gflops = 1.5;         ///< of wide products on one thread
  double narrow_share = 1;     ///< share of that rate for products as narrow as one head
  double call_seconds = 1e-6;  ///< overhead of one projection
  /// Bytes that `attend` needs besides query, key, value and context; null for none.
  double (*attend_bytes)(const Case& shape) = nullptr;

  /// Where nothing was measured, the usable backend with the smallest value is chosen.
  int preference = 100;
  /// From this many FLOPs per layer on, this backend on several threads comes before all others;
  /// empty if it never does.
  std::optional<double> threads_pay_from = std::nullopt;
  /// It packs the matrices of `ProductSpec::per_head` as one, so that its `wrapper` does what its
  /// `split` does.
  bool packs_heads_together = false;
  /// Names of the variants of its kernels on a level; null if it has none.
  std::vector<std::string> (*kernel_variants)(Isa isa) = nullptr;
  /// What it computes; null: f32 stored as f32, and nothing else.
  Arithmetic (*computes)(const Numbers& numbers, const Target& target) = nullptr;
  /// Its level is fixed at first use, so one process cannot try several.
  bool one_isa_per_process = false;

  /// Nobody would link it: it is there for others to be compared with.
  bool only_compared = false;

  // What linking it costs. Packages are Debian's.
  std::string library = {};                      ///< prefix of its shared library's name, if any
  std::vector<std::string> build_packages = {};  ///< needed to build
  std::vector<std::string> packages = {};        ///< of Debian 12, needed to run
};

/// The contract that a backend was compiled for; every change of this header increments it.
inline constexpr int kBackendInterface = 18;

/// A backend's row in the registry: what it is, whether it can run, and how to make it.
struct BackendEntry {
  BackendInfo (*describe)();
  const BackendFacts& (*facts)();
  /// Why the backend declines a shape, or nothing.
  std::optional<std::string> (*declines)(const Case& shape);
  std::unique_ptr<Backend> (*make)(const BackendConfig& config);
};

/// Makes a backend known to the program. Called once per backend, while it is loaded. One that
/// the project does not know is listed after those that it does; one with another interface version
/// is listed as not available.
/// @param interface the `kBackendInterface` that it was compiled with
HEADROOM_API void register_backend(const char* name, int interface,
                                   const BackendEntry& entry) noexcept;

/// Defines a backend's entry, and registers it before the program's own global objects are made.
/// A program names the symbol with C linkage to make the linker take it from an archive.
#define HEADROOM_DEFINE_BACKEND(name)                                                        \
  extern "C" HEADROOM_API const headroom::BackendEntry headroom_backend_##name;              \
  [[gnu::constructor(101)]] static void register_backend_##name() {                          \
    headroom::register_backend(#name, headroom::kBackendInterface, headroom_backend_##name); \
  }                                                                                          \
  constinit const headroom::BackendEntry headroom_backend_##name

/// Looks a backend up for use.
/// @throws as `find_backend`.
HEADROOM_API const BackendEntry& backend_entry(std::string_view name);

/// The facts of a backend; the defaults for one that is not part of this program.
HEADROOM_API const BackendFacts& backend_facts(std::string_view name) noexcept;

/// What a backend makes of numbers on a target.
HEADROOM_API Arithmetic arithmetic_of(std::string_view backend, const Numbers& numbers,
                                      const Target& target);

/// The baseline of speed-ups: loops that follow the definition.
HEADROOM_API std::string_view baseline_backend() noexcept;

}  // namespace headroom
