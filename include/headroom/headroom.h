/** @file
 * The library for C, and for every language that can call C.
 *
 * A layer computes `q, k, v = x W (+ b)`, norms and rotary positions of q and k, `softmax(q k^T *
 * scale) v` per head, heads merged, then an optional output projection.
 *
 * Every function that can fail returns a status; `headroom_error_text()` then says what was wrong.
 * Structs begin with their own size, so a program keeps working with a newer library whose structs
 * have grown: fields that the program does not know keep their defaults. Fields are only ever added
 * at the end. A library older than the program accepts fields that it does not know only if all
 * their bytes are zero.
 *
 * No C++ exception leaves the library. Backends are linked as for C++: see docs/link.md.
 */
#ifndef HEADROOM_HEADROOM_H
#define HEADROOM_HEADROOM_H

/* This is C, which the checks of C++ would have otherwise. NOLINTBEGIN */

#include <stddef.h>
#include <stdint.h>

#include "headroom/export.h"
#include "headroom/version.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The result of a call. */
typedef enum headroom_status {
  HEADROOM_OK = 0,
  HEADROOM_INVALID_ARGUMENT = 1, /**< an argument breaks its rule; nothing was done */
  HEADROOM_UNAVAILABLE = 2,      /**< the backend or instruction set is not here */
  HEADROOM_UNSUPPORTED = 3,      /**< the backend declines this shape */
  HEADROOM_OUT_OF_MEMORY = 4,
  HEADROOM_INTERNAL_ERROR = 5, /**< a library behind a backend failed */
  HEADROOM_NO_RESOURCE = 6,    /**< the system refuses threads, or a limit of memory is reached */
  HEADROOM_FILE_ERROR = 7      /**< a file is missing, or does not hold what it should */
} headroom_status;

/** Which two values of a head rotary positions turn as a pair. */
typedef enum headroom_rotary {
  HEADROOM_ROTARY_NONE = 0,       /**< queries and keys stay as they are */
  HEADROOM_ROTARY_NEIGHBOURS = 1, /**< `2 i` and `2 i + 1`, as in RoFormer and GPT-J */
  HEADROOM_ROTARY_HALVES = 2      /**< `i` and `i + head_dim / 2`, as in Llama for `transformers` */
} headroom_rotary;

/** Whose mean a root-mean-square norm of queries and keys takes. */
typedef enum headroom_norm {
  HEADROOM_NORM_NONE = 0, /**< there is no norm */
  HEADROOM_NORM_HEAD = 1, /**< each head's own, with one set of `head_dim` weights for all */
  HEADROOM_NORM_WIDTH = 2 /**< all heads' of a token, with a weight for each value */
} headroom_norm;

/** What is added to scaled scores by the distance of key and query, before the mask. */
typedef enum headroom_position_bias {
  HEADROOM_POSITION_BIAS_NONE = 0,
  HEADROOM_POSITION_BIAS_SLOPES = 1, /**< of each head, times the distance `key - query` (ALiBi) */
  HEADROOM_POSITION_BIAS_BUCKETS = 2 /**< a value for each head and bucket of distances (T5) */
} headroom_position_bias;

