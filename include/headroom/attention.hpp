/// @file
/// The layer itself: made once, then called as often as needed, with any number of tokens.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "headroom/backend.hpp"
#include "headroom/call_sizes.hpp"
#include "headroom/export.h"
#include "headroom/formulation.hpp"
#include "headroom/layer_config.hpp"
#include "headroom/mask_view.hpp"
#include "headroom/precision.hpp"
#include "headroom/storage.hpp"
#include "headroom/unit.hpp"
#include "headroom/view.hpp"
#include "headroom/weights.hpp"

namespace headroom {

/// The most threads that a layer may ask for: more than any machine has cores. Above it the
/// runtimes behind the backends fail in ways of their own.
inline constexpr int kMaxThreads = 4096;

/// Which heads of a larger layer a layer has: its first head, and the number of heads there.
struct HeadsOf {
  std::int64_t first = 0;
  std::int64_t all = 0;  ///< 0: it is a whole layer
};

/// Choices of who computes the layer, and how exactly. All but `precision`, `dtype`,
/// `weights_dtype`, `cache_dtype` and `heads_of` never change what is computed.
struct AttentionOptions {
  std::string backend = std::string(kAuto);  ///< a name from `backends()`, or `"auto"`
  /// Empty: `split`; with backend `"auto"` it is chosen as well.
  std::optional<Formulation> formulation = std::nullopt;
  /// 0: every core this process may use; else 1 to `kMaxThreads`. Ignored by single-threaded
  /// backends.
  int threads = 0;
  std::optional<Isa> isa = std::nullopt;    ///< force an instruction-set level; see `select_isa`
  std::optional<Unit> unit = std::nullopt;  ///< force a unit for parts; see `select_unit`
  /// Name of a variant of the backend's kernels, which differ in speed and in no bit of the result.
  /// Empty: what the tuning file says, or else the backend's own choice. `headroom tune` measures
  /// them.
  std::string kernels = {};
  /// Forces `Choice::few_rows`, 0 or more. Empty: what the tuning file says, or else what was
  /// measured on another machine. Ignored where parts are not multiplied by a unit.
  std::optional<std::int64_t> few_rows = std::nullopt;
  /// What products compute with. A backend may take a better one where that costs nothing; see
  /// `Choice::precision`. Empty: whatever is fastest here of those with the error limits of `f32`
  /// (`f32`, `bf16x6`, `fp16x3`), as the tuning file says, or else a rule; see `choose_backend`.
  std::optional<Precision> precision = Precision::f32;
  /// What x, y, weights and caches are stored as. Biases stay float32.
  Dtype dtype = Dtype::f32;
  /// What weights are stored as; empty: as `dtype`. Others are rounded to it once, when the layer
  /// is made. Those of latents are not stored in few bits.
  std::optional<Storage> weights_dtype = std::nullopt;
  /// What keys and values are stored as; empty: as `dtype`. A row has the same bits with a cache
  /// and without one, so keys and values are rounded in every call.
  ///
  /// `q8` (a causal layer without a second input and without latents): numbers `d q` of eight bits
  /// with an fp16 scale `d = max / 127`. A token's values of a head share one. Keys share one by
  /// channel over blocks of 64 tokens; a row sees those of its own block as they are, so the last
  /// block of a sequence stays in float32 until it is full. Where one of them is no number, or
  /// above 8.3e6, all that share its scale become no numbers. Such a cache can be cut only to a
  /// multiple of 64 tokens, or within its last block; see `KeyValueCache::truncate`. With
  /// `Precision::int8` its bytes are multiplied as they are.
  std::optional<Storage> cache_dtype = std::nullopt;
  /// For a layer of some heads of a larger one, so that dropout has the pattern that it has there.
  HeadsOf heads_of = {};
  /// The tuning file, as `headroom pick --emit json` (backends, for `"auto"`) and `headroom tune`
  /// (kernels, for every backend that has variants) write it. Empty: the file that the environment
  /// variable `HEADROOM_TUNING` names, if it is set and not empty.
  std::string tuning_file = {};
  /// Called during construction with the reason why a tuning file is not used. The library itself
  /// prints nothing.
  std::function<void(const std::string& warning)> on_warning = {};
};

/// Who computes a layer, and why.
struct Choice {
  enum class Source {
    caller,       ///< the options name the backend
    tuning_file,  ///< measured times of similar shapes
    rule,         ///< there is no tuning file, or it says nothing about this layer
  };
  std::string backend;
  Formulation formulation = Formulation::split;
  Source source = Source::caller;
  std::string reason;               ///< one line for people
  std::string warning;              ///< why a tuning file was not used; empty otherwise
  std::string kernels = {};         ///< variant of the kernels; empty if the backend has none
  std::string kernels_reason = {};  ///< one line for people; set once the layer exists
  /// What products compute with: as asked for, or more exactly, or chosen where none was asked for.
  /// In the last two cases `precision_reason` says why.
  Precision precision = Precision::f32;
  std::string precision_reason = {};
  Unit unit = Unit::none;  ///< who multiplies; `none` where that is f32 vectors
  /// Products of up to so many rows are bound by reading weights and take other kernels, which are
  /// at least as exact. So does attention of sequences of up to so many rows of queries, or of up
  /// to 16 if that is more (each token counts once for every query head of a key head). So the same
  /// token has the same bits among calls of few rows, and among calls of many. 0: there is no such
  /// border.
  std::int64_t few_rows = 0;
  std::string few_rows_reason = {};  ///< one line for people; set once the layer exists
};

/// `"caller"`, `"tuning file"` or `"rule"`.
HEADROOM_API std::string_view to_string(Choice::Source source);

/// What a layer with these options, made for calls up to `largest`, will run with. A backend that
/// the options name is only checked for what it can do. For `"auto"`:
///
/// 1. The tuning file, if there is one: the candidate that is fastest near the closest measured
///    shape. Distance counts doublings of tokens, widths and heads; see
///    `src/library/tuning/distance.hpp`. A file is not used if it is missing or broken, if it is
///    for another processor, version (up to the minor one) or instruction set, or if it has no
///    times for this number of threads or no shape within 4 doublings. `Choice::warning` then says
///    why.
/// 2. Otherwise a rule: of the backends that are linked into this program and take the shape, the
///    one that the project prefers; or a threaded one if more than one thread is allowed and the
///    layer has enough work (3 MFLOP for `tbb`). The formulation is `fused`.
///
/// Where the options name no precision, that is chosen as well, for a named backend too: from the
/// tuning file's times of all that has the error limits of `f32`; otherwise by a rule, which takes
/// parts where a unit of the processor multiplies them (`fp16x3` before `bf16x6`) and the largest
/// call has more rows than `Choice::few_rows`, and `f32` everywhere else. The emulated unit is
/// taken only if the file says so.
///
/// @throws InvalidArgument for invalid sizes or an invalid number of threads, a name that no
/// backend has,
///         a variant of kernels that the backend does not have, or `few_rows` below 0; Unavailable
///         for a named backend or an instruction set or a unit that is not here, and if no backend
///         of this program takes the shape; Unsupported if the named backend declines the shape,
///         the precision or the dtype.
HEADROOM_API Choice choose_backend(const LayerConfig& config, const CallSizes& largest,
                                   const AttentionOptions& options);

/// Wall-clock seconds of each part of one forward pass.
struct PhaseTimes {
  double qkv = 0;
  double attend = 0;
  double output = 0;
  double sum = 0;  ///< adding up the ranks' parts; see DistributedAttention
};

/// What it costs to make and keep a layer, and who does its work.
struct AttentionCosts {
  double setup_seconds = 0;          ///< packing and preparing, in the constructor
  std::int64_t packed_bytes = 0;     ///< the backend's own copy of the weights
  std::int64_t workspace_bytes = 0;  ///< everything else the layer holds between calls
  std::string project_provenance;    ///< such as `"brg:avx512_core"` or `"simd:avx512"`
  std::string attend_provenance;
  /// `wrapper`: the backend packs the small matrices of all heads as one and multiplies them
  /// together, so that the formulation costs what `split` costs.
  bool packs_heads_together = false;
};

class DotProductAttention;
class KeyValueCache;

/// What one call brings besides x and y. The default: `CallSizes::batch` sequences of equal length.
struct Call {
  /// Rows of each sequence, in order; 0 is allowed. Empty: the rows of x are divided evenly among
  /// the cache's sequences, or among `CallSizes::batch`.
  std::span<const std::int64_t> lengths = {};
  /// 0: the rows of a sequence follow those of the one before. Else sequence `i` begins at row
  /// `i * padded_tokens` of x and y, and rows after its length are neither read nor written.
  std::int64_t padded_tokens = 0;
  /// Those rows come before a sequence's own, which are the last of its `padded_tokens`. Positions
  /// count from its own first row.
  bool padded_before = false;
  /// Each sequence's keys and values are appended, and its rows see all that came before.
  KeyValueCache* cache = nullptr;
  /// Cross-attention: the second input, rows of `LayerConfig::d_memory`. With a cache it may be
  /// empty: then the rows of x see what earlier calls left there.
  ConstAnyMatrix memory = {};
  /// Rows of each sequence in `memory`. Empty: divided evenly.
  std::span<const std::int64_t> memory_lengths = {};
  /// Beside what the layer hides itself, and what it adds by position. A row that sees no key has a
  /// context of zeros; values behind a hidden key are multiplied by 0, so they must be finite. A
  /// mask of `seen` that hides nothing changes no bit; one of 0 and -inf is rounded otherwise.
  /// Sequences are those of the call and heads those of queries. Queries are the rows of a
  /// sequence, as many as the longest has, or `padded_tokens`. Keys are all of a sequence's, those
  /// of earlier calls first: as many as the longest has, where a padded one counts as full.
  /// With `padded_before` a sequence's keys are the last ones of the mask, as its rows are.
  MaskView mask = {};
  PhaseTimes* times = nullptr;  ///< receives the time of each part
  /// Places of padding that stand before the first token of each sequence, those of earlier calls
  /// included; 0 and above. `LayerConfig::temperature` counts them, as Llama 4 does, and nothing
  /// else. Empty: there are none.
  std::span<const std::int64_t> places_before = {};
  /// Of a layer with rotary positions: for each row of x, padding included, the position that its
  /// query and key are turned by, from 0 to 2^53. With `Rotary::sections` either that, or three
  /// times as many: all rows' times, then their heights, then their widths. Empty: a row's position
  /// is its place in its sequence. Whatever else goes by positions, such as masks, windows, biases
  /// and temperatures, goes by places always.
  std::span<const std::int64_t> positions = {};
  /// Of a layer with `Rotary::context`: how far the call reaches at least, in tokens. Otherwise it
  /// is the largest position of its rows plus 1, the longest sequence of a batch for all. The parts
  /// of a prompt that is given in chunks turn as in one call if each says the whole length here.
  std::int64_t context = 0;

