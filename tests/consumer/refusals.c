/* refusals <backend>: what the C interface refuses, and programs made with another header. */
#include "problem.h"

static void check_refused_caches(headroom_layer* layer) {
  headroom_cache* cache = (headroom_cache*)&failures;
  int64_t found = 0;
  expect_refused(headroom_cache_create(layer, 0, 4, &cache), HEADROOM_INVALID_ARGUMENT,
                 "0 sequences");
  expect(cache == NULL, "a failed create gives no cache");
  expect_refused(headroom_cache_create(layer, 1, 0, &cache), HEADROOM_INVALID_ARGUMENT, "0 tokens");
  expect_refused(headroom_cache_create(NULL, 1, 4, &cache), HEADROOM_INVALID_ARGUMENT, "layer");
  expect_refused(headroom_cache_create(layer, 1, 4, NULL), HEADROOM_INVALID_ARGUMENT, "cache");
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* they end the program */
  expect_refused(headroom_cache_create(layer, 1, (int64_t)1 << 50, &cache), HEADROOM_OUT_OF_MEMORY,
                 "memory");
#endif
  expect_refused(headroom_cache_length(NULL, 0, &found), HEADROOM_INVALID_ARGUMENT, "cache");
  expect_refused(headroom_cache_truncate(NULL, 0, 0), HEADROOM_INVALID_ARGUMENT, "cache");
  expect(headroom_cache_create(layer, 2, 6, &cache) == HEADROOM_OK, "a cache");
  expect_refused(headroom_cache_length(cache, 2, &found), HEADROOM_INVALID_ARGUMENT, "sequence 2");
  expect_refused(headroom_cache_length(cache, 0, NULL), HEADROOM_INVALID_ARGUMENT, "length");
  expect_refused(headroom_cache_truncate(cache, -1, 0), HEADROOM_INVALID_ARGUMENT, "sequence -1");
  expect_refused(headroom_cache_truncate(cache, 1, 1), HEADROOM_INVALID_ARGUMENT, "cut to 1");
  headroom_cache_destroy(cache);
  headroom_cache_destroy(NULL);
  headroom_cache_clear(NULL);
  expect(headroom_cache_sequences(NULL) == 0 && headroom_cache_capacity(NULL) == 0 &&
             headroom_cache_bytes(NULL) == 0,
         "no cache has no sizes");
}

/* A call that is refused changes neither y nor the cache. */
static void check_refused_calls(const headroom_options* options) {
  static problem p;
  const int64_t lengths[2] = {3, 2};
  float y[TOKENS * D_PROJ] = {0};
  headroom_layer *layer, *twin;
  headroom_cache *cache = NULL, *of_twin = NULL;
  headroom_call call;
  make_rich(&p);
  layer = make(&p, options);
  twin = make(&p, options);
  if (layer == NULL || twin == NULL) return;
  check_refused_caches(layer);
  expect(headroom_cache_create(layer, 1, 6, &cache) == HEADROOM_OK, "a cache");
  expect(headroom_cache_create(twin, 1, 6, &of_twin) == HEADROOM_OK, "a twin's cache");
  headroom_default_call(&call);
#define REFUSED(layer, rows, named) \
  expect_refused(forward(layer, p.x, rows, y, &call), HEADROOM_INVALID_ARGUMENT, named)
  REFUSED(NULL, 1, "layer is NULL");
  REFUSED(layer, TOKENS + 1, "x is 25 x 12");
  REFUSED(layer, -1, "x has -1 rows");
  call.cache = of_twin;
  REFUSED(layer, 1, "another layer");
  call.cache = cache;
  REFUSED(layer, 7, "room for 6 more");
  call.lengths = lengths;
  call.length_count = 2;
  REFUSED(layer, 5, "2 lengths for a cache of 1");
  call.length_count = -1;
  REFUSED(layer, 5, "call.length_count is -1");
  call.length_count = 2;
  call.lengths = NULL;
  REFUSED(layer, 5, "call.lengths is NULL");
  call.length_count = 0;
  call.position_count = 5;
  REFUSED(layer, 5, "call.positions is NULL");
  call.positions = lengths;
  call.position_count = 2;
  REFUSED(layer, 5, "there are 2 positions for 5 rows");
  call.positions = NULL;
  call.position_count = 0;
  call.context = -1;
  REFUSED(layer, 5, "context is -1");
  headroom_default_call(&call);
  call.memory_lengths = lengths;
  call.memory_length_count = 1;
  REFUSED(layer, 5, "memory is given");
  call.memory_length_count = -2;
  REFUSED(layer, 5, "call.memory_length_count is -2");
  headroom_default_call(&call);
  call.padded_tokens = -1;
  REFUSED(layer, 5, "padded_tokens is -1");
  headroom_default_call(&call);
  call.places_before_count = 2;
  REFUSED(layer, 5, "call.places_before is NULL");
  call.places_before = lengths;
  REFUSED(layer, 5, "2 places_before for 1 sequences");
  expect_refused(append(layer, p.x, 5, NULL), HEADROOM_INVALID_ARGUMENT, "call");
  headroom_default_call(&call);
  expect_refused(append(layer, p.x, 5, &call), HEADROOM_INVALID_ARGUMENT, "cache");
  call.cache = cache;
  expect_refused(append(layer, p.x, 7, &call), HEADROOM_INVALID_ARGUMENT, "room for 6 more");
  expect_refused(append(NULL, p.x, 5, &call), HEADROOM_INVALID_ARGUMENT, "layer");
  call.size = 8;
  REFUSED(layer, 5, "headroom_forward: call.size is 8");
#undef REFUSED
  expect(y[0] == 0 && length(cache, 0) == 0, "nothing was done");
  headroom_cache_destroy(cache);
  headroom_cache_destroy(of_twin);
  headroom_destroy(layer);
  headroom_destroy(twin);
}