/** What is fixed when weights are packed. Begin with `headroom_default_layer_config`. */
typedef struct headroom_layer_config {
  size_t size;           /**< of this struct */
  int64_t d_in;          /**< width of the input; 0, must be set */
  int64_t d_out;         /**< width of all heads together, a multiple of `heads`; 0, must be set */
  int64_t heads;         /**< H; 1 */
  int64_t d_proj;        /**< width of the output projection, 0 for none; 0 */
  int32_t causal;        /**< not 0: row i attends to columns 0..i only; 1 */
  int32_t qkv_bias;      /**< not 0: query, key and value projections add a bias; 0 */
  double dropout;        /**< probability that an attention weight is dropped, in [0, 1); 0 */
  uint64_t dropout_seed; /**< 0 */
  int64_t kv_heads;      /**< heads of keys and values, a divisor of `heads`; 0: as many; 0 */
  int64_t window;        /**< the most keys that a row sees back, its own included; without
                            `causal` as many ahead; 0 for all; 0 */
  int32_t rotary_pairs;  /**< a `headroom_rotary`; HEADROOM_ROTARY_NONE */
  double rotary_base;    /**< a pair turns by `position * scale * base^(-2 i / width) /
                            divisors[i]`; 10000 */
  double rotary_scale;   /**< multiplies positions; 1 */
  int64_t d_memory;      /**< width of a second input for keys and values, 0 for none; 0 */
  int64_t rotary_width;  /**< values of a head that are turned, its first ones; 0 for all; 0 */
  const double* rotary_divisors; /**< one for each pair, above 0; read by `headroom_create` only;
                                    NULL for none; NULL */
  int64_t rotary_divisor_count;  /**< how many there are; 0 */
  double rotary_amplitude;       /**< of cosines and sines, above 0; 1 */
  int32_t norm;                  /**< a `headroom_norm`; HEADROOM_NORM_NONE */
  int32_t norm_weighted;         /**< not 0: it has weights, `query_norm` and `key_norm`; 1 */
  int32_t norm_after_rotary;     /**< not 0: turned queries and keys are normalised, of heads only;
                                    0 */
  double norm_epsilon;           /**< added to the mean of squares, above 0; 1e-6 */
  double scale;                  /**< of scores; 0: `1 / sqrt(head_dim)`; 0 */
  double softcap;                /**< scaled scores become `c tanh(s / c)`; 0: they stay; 0 */
  int32_t sinks;                 /**< not 0: each head has a logit without a value, `sinks`; 0 */
  int32_t gate;                  /**< not 0: heads are multiplied by `sigmoid(x W_g)`; 0 */
  int64_t chunk; /**< a causal row sees no key of another chunk of so many positions; 0 for none; 0
                  */
  double clip;   /**< queries, keys and values are clamped to +- this; 0: they are not; 0 */
  int32_t position_bias;          /**< a `headroom_position_bias`; its values are the weights'
                                     `position_bias`; HEADROOM_POSITION_BIAS_NONE */
  int64_t position_bias_buckets;  /**< how many; without `causal` half of them for keys ahead; 0 */
  int64_t position_bias_farthest; /**< distances from here on share the last bucket; 0 */
  double temperature_step;  /**< queries grow by `1 + scale ln(1 + floor((p + 1) / step))`; 0: they
                               do not; 0 */
  double temperature_scale; /**< see there; 0 */
  int64_t value_dim;   /**< width of a head's values, and of what it gives; 0: as its keys'; 0 */
  int64_t latent_rank; /**< width of the latent of keys and values; 0: they are made of the
                          input; 0 */
  int64_t latent_query_rank;  /**< width of that of queries; 0: they are made of x; 0 */
  int64_t latent_shared;      /**< the last values of a key, which all heads share; 0 */
  double latent_epsilon;      /**< of the norms of both latents, above 0; 1e-6 */
  int64_t rotary_sections[3]; /**< pairs that turn by a token's position in time, height and width,
                                 all pairs together; all 0: a token has one position; 0 */
  int32_t rotary_interleaved; /**< not 0: these sections take turns, pair by pair; 0 */
  int64_t rotary_context;     /**< tokens up to which base and divisors hold; 0: always; 0 */
  const double* rotary_long_divisors; /**< those of calls that reach further, as many as pairs; NULL
                                         for none; NULL */
  int64_t rotary_long_divisor_count;  /**< how many there are; 0 */
  double rotary_growth; /**< in calls to `n` tokens that reach further the base is times `(growth *
                           n / context - (growth - 1))^(width / (width - 2))`; 0: it stays; 0 */
} headroom_layer_config;

/** The largest call that a layer is made for. Begin with `headroom_default_call_sizes`. */
typedef struct headroom_call_sizes {
  size_t size;           /**< of this struct */
  int64_t batch;         /**< B, independent sequences; 1 */
  int64_t tokens;        /**< T, tokens of a sequence; 0 */
  int64_t past;          /**< tokens of a sequence that a cache holds before a call: nothing is kept
                            for them, "auto" chooses for such calls; 0 */
  int64_t memory_tokens; /**< tokens of a sequence of the second input; 0 */
} headroom_call_sizes;

/** What values are stored as. */
typedef enum headroom_dtype {
  HEADROOM_F32 = 0,  /**< float */
  HEADROOM_BF16 = 1, /**< the upper half of a float32, as a number of 16 bits */
  HEADROOM_F16 = 2   /**< IEEE half precision; of weights, which are read from all three */
} headroom_dtype;