  /// Of a padded call, the row of x and y where a sequence of so many rows begins.
  std::int64_t padded_row(std::int64_t sequence, std::int64_t length) const {
    return sequence * padded_tokens + (padded_before ? padded_tokens - length : 0);
  }
};

/// A multi-head attention layer with packed weights and its own workspace.
///
/// The weights are packed once, for any number of rows. The sizes that the layer is made for say
/// how much one call may bring at most: `batch * tokens` rows, `tokens` for each sequence (and
/// `memory_tokens` of a second input). For `naive`, `autovec`, `xsimd` and
/// `tbb` a row of y has the same bits however it is reached: in one call, in chunks or step by step
/// with a cache, alone or beside other sequences, by a layer made for more rows or just as many, on
/// any number of threads. (Dropout's pattern depends on the sequence's place in the call.) For
/// `onednn` it is the same within the numerical contract.
///
/// Different objects may run at the same time; one object runs one `forward` at a time.
class HEADROOM_API Attention {
 public:
  /// Packs the weights, which are read where they lie, and prepares the backend. They may be freed
  /// afterwards.
  /// @param largest the largest call; its memory is allocated here
  /// @throws InvalidArgument for invalid sizes, weights that do not fit them, or an unknown
  ///         backend; Unavailable for a backend or instruction set that is not here; Unsupported
  ///         if the backend declines the shape; ResourceError if the system refuses the threads;
  ///         std::bad_alloc if memory runs out.
  Attention(const LayerConfig& config, const CallSizes& largest, const WeightViews& weights,
            const AttentionOptions& options = {});
  ~Attention();
  Attention(Attention&&) noexcept;
  Attention& operator=(Attention&&) noexcept;