/* Programs that were compiled against a newer header. */
static void check_versions(const headroom_options* options) {
  static problem p;
  struct {
    headroom_call known;
    int64_t later;
  } newer;
  float y[TOKENS * D_PROJ];
  headroom_layer* layer = NULL;
  make_problem(&p);
  layer = check_whole(&p, options, "a plain layer");
  if (layer == NULL) return;
  memset(&newer, 1, sizeof newer);
  headroom_init_call(&newer.known, sizeof newer);
  expect(newer.known.size == sizeof newer && newer.later == 0, "all of a newer struct is set");
  expect(forward(layer, p.x, TOKENS, y, &newer.known) == HEADROOM_OK,
         "what is zero needs not be known");
  newer.later = 1;
  expect_refused(forward(layer, p.x, 1, y, &newer.known), HEADROOM_INVALID_ARGUMENT,
                 "call.size is");
  expect(forward(layer, p.x, TOKENS, y, NULL) == HEADROOM_OK, "NULL stands for the defaults");
  headroom_destroy(layer);
  layer = NULL;
  p.config.rotary_pairs = 3;
  expect_refused(headroom_create(&p.config, &p.largest, &p.weights, options, &layer),
                 HEADROOM_INVALID_ARGUMENT, "rotary_pairs is 3");
}

/* What models add to a layer. */
static void check_refused_fields(const headroom_options* options) {
  static problem p;
  headroom_layer* layer = NULL;
  headroom_options few_bits = *options;
  make_problem(&p);
  set_weights(&p);
  p.config.norm = -1;
  expect_refused(headroom_create(&p.config, &p.largest, &p.weights, options, &layer),
                 HEADROOM_INVALID_ARGUMENT,
                 "norm is -1; allowed are 0 (none), 1 (head) and 2 (width)");
  p.config.norm = HEADROOM_NORM_HEAD;
  expect_refused(headroom_create(&p.config, &p.largest, &p.weights, options, &layer),
                 HEADROOM_INVALID_ARGUMENT, "weights.query_norm is NULL");
  p.config.norm_weighted = 0;
  expect(headroom_create(&p.config, &p.largest, &p.weights, options, &layer) == HEADROOM_OK,
         "a norm without weights needs none");
  headroom_destroy(layer);
  p.config.position_bias = 3;
  expect_refused(headroom_create(&p.config, &p.largest, &p.weights, options, &layer),
                 HEADROOM_INVALID_ARGUMENT, "position_bias is 3");
  make_problem(&p);
  set_weights(&p);
  p.config.rotary_divisor_count = 2;
  expect_refused(headroom_create(&p.config, &p.largest, &p.weights, options, &layer),
                 HEADROOM_INVALID_ARGUMENT, "rotary_divisors is NULL");
  p.config.rotary_divisor_count = -1;
  expect_refused(headroom_create(&p.config, &p.largest, &p.weights, options, &layer),
                 HEADROOM_INVALID_ARGUMENT, "rotary_divisor_count is -1");
  p.config.rotary_divisor_count = 0;
  p.config.rotary_long_divisor_count = 2;
  expect_refused(headroom_create(&p.config, &p.largest, &p.weights, options, &layer),
                 HEADROOM_INVALID_ARGUMENT, "rotary_long_divisors is NULL");
  p.config.rotary_long_divisor_count = 0;
  p.config.rotary_pairs = HEADROOM_ROTARY_HALVES;
  p.config.rotary_sections[0] = 1;
  expect_refused(headroom_create(&p.config, &p.largest, &p.weights, options, &layer),
                 HEADROOM_INVALID_ARGUMENT, "rotary sections are 1, 0 and 0");
  make_problem(&p);
  set_weights(&p);
  p.weights.sinks = p.weights.query;
  expect_refused(headroom_create(&p.config, &p.largest, &p.weights, options, &layer),
                 HEADROOM_INVALID_ARGUMENT, "weights.sinks is given");
  p.weights.sinks = NULL;
  few_bits.weights_dtype = "q5";
  expect_refused(headroom_create(&p.config, &p.largest, &p.weights, &few_bits, &layer),
                 HEADROOM_INVALID_ARGUMENT, "unknown weights_dtype 'q5'");
  few_bits.weights_dtype = NULL;
  few_bits.cache_dtype = "q5";
  expect_refused(headroom_create(&p.config, &p.largest, &p.weights, &few_bits, &layer),
                 HEADROOM_INVALID_ARGUMENT, "unknown cache_dtype 'q5'");
}

int main(int count, char** arguments) {
  headroom_options options;
  headroom_default_options(&options);
  if (count != 2) {
    printf("usage: refusals <backend>\n");
    return 2;
  }
  options.backend = arguments[1];
  check_refused_calls(&options);
  check_versions(&options);
  check_refused_fields(&options);
  printf("%s: %d failures\n", options.backend, failures);
  return failures == 0 ? 0 : 1;
}