/**
 * A matrix, where it lies in the caller's memory: value `(r, c)` is at `data + r * row_stride + c *
 * col_stride`. Strides count values, not bytes. Only what a function computes is written.
 */
typedef struct headroom_matrix {
  size_t size; /**< of this struct */
  void* data;  /**< value (0, 0) */
  int64_t rows, cols;
  int64_t row_stride, col_stride;
  int32_t dtype; /**< a `headroom_dtype` */
} headroom_matrix;

/** `rows x cols` floats without gaps. Set what differs, such as `row_stride` or `dtype`. */
static inline headroom_matrix headroom_rows(const void* data, int64_t rows, int64_t cols) {
  headroom_matrix view = {sizeof(headroom_matrix), (void*)data, rows, cols, cols, 1, HEADROOM_F32};
  return view;
}

/** A weight as PyTorch's `nn.Linear` stores it, a row for each output: `inputs x outputs`. */
static inline headroom_matrix headroom_linear(const void* weight, int64_t outputs, int64_t inputs,
                                              headroom_dtype dtype) {
  headroom_matrix view = {sizeof(headroom_matrix), (void*)weight, inputs, outputs, 1, inputs,
                          (int32_t)dtype};
  return view;
}

/**
 * Weights, read by `headroom_create` only, where they lie, each with a dtype and strides of its
 * own. A product is `y = x W + b`; `headroom_linear` shows what `nn.Linear` stores as that. Head
 * `h` owns columns `h * head_dim` to `(h + 1) * head_dim`. `key_input` is `d_memory`, or `d_in`
 * without a second input; `kv_width` is `kv_heads * head_dim`, or `d_out` without `kv_heads`. With
 * `value_dim`, that is the `head_dim` of values, of the gate and of rows of `output`. With a
 * latent, query, key and value are what stands behind it: `latent_query_rank` and `latent_rank`
 * rows, and a key head owns `head_dim - latent_shared` columns. A bias is a matrix of one row.
 */
typedef struct headroom_weights {
  size_t size;                        /**< of this struct: `sizeof(headroom_weights)` */
  const headroom_matrix* query;       /**< `d_in x d_out` */
  const headroom_matrix* key;         /**< `key_input x kv_width`, see above */
  const headroom_matrix* value;       /**< `key_input x kv_width` */
  const headroom_matrix* query_bias;  /**< `1 x d_out` with `qkv_bias`, else NULL; likewise the
                                         next two */
  const headroom_matrix* key_bias;    /**< `1 x kv_width`, or NULL */
  const headroom_matrix* value_bias;  /**< `1 x kv_width`, or NULL */
  const headroom_matrix* output;      /**< `d_out x d_proj`, or NULL without an output projection */
  const headroom_matrix* output_bias; /**< `1 x d_proj`, or NULL without an output projection */
  const headroom_matrix* query_norm;  /**< `1 x head_dim`, or `1 x d_out` of a norm over the width;
                                         NULL without a weighted norm; likewise the next */
  const headroom_matrix* key_norm;    /**< `1 x head_dim`, or `1 x kv_width` */
  const headroom_matrix* sinks;       /**< `1 x heads`, or NULL */
  const headroom_matrix* gate;        /**< `d_in x d_out`, or NULL */
  const headroom_matrix*
      position_bias;                 /**< slopes `1 x heads`, values `buckets x heads`, or NULL */
  const headroom_matrix* query_down; /**< `d_in x latent_query_rank`, or NULL */
  const headroom_matrix* query_down_norm; /**< `1 x latent_query_rank`, or NULL */
  const headroom_matrix* key_down;        /**< `d_in x (latent_rank + latent_shared)`, or NULL */
  const headroom_matrix* key_down_norm;   /**< `1 x latent_rank`, or NULL */
} headroom_weights;