  /// Computes `y` from `x`. Allocates nothing (but the first call with positions: room for their
  /// angles, unless the layer has sections) and starts no thread, except for the libraries
  /// behind two backends: oneTBB (`tbb`) and oneDNN with OpenMP (`onednn`) allocate for their own
  /// bookkeeping. The constructor starts their threads, but OpenMP keeps separate threads per
  /// calling thread. So `onednn` starts new ones when another thread calls, or when operations of
  /// the layer use different numbers of threads. `onednn` also makes primitives for each new number
  /// of rows or keys, which takes milliseconds at the first call, and keeps a bounded number.
  ///
  /// x, memory and y are of floats; those of a layer with dtype bf16 are of either type, each for
  /// itself. It rounds floats to bf16 as it reads them, and y only if that is of bf16 (to nearest
  /// even).
  /// @param x `B * T` rows of `d_in` or fewer (a multiple of B; or as the call's lengths say),
  ///        values of a row side by side, any alignment.
  /// @param y as many rows of `output_width()`, likewise, not overlapping `x`.
  /// @throws InvalidArgument naming the view, before `y` is touched, if a pointer is null, a size
  ///         is beyond the layer's, a dtype is not the layer's, a stride is below the width or so
  ///         large that the rows would span more than 2^56 bytes, or the views overlap; if lengths
  ///         do not fit the views or the layer, or if the cache is of another layer, has another
  ///         number of sequences or too little room, or tokens that were turned by other divisors;
  ///         for positions of another number, below 0 or of a layer that turns nothing; if a mask
  ///         has other sizes, a NaN, or memory of `y`. Cache and `y` are as before then.
  void forward(const ConstAnyMatrix& x, const AnyMatrix& y, const Call& call = {});