/** Who computes the layer, and how exactly. Begin with `headroom_default_options`. */
typedef struct headroom_options {
  size_t size;             /**< of this struct */
  const char* backend;     /**< such as "xsimd", or "auto", the default */
  const char* formulation; /**< "wrapper", "split" or "fused"; NULL: "split", or chosen by "auto" */
  const char* isa;         /**< "sse4.2", "avx2", "avx512", "neon", or NULL: the best here */
  const char* tuning_file; /**< asked by "auto"; NULL: what HEADROOM_TUNING names, if anything */
  int32_t threads;         /**< 0, the default: every core this process may use */
  const char* precision;   /**< what products compute with: "f32", the default, "bf16x9", "bf16x6",
                              "fp16x3", "bf16x3", "bf16" or "int8"; or "auto": whatever is fastest
                              here of those with the error limits of "f32". "int8" is for
                              `weights_dtype` "q8" and "q4", and `cache_dtype` "q8": rows of x,
                              rounded in groups of 32 to 8 bits, times the bytes of weights;
                              queries, rounded likewise, times those of keys; attention weights,
                              rounded to 0 to 255, times those of values. Keys of a query's own
                              block of 64, softmax and sums of groups are float32 */
  const char* dtype;       /**< what x, y, weights and caches are stored as: "f32", the default, or
                              "bf16" */
  const char* unit;        /**< who multiplies parts: "none", "avx512_bf16", "amx", "emulated", or
                              NULL: the fastest here */
  const char* kernels; /**< a variant of the backend's kernels, which differ in speed alone; NULL:
                          its own choice, or that of a tuning file */
  const char* weights_dtype; /**< what weights are stored as: "f32", "bf16", or "q8" and "q4",
                                groups of 32 with a scale, as in GGUF's Q8_0 and Q4_0; NULL: as
                                `dtype` says */
  const char* cache_dtype; /**< what keys and values are stored as: "f32", "bf16" or "q8", of which
                              a token's values share a scale, and 64 keys of a channel; NULL: as
                              `dtype` says. See `AttentionOptions::cache_dtype` */
} headroom_options;

/** Which layer of a model's file. Begin with `headroom_default_load_options`. */
typedef struct headroom_load_options {
  size_t size;        /**< of this struct */
  const char* layer;  /**< the number in its tensors' names, such as "3", or the part of the names
                         that they share; NULL: the lowest number */
  int64_t heads;      /**< 0: as `config.json` in the same folder says */
  int64_t kv_heads;   /**< 0: what the widths give */
  int64_t head_dim;   /**< 0: what the widths give */
  int64_t max_bytes;  /**< of the weights in memory; 0: no limit */
  int32_t strict;     /**< not 0: NaN and infinity are errors, and not warnings; 0 */
  const char* family; /**< whose layers compute what this one does, such as "llama", where the
                         model's own family is not known; NULL: as `config.json` says */
} headroom_load_options;

/** A layer's weights as a model's files store them. */
typedef struct headroom_stored headroom_stored;

/** A layer made ready to run. */
typedef struct headroom_layer headroom_layer;

/** Keys and values of the tokens that a layer has seen, for a fixed number of sequences. */
typedef struct headroom_cache headroom_cache;

/**
 * What one call brings besides x and y. Begin with `headroom_default_call`: all is 0 or NULL, but
 * the sizes of a mask and its `mask_key_stride` are 1.
 *
 * A mask is as in `headroom_inputs`, beside what the layer hides itself. It has a value for each
 * sequence of the call, query head, row and key of a sequence, or one for all in a direction. There
 * are as many rows as the longest sequence has, or `padded_tokens`; and as many keys as the longest
 * sequence has, those of earlier calls first, where a padded one counts as full. With
 * `padded_before` the rows and keys of a sequence are the last ones of the mask.
 */
typedef struct headroom_call {
  size_t size;                   /**< of this struct */
  const int64_t* lengths;        /**< rows of each sequence, 0 allowed; NULL: divided evenly */
  int64_t length_count;          /**< the number of sequences, if lengths are given */
  int64_t padded_tokens;         /**< not 0: sequence `i` begins at row `i * padded_tokens` of x and
                                    y, and rows after its length are neither read nor written */
  headroom_cache* cache;         /**< new keys are appended, and rows see all that is in it */
  const headroom_matrix* memory; /**< the second input of a layer with `d_memory`, rows of all
                                    sequences together; with a cache it may be NULL: rows then see
                                    what earlier calls left there */
  const int64_t* memory_lengths; /**< its rows of each sequence; NULL: divided evenly */
  int64_t memory_length_count;   /**< the number of sequences, if they are given */
  int32_t padded_before;         /**< not 0: a sequence's rows are the last of its `padded_tokens`,
                                    and those before them are neither read nor written */
  const int64_t* places_before;  /**< padding before the first token of each sequence, which
                                    temperatures count; NULL: none */
  int64_t places_before_count;   /**< the number of sequences, if it is given */
  /** What queries and keys are turned by: one for each row of x, padding included, or with
   * `rotary_sections` also three: all rows' times, then their heights, then their widths. NULL:
   * places in the sequence. */
  const int64_t* positions;
  int64_t position_count; /**< how many there are */
  /** With `rotary_context`: how far the call reaches at least, in tokens, such as a prompt that is
   * given in chunks; 0: as far as its rows do. */
  int64_t context;
  const float* mask_added;         /**< added to scaled scores; -INFINITY hides a key; NULL */
  const uint16_t* mask_added_bf16; /**< the same of bfloat16; NULL */
  const uint8_t* mask_seen;        /**< 0 hides a key; at most one of the three; NULL */
  int64_t mask_batch, mask_heads, mask_queries, mask_keys; /**< see above; 1: the same for all; 1 */
  int64_t mask_batch_stride, mask_head_stride, mask_query_stride; /**< 0 */
  int64_t mask_key_stride;                                        /**< 1 */
} headroom_call;

/**
 * Called by the next six functions: writes size and defaults into a struct of `size` bytes, as
 * the caller knows it. For programs that load the library at run time. NULL is ignored.
 */
HEADROOM_API void headroom_init_layer_config(headroom_layer_config* config, size_t size);
HEADROOM_API void headroom_init_call_sizes(headroom_call_sizes* sizes, size_t size);
HEADROOM_API void headroom_init_weights(headroom_weights* weights, size_t size);
HEADROOM_API void headroom_init_options(headroom_options* options, size_t size);
HEADROOM_API void headroom_init_call(headroom_call* call, size_t size);
HEADROOM_API void headroom_init_load_options(headroom_load_options* options, size_t size);

/** Writes the size and the default that ends the comment on each field. */
static inline void headroom_default_layer_config(headroom_layer_config* config) {
  headroom_init_layer_config(config, sizeof(headroom_layer_config));
}

/** Likewise. */
static inline void headroom_default_call_sizes(headroom_call_sizes* sizes) {
  headroom_init_call_sizes(sizes, sizeof(headroom_call_sizes));
}

/** Writes the size, and NULL everywhere else. */
static inline void headroom_default_weights(headroom_weights* weights) {
  headroom_init_weights(weights, sizeof(headroom_weights));
}

/** Writes the size and the defaults. Zeros after the size mean the defaults, too. */
static inline void headroom_default_options(headroom_options* options) {
  headroom_init_options(options, sizeof(headroom_options));
}

/** Writes the size, 1 for the sizes of a mask and its stride of keys, and 0 or NULL elsewhere. */
static inline void headroom_default_call(headroom_call* call) {
  headroom_init_call(call, sizeof(headroom_call));
}

/** Writes the size, and 0 or NULL everywhere else. */
static inline void headroom_default_load_options(headroom_load_options* options) {
  headroom_init_load_options(options, sizeof(headroom_load_options));
}

/**
 * Reads the weights of one layer of a model: only the tensors that it needs, as they are stored. A
 * bias that the layout may leave out is zero then.
 *
 * @param path a safetensors file, a folder with one or with the index of several, a GGUF file, or a
 *        folder of `.npy` files, each named after its tensor.
 * @param options NULL for the defaults.
 * @param stored receives it, owned by the caller until `headroom_stored_destroy`; NULL on failure.
 */
HEADROOM_API headroom_status headroom_load(const char* path, const headroom_load_options* options,
                                           headroom_stored** stored);

/**
 * What was read, for `headroom_create`: the layer, and its weights, which point into `stored`.
 *
 * @param config, weights with their sizes set, as `headroom_default_layer_config` and
 *        `headroom_default_weights` do.
 */
HEADROOM_API headroom_status headroom_stored_layer(const headroom_stored* stored,
                                                   headroom_layer_config* config,
                                                   headroom_weights* weights);

/** What was assumed, and what is odd, such as NaN: a line each. Owned by `stored`; NULL for NULL.
 */
HEADROOM_API const char* headroom_stored_notes(const headroom_stored* stored);

/** Frees it; layers that were made of it go on without. NULL is ignored. */
HEADROOM_API void headroom_stored_destroy(headroom_stored* stored);