  /// Puts the keys and values of x into the call's cache and computes no output: for tokens whose
  /// output nobody reads, such as all but the last of a prompt in the last layer of a model. Rows
  /// that come later have the same bits as after `forward`.
  /// @param x as in `forward`
  /// @throws InvalidArgument as `forward`, without a cache, and for a layer with `d_memory`, whose
  ///         `forward` takes an x of no rows.
  void append(const ConstAnyMatrix& x, const Call& call);

  const LayerConfig& config() const;
  const CallSizes& largest() const;
  /// The options as they took effect: backend, formulation, threads and instruction set filled in.
  const AttentionOptions& options() const;
  /// Why this backend and formulation.
  const Choice& choice() const;
  const AttentionCosts& costs() const;

 private:
  friend class KeyValueCache;
  class Plan;
  std::unique_ptr<Plan> plan_;
};

/// How much a cache holds.
struct CacheSize {
  std::int64_t sequences = 1;  ///< independent ones, at least 1
  std::int64_t capacity = 0;   ///< tokens of each, at least 1
};

/// Which of a sequence's tokens stay: the first `length`.
struct CacheCut {
  std::int64_t sequence = 0;
  std::int64_t length = 0;
};

/// Keys and values of the tokens that a layer has seen, for a fixed number of sequences, in the
/// layout that the layer's kernels read. Belongs to one layer, which must outlive it; or to one
/// `DotProductAttention`.
class HEADROOM_API KeyValueCache {
 public:
  /// @throws InvalidArgument for a number below 1, or sizes whose product does not fit in 63 bits;
  ///         std::bad_alloc if memory runs out.
  KeyValueCache(const Attention& layer, const CacheSize& size);
  KeyValueCache(const DotProductAttention& attention, const CacheSize& size);
  ~KeyValueCache();
  KeyValueCache(KeyValueCache&&) noexcept;
  KeyValueCache& operator=(KeyValueCache&&) noexcept;

  std::int64_t sequences() const;
  std::int64_t capacity() const;
  /// Tokens of a sequence. @throws InvalidArgument if there is no such sequence.
  std::int64_t length(std::int64_t sequence = 0) const;
  /// Forgets the tokens of a sequence from a length on. With `cache_dtype` q8 the keys of full
  /// blocks are rounded together, so a cut goes to a multiple of 64, or to within the last block,
  /// which is not full.
  /// @throws InvalidArgument if there is no such sequence, it is shorter, or such a cut goes into a
  ///         full block.
  void truncate(const CacheCut& to);
  /// Forgets all tokens of all sequences.
  void clear();
  /// Copies tokens of another cache of the same layer, whose number of sequences and capacity may
  /// be others: to give it more room, or to go on from one sequence in several ways.
  /// @param sequences for each sequence of this one, which of the other's it becomes
  /// @throws InvalidArgument, before anything is copied, if `from` is this cache or of another
  ///         layer, if there is no such sequence or not one for each, or if one is longer than the
  ///         capacity.
  void take(const KeyValueCache& from, std::span<const std::int64_t> sequences);
  /// Memory of the whole capacity, and of what a call needs to read it.
  std::int64_t bytes() const;

 private:
  friend class Attention;
  friend class DotProductAttention;
  struct State;
  std::unique_ptr<State> state_;
};

/// Makes a layer by the name of its backend, or `"auto"`. @throws as the constructor of
/// `Attention`.
HEADROOM_API Attention make_attention(std::string_view backend, const LayerConfig& config,
                                      const CallSizes& largest, const WeightViews& weights,
                                      AttentionOptions options = {});

}  // namespace headroom