/**
 * Makes a layer: packs the weights, which may be freed afterwards, and allocates all workspace.
 *
 * @param config, weights must not be NULL.
 * @param largest the largest call; must not be NULL.
 * @param options NULL for the defaults.
 * @param layer receives the layer, owned by the caller until `headroom_destroy`; NULL on failure.
 */
HEADROOM_API headroom_status headroom_create(const headroom_layer_config* config,
                                             const headroom_call_sizes* largest,
                                             const headroom_weights* weights,
                                             const headroom_options* options,
                                             headroom_layer** layer);

/**
 * Computes `y` from `x`, for any number of rows up to the layer's. Allocates nothing, except for
 * the bookkeeping of oneTBB (`tbb`) and oneDNN (`onednn`). Different layers may run at the same
 * time; a single layer runs one call at a time.
 *
 * A row of y has the same bits however it is reached: in one call, in chunks or step by step with a
 * cache, alone or beside other sequences. With `onednn` it is the same within rounding.
 *
 * x, memory and y are of floats; those of a layer of dtype "bf16" are of either type, each for
 * itself. It rounds floats to bfloat16 as it reads them, and y only if that is of bfloat16.
 *
 * @param x `batch * tokens` rows of `d_in` values or fewer, the values of a row side by side.
 * @param y as many rows of `d_proj` values, or of `d_out` without an output projection; must not
 *        overlap `x`; not touched if HEADROOM_INVALID_ARGUMENT is returned.
 * @param call NULL for the defaults. If HEADROOM_INVALID_ARGUMENT is returned, its cache is as
 *        before.
 */
HEADROOM_API headroom_status headroom_forward(headroom_layer* layer, const headroom_matrix* x,
                                              const headroom_matrix* y, const headroom_call* call);

/**
 * Puts the keys and values of x into `call->cache` and computes no output: for tokens whose output
 * nobody reads. Rows that come later have the same bits as after `headroom_forward`.
 *
 * @param call not NULL, and with a cache. Not for a layer with `d_memory`.
 */
HEADROOM_API headroom_status headroom_append(headroom_layer* layer, const headroom_matrix* x,
                                             const headroom_call* call);

/**
 * Makes an empty cache, which only this layer can use.
 *
 * @param sequences independent ones, at least 1.
 * @param capacity tokens of each sequence, at least 1.
 * @param cache receives it, owned by the caller until `headroom_cache_destroy`, which comes before
 *        that of the layer; NULL on failure.
 */
HEADROOM_API headroom_status headroom_cache_create(const headroom_layer* layer, int64_t sequences,
                                                   int64_t capacity, headroom_cache** cache);

/** Writes the tokens of a sequence into `length`. */
HEADROOM_API headroom_status headroom_cache_length(const headroom_cache* cache, int64_t sequence,
                                                   int64_t* length);

/** Forgets the tokens of a sequence from `length` on, which must not be above what it has. */
HEADROOM_API headroom_status headroom_cache_truncate(headroom_cache* cache, int64_t sequence,
                                                     int64_t length);

/** Forgets all tokens of all sequences. NULL is ignored. */
HEADROOM_API void headroom_cache_clear(headroom_cache* cache);

/** What the cache was made with, and its memory in bytes. 0 for NULL. */
HEADROOM_API int64_t headroom_cache_sequences(const headroom_cache* cache);
HEADROOM_API int64_t headroom_cache_capacity(const headroom_cache* cache);
HEADROOM_API int64_t headroom_cache_bytes(const headroom_cache* cache);

/** Frees a cache. NULL is ignored. It must not be in use. */
HEADROOM_API void headroom_cache_destroy(headroom_cache* cache);

/**
 * Heads of sequences, where they lie in the caller's memory: value `c` of head `h` of token `t` of
 * sequence `b` is at `data + b * batch_stride + t * token_stride + h * head_stride + c`. Strides
 * count values, not bytes. Queries, keys and values are only read.
 */
typedef struct headroom_heads {
  size_t size;   /**< of this struct */
  void* data;    /**< value 0 */
  int64_t batch; /**< sequences */
  int64_t tokens;
  int64_t heads;
  int64_t head_dim;
  int64_t batch_stride, token_stride, head_stride;
  int32_t dtype; /**< a `headroom_dtype` */
} headroom_heads;

/** `(batch, tokens, heads, head_dim)` of floats without gaps, as products write it. */
static inline headroom_heads headroom_token_major(const void* data, int64_t batch, int64_t tokens,
                                                  int64_t heads, int64_t head_dim) {
  headroom_heads view = {
      sizeof(headroom_heads),    (void*)data,      batch,    tokens,      heads, head_dim,
      tokens * heads * head_dim, heads * head_dim, head_dim, HEADROOM_F32};
  return view;
}

/** `(batch, heads, tokens, head_dim)` of floats without gaps, as PyTorch has it. */
static inline headroom_heads headroom_head_major(const void* data, int64_t batch, int64_t heads,
                                                 int64_t tokens, int64_t head_dim) {
  headroom_heads view = {sizeof(headroom_heads),
                         (void*)data,
                         batch,
                         tokens,
                         heads,
                         head_dim,
                         heads * tokens * head_dim,
                         head_dim,
                         tokens * head_dim,
                         HEADROOM_F32};
  return view;
}

/** Which keys a query sees, and what becomes of its scores. Begin with `headroom_default_rule`. */
typedef struct headroom_rule {
  size_t size;    /**< of this struct */
  int32_t causal; /**< not 0: the last query of a sequence sees all of its keys, the one before it
                     all but the last, and so on; 0 */
  int64_t window; /**< the most keys that a causal query sees; 0 for all; 0 */
  double scale;   /**< of scores, above 0; 0 stands for `1 / sqrt(head_dim)`; 0 */
} headroom_rule;

/**
 * What a call brings besides its views. Begin with `headroom_default_inputs`.
 *
 * The value of a mask for sequence `b`, query head `h`, query `t` and key `j` is at `b *
 * mask_batch_stride + h * mask_head_stride + t * mask_query_stride + j * mask_key_stride`. The
 * output of a query that sees no key is 0. Values behind a hidden key must be finite.
 */
typedef struct headroom_inputs {
  size_t size;                  /**< of this struct */
  const int64_t* query_lengths; /**< tokens of each sequence that are there: rows after them are
                                   neither read nor written; NULL: all; NULL */
  int64_t query_length_count;   /**< the number of sequences, if lengths are given; 0 */
  const int64_t* key_lengths;   /**< the same of keys and values; NULL */
  int64_t key_length_count;     /**< 0 */
  const float* mask_added;      /**< added to scaled scores; -INFINITY hides a key; NULL */
  const uint8_t* mask_seen;     /**< 0 hides a key; at most one of the three; NULL */
  int64_t mask_batch, mask_heads, mask_queries, mask_keys; /**< as q and k have them, or 1: the same
                                                              for all; 1 */
  int64_t mask_batch_stride, mask_head_stride, mask_query_stride; /**< 0 */
  int64_t mask_key_stride;                                        /**< 1 */
  const uint16_t* mask_added_bf16; /**< as `mask_added`, of bfloat16; NULL */
  headroom_cache* cache; /**< of `headroom_dot_product_cache`: keys and values are appended,
                            and queries see all that it holds; k and v of no tokens are
                            allowed, and keys of a mask are as many as the longest
                            sequence has, or 1; NULL */
} headroom_inputs;

/** The sizes of the largest call, and heads and widths of all. Begin with
 * `headroom_default_sizes`. */
typedef struct headroom_sizes {
  size_t size;      /**< of this struct */
  int64_t batch;    /**< sequences; 1 */
  int64_t queries;  /**< tokens of q and of the output; 0, must be set */
  int64_t keys;     /**< tokens of k and v; 0, must be set */
  int64_t heads;    /**< of q; 1 */
  int64_t kv_heads; /**< of k and v, a divisor of `heads`; 0: as many; 0 */
  int64_t head_dim; /**< 0, must be set */
} headroom_sizes;

/** Attention without weights, made ready to run. */
typedef struct headroom_dot_product headroom_dot_product;

/** Called by the next three functions, as `headroom_init_layer_config` is. */
HEADROOM_API void headroom_init_rule(headroom_rule* rule, size_t size);
HEADROOM_API void headroom_init_inputs(headroom_inputs* inputs, size_t size);
HEADROOM_API void headroom_init_sizes(headroom_sizes* sizes, size_t size);

/** Writes the size and the default that ends the comment on each field. */
static inline void headroom_default_rule(headroom_rule* rule) {
  headroom_init_rule(rule, sizeof(headroom_rule));
}
/** Likewise. */
static inline void headroom_default_inputs(headroom_inputs* inputs) {
  headroom_init_inputs(inputs, sizeof(headroom_inputs));
}
/** Likewise. */
static inline void headroom_default_sizes(headroom_sizes* sizes) {
  headroom_init_sizes(sizes, sizeof(headroom_sizes));
}

/**
 * `out = softmax(scale q k^T + mask) v` for each head of each sequence: what PyTorch calls
 * `scaled_dot_product_attention`. All is made for this call and thrown away again; a program that
 * calls more than once keeps a `headroom_dot_product`.
 *
 * @param q, out `heads` of each token.
 * @param k, v `kv_heads` of each token, a divisor of `heads`.
 * @param out its memory must not reach into that of the others; not touched if
 *        HEADROOM_INVALID_ARGUMENT is returned.
 * @param rule, options, inputs NULL for the defaults. Of the options, `formulation` does not
 * matter. With dtype "bf16" floats of k and v are rounded to it as they are read.
 */
HEADROOM_API headroom_status headroom_attention(const headroom_heads* q, const headroom_heads* k,
                                                const headroom_heads* v, const headroom_heads* out,
                                                const headroom_rule* rule,
                                                const headroom_options* options,
                                                const headroom_inputs* inputs);

/**
 * The same, made once for calls up to some sizes.
 *
 * @param sizes must not be NULL.
 * @param made receives it, owned by the caller until `headroom_dot_product_destroy`; NULL on
 *        failure.
 */
HEADROOM_API headroom_status headroom_dot_product_create(const headroom_sizes* sizes,
                                                         const headroom_rule* rule,
                                                         const headroom_options* options,
                                                         headroom_dot_product** made);

/** A call. Allocates nothing, with the exceptions of `headroom_forward`; one at a time. */
HEADROOM_API headroom_status headroom_dot_product_run(
    headroom_dot_product* made, const headroom_heads* q, const headroom_heads* k,
    const headroom_heads* v, const headroom_heads* out, const headroom_inputs* inputs);

/**
 * Makes an empty cache for `headroom_dot_product_run`, which only this object can use.
 *
 * @param sequences, capacity, cache as of `headroom_cache_create`.
 */
HEADROOM_API headroom_status headroom_dot_product_cache(const headroom_dot_product* made,
                                                        int64_t sequences, int64_t capacity,
                                                        headroom_cache** cache);

/** The backend that computes it, and why, as of a layer. Owned by it; NULL for NULL. */
HEADROOM_API const char* headroom_dot_product_backend(const headroom_dot_product* made);
HEADROOM_API const char* headroom_dot_product_reason(const headroom_dot_product* made);

/** Frees it. NULL is ignored. It must not be in use. */
HEADROOM_API void headroom_dot_product_destroy(headroom_dot_product* made);

/** The backend that computes the layer, such as "tbb". Owned by the layer; NULL for NULL. */
HEADROOM_API const char* headroom_chosen_backend(const headroom_layer* layer);

/**
 * Why this backend, in one line; also why this precision, if it was chosen or is another than asked
 * for, and why a tuning file was not used, if so. Likewise.
 */
HEADROOM_API const char* headroom_choice_reason(const headroom_layer* layer);

/**
 * What the layer's products compute with, such as "bf16x6": as `precision` of the options, or more
 * exactly where that is no slower here, or what "auto" chose. Likewise.
 */
HEADROOM_API const char* headroom_chosen_precision(const headroom_layer* layer);

/** Frees a layer. NULL is ignored. The layer must not be in use. */
HEADROOM_API void headroom_destroy(headroom_layer* layer);

/**
 * The error of this thread's last failed call: what, where, what was found and what is allowed, in
 * UTF-8, cut at a whole character if it is very long. Empty if no call has failed. Owned by the
 * library, valid until the next call of this thread that fails.
 */
HEADROOM_API const char* headroom_error_text(void);

/** Such as "HEADROOM_UNAVAILABLE"; "unknown status" for any other value. Never freed. */
HEADROOM_API const char* headroom_status_name(headroom_status status);

/** The version of the loaded library, in the form of HEADROOM_VERSION. Never freed. */
HEADROOM_API const char* headroom_version(void);

#ifdef __cplusplus
}
#endif

/* NOLINTEND */

#endif
