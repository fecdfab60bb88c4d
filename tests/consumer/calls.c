/* calls <backend>: calls of any number of tokens through the C interface, against loops in double,
   and against each other. */
#include "problem.h"

static void check_fields(const headroom_options* options) {
  static problem p;
  make_problem(&p);
  headroom_destroy(check_whole(&p, options, "a plain layer"));
  p.config.kv_heads = 2;
  headroom_destroy(check_whole(&p, options, "kv_heads"));
  p.config.window = 5;
  headroom_destroy(check_whole(&p, options, "window"));
  p.config.rotary_pairs = HEADROOM_ROTARY_NEIGHBOURS;
  headroom_destroy(check_whole(&p, options, "rotary positions of neighbours"));
  p.config.rotary_pairs = HEADROOM_ROTARY_HALVES;
  p.config.rotary_base = 500;
  headroom_destroy(check_whole(&p, options, "rotary_base"));
  p.config.rotary_scale = 0.25;
  headroom_destroy(check_whole(&p, options, "rotary_scale"));
  make_problem(&p);
  p.config.causal = 0;
  p.config.d_memory = D_MEMORY;
  p.largest.memory_tokens = MEMORY_TOKENS;
  headroom_destroy(check_whole(&p, options, "d_memory and memory_tokens"));
}

/* Appends the rows from `first` to below `end`, `chunk` at a time. */
static void run_chunks(headroom_layer* layer, headroom_cache* cache, const problem* p, float* y,
                       int64_t first, int64_t end, int64_t chunk) {
  headroom_call call;
  headroom_default_call(&call);
  call.cache = cache;
  for (; first < end; first += chunk) {
    const int64_t rows = end - first < chunk ? end - first : chunk;
    expect(forward(layer, p->x + first * D_IN, rows, y + first * D_PROJ, &call) == HEADROOM_OK,
           "a chunk");
  }
}

static void check_caches(const headroom_options* options) {
  static problem p;
  float y[TOKENS * D_PROJ];
  headroom_layer* layer;
  headroom_cache* cache = NULL;
  headroom_call call;
  make_rich(&p);
  layer = check_whole(&p, options, "a layer with everything");
  if (layer == NULL) return;
  expect(headroom_cache_create(layer, 1, TOKENS, &cache) == HEADROOM_OK, "a cache");
  expect(headroom_cache_sequences(cache) == 1 && headroom_cache_capacity(cache) == TOKENS, "sizes");
  expect(headroom_cache_bytes(cache) >= (int64_t)sizeof(float) * TOKENS * 2 * HEAD_DIM, "bytes");
  run_chunks(layer, cache, &p, y, 0, 17, 5);
  run_chunks(layer, cache, &p, y, 17, TOKENS, 1);
  expect(length(cache, 0) == TOKENS, "the cache is full");
  expect(equal(layer, y, p.y), "chunks and steps equal one pass");

  expect(headroom_cache_truncate(cache, 0, 7) == HEADROOM_OK, "truncate");
  expect(length(cache, 0) == 7, "the rest is forgotten");
  memset(y + 7 * D_PROJ, 0, sizeof y - 7 * D_PROJ * sizeof *y);
  run_chunks(layer, cache, &p, y, 7, TOKENS, 4);
  expect(equal(layer, y, p.y), "what was cut off comes again");

  headroom_cache_clear(cache);
  expect(length(cache, 0) == 0, "clear forgets all");
  memset(y, 0, sizeof y);
  run_chunks(layer, cache, &p, y, 0, TOKENS, TOKENS);
  expect(equal(layer, y, p.y), "a cleared cache is a new one");

  headroom_cache_clear(cache);
  headroom_default_call(&call);
  call.cache = cache;
  memset(y, 0, sizeof y);
  run_chunks(layer, cache, &p, y, 0, 9, 9);
  expect(append(layer, p.x + 9 * D_IN, TOKENS - 13, &call) == HEADROOM_OK, "append");
  expect(length(cache, 0) == TOKENS - 4, "what was appended counts");
  memcpy(y + 9 * D_PROJ, p.y + 9 * D_PROJ, (TOKENS - 13) * D_PROJ * sizeof *y);
  run_chunks(layer, cache, &p, y, TOKENS - 4, TOKENS, 1);
  expect(equal(layer, y, p.y), "rows after it see what was appended");
  headroom_cache_destroy(cache);
  headroom_destroy(layer);
}

static int untouched_rows(const float* y) {
  unsigned char untouched[D_PROJ * sizeof(float)];
  int count = 0;
  int r;
  memset(untouched, 0x7E, sizeof untouched);
  for (r = 0; r < 3 * TOKENS; ++r) {
    count += memcmp(y + r * D_PROJ, untouched, sizeof untouched) == 0;
  }
  return count;
}

/* The first rows of one sequence, as several sequences of these lengths. */
static void check_lengths(const headroom_options* options) {
  static problem p;
  static float x[3 * TOKENS * D_IN];
  const int64_t lengths[3] = {9, 0, 13};
  const int64_t starts[3][3] = {
      {0, 9, 9}, {0, TOKENS, 2 * TOKENS}, {TOKENS - 9, 2 * TOKENS, 3 * TOKENS - 13}};
  headroom_layer* layer;
  int padded, s;
  make_rich(&p);
  headroom_destroy(check_whole(&p, options, "a layer with everything"));
  p.largest.batch = 3;
  layer = make(&p, options);
  if (layer == NULL) return;
  for (padded = 0; padded < 3; ++padded) {
    float y[3 * TOKENS * D_PROJ], found[TOKENS * D_PROJ];
    headroom_call call;
    headroom_default_call(&call);
    call.lengths = lengths;
    call.length_count = 3;
    call.padded_tokens = padded ? TOKENS : 0;
    call.padded_before = padded == 2;
    memset(y, 0x7E, sizeof y);
    for (s = 0; s < 3; ++s) {
      memcpy(x + starts[padded][s] * D_IN, p.x, (size_t)lengths[s] * D_IN * sizeof *x);
    }
    expect(forward(layer, x, padded ? 3 * TOKENS : 22, y, &call) == HEADROOM_OK,
           "sequences of different lengths");
    for (s = 0; s < 3; ++s) {
      const size_t count = (size_t)lengths[s] * D_PROJ;
      memcpy(found, p.y, sizeof found);
      memcpy(found, y + starts[padded][s] * D_PROJ, count * sizeof *y);
      expect(equal(layer, found, p.y), "a sequence of a batch is the sequence alone");
    }
    expect(untouched_rows(y) == 3 * TOKENS - 22, "rows of no sequence stay as they were");
  }
  headroom_destroy(layer);
}

/* A temperature counts the places of padding: here one step of them or none. */
static void check_places(const headroom_options* options) {
  static problem p;
  const int64_t steps[2] = {999, 1500};
  float y[2][TOKENS * D_PROJ];
  headroom_layer* layer;
  headroom_call call;
  int i;
  make_problem(&p);
  p.config.temperature_step = 1000;
  p.config.temperature_scale = 0.5;
  layer = check_whole(&p, options, "a temperature of the first step");
  if (layer == NULL) return;
  headroom_default_call(&call);
  call.places_before_count = 1;
  for (i = 0; i < 2; ++i) {
    call.places_before = &steps[i];
    expect(forward(layer, p.x, TOKENS, y[i], &call) == HEADROOM_OK, "padding before a sequence");
  }
  expect(!equal(layer, y[0], p.y), "the second step is another");
  expect(equal(layer, y[0], y[1]), "a step is the same everywhere");
  headroom_destroy(layer);
}

/* Whether the call gives, to the bit, what the problem has. */
static void check_turned(headroom_layer* layer, const problem* p, const headroom_call* call,
                         int same, const char* what) {
  float y[TOKENS * D_PROJ];
  expect(forward(layer, p->x, TOKENS, y, call) == HEADROOM_OK, what);
  expect((memcmp(y, p->y, sizeof y) == 0) == same, what);
}

static void check_positions(const headroom_options* options) {
  static problem p;
  const double longer[HEAD_DIM / 2] = {1, 2, 3, 4};
  int64_t positions[3 * TOKENS];
  headroom_layer* layer;
  headroom_call call;
  int i;
  make_problem(&p);
  p.config.rotary_pairs = HEADROOM_ROTARY_HALVES;
  p.config.rotary_sections[0] = p.config.rotary_sections[2] = 1;
  p.config.rotary_sections[1] = 2;
  p.config.rotary_interleaved = 1;
  layer = check_whole(&p, options, "sections of places");
  if (layer == NULL) return;
  headroom_default_call(&call);
  for (i = 0; i < 3 * TOKENS; ++i) positions[i] = i % TOKENS;
  call.positions = positions;
  call.position_count = 3 * TOKENS;
  expect(forward(layer, p.x, TOKENS, p.y, NULL) == HEADROOM_OK, "without positions");
  check_turned(layer, &p, &call, 1, "positions of places");
  positions[2 * TOKENS + 5] = 0;
  check_turned(layer, &p, &call, 0, "another width");
  headroom_destroy(layer);

  p.config.rotary_context = TOKENS;
  p.config.rotary_long_divisors = longer;
  p.config.rotary_long_divisor_count = HEAD_DIM / 2;
  layer = check_whole(&p, options, "a context that is not long");
  if (layer == NULL) return;
  headroom_default_call(&call);
  expect(forward(layer, p.x, TOKENS, p.y, NULL) == HEADROOM_OK, "without a context");
  check_turned(layer, &p, &call, 1, "a short context");
  call.context = TOKENS + 1;
  check_turned(layer, &p, &call, 0, "a long context");
  headroom_destroy(layer);
}

static void check_memory(const headroom_options* options) {
  static problem p;
  const int64_t lengths[1] = {MEMORY_TOKENS};
  headroom_layer* layer;
  headroom_cache* cache = NULL;
  headroom_matrix memory = headroom_rows(p.memory, MEMORY_TOKENS, D_MEMORY);
  headroom_call call;
  float y[TOKENS * D_PROJ];
  make_problem(&p);
  p.config.causal = 0;
  p.config.d_memory = D_MEMORY;
  p.largest.memory_tokens = MEMORY_TOKENS;
  layer = check_whole(&p, options, "a second input");
  if (layer == NULL) return;
  expect(headroom_cache_create(layer, 1, MEMORY_TOKENS, &cache) == HEADROOM_OK, "a cache");
  headroom_default_call(&call);
  call.cache = cache;
  call.memory = &memory;
  call.memory_lengths = lengths;
  call.memory_length_count = 1;
  expect(forward(layer, p.x, 5, y, &call) == HEADROOM_OK, "first rows");
  expect(length(cache, 0) == MEMORY_TOKENS, "the cache keeps the second input");
  headroom_default_call(&call);
  call.cache = cache;
  expect(forward(layer, p.x + 5 * D_IN, TOKENS - 5, y + 5 * D_PROJ, &call) == HEADROOM_OK,
         "later rows");
  expect(equal(layer, y, p.y), "rows that came later see the same");
  headroom_default_call(&call);
  memory = headroom_rows(NULL, 1, D_MEMORY);
  call.memory = &memory;
  expect_refused(forward(layer, p.x, 1, y, &call), HEADROOM_INVALID_ARGUMENT,
                 "memory is a null pointer");
  memory = headroom_rows(p.memory, 2, D_MEMORY);
  memory.row_stride = 1;
  expect_refused(forward(layer, p.x, 1, y, &call), HEADROOM_INVALID_ARGUMENT,
                 "memory has row stride 1");
  memory.rows = -1;
  expect_refused(forward(layer, p.x, 1, y, &call), HEADROOM_INVALID_ARGUMENT, "memory has -1 rows");
  memory.dtype = 3;
  expect_refused(forward(layer, p.x, 1, y, &call), HEADROOM_INVALID_ARGUMENT,
                 "call.memory.dtype is 3");
  memory.size = 8;
  expect_refused(forward(layer, p.x, 1, y, &call), HEADROOM_INVALID_ARGUMENT,
                 "call.memory.size is 8");
  headroom_cache_destroy(cache);
  headroom_destroy(layer);
}

/* A mask that shows as many keys as a window does, of each kind; with a cache its rows are those of
   the call, and its keys all. */
static void check_masks(const headroom_options* options) {
  static problem p;
  static uint8_t seen[TOKENS][TOKENS];
  static float added[TOKENS][TOKENS];
  static uint16_t narrow[TOKENS][TOKENS];
  float y[TOKENS * D_PROJ];
  headroom_layer* layer;
  headroom_cache* cache = NULL;
  headroom_call call;
  int64_t t, j;
  int kind;
  make_problem(&p);
  p.config.window = 5;
  headroom_destroy(check_whole(&p, options, "window"));
  p.config.window = 0;
  layer = make(&p, options);
  if (layer == NULL) return;
  for (t = 0; t < TOKENS; ++t) {
    for (j = 0; j < TOKENS; ++j) {
      seen[t][j] = t - j < 5;
      added[t][j] = t - j < 5 ? 0 : -INFINITY;
      narrow[t][j] = t - j < 5 ? 0 : 0xff80;
    }
  }
  expect(headroom_cache_create(layer, 1, TOKENS, &cache) == HEADROOM_OK, "a cache");
  for (kind = 0; kind < 3; ++kind) {
    double expected[TOKENS * D_PROJ];
    for (t = 0; t < TOKENS * D_PROJ; ++t) expected[t] = p.y[t];
    headroom_cache_clear(cache);
    for (t = 0; t < TOKENS; t += 7) {
      const int64_t rows = TOKENS - t < 7 ? TOKENS - t : 7;
      headroom_default_call(&call);
      call.cache = cache;
      call.mask_added = kind == 0 ? added[t] : NULL;
      call.mask_seen = kind == 1 ? seen[t] : NULL;
      call.mask_added_bf16 = kind == 2 ? narrow[t] : NULL;
      call.mask_queries = rows;
      call.mask_keys = t + rows;
      call.mask_query_stride = TOKENS;
      expect(forward(layer, p.x + t * D_IN, rows, y + t * D_PROJ, &call) == HEADROOM_OK, "a mask");
    }
    expect(difference(y, expected) <= kLimit, "a mask hides what a window hides");
  }
  call.mask_heads = 2 + p.config.heads;
  headroom_cache_clear(cache);
  expect_refused(forward(layer, p.x, 7, y, &call), HEADROOM_INVALID_ARGUMENT,
                 "for heads are 1 and");
  headroom_cache_destroy(cache);
  headroom_destroy(layer);
}

/* ---- bfloat16 ---- */

static uint16_t to_bf16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float from_bf16(uint16_t value) {
  const uint32_t bits = (uint32_t)value << 16;
  float found;
  memcpy(&found, &bits, sizeof found);
  return found;
}

static headroom_matrix bf16_rows(const uint16_t* data, int64_t rows, int64_t cols) {
  headroom_matrix view = headroom_rows(data, rows, cols);
  view.dtype = HEADROOM_BF16;
  return view;
}

static headroom_status forward_bf16(headroom_layer* layer, const uint16_t* x, int64_t rows,
                                    uint16_t* y, const headroom_call* call) {
  const headroom_matrix from = bf16_rows(x, rows, D_IN);
  const headroom_matrix to = bf16_rows(y, rows, D_PROJ);
  return headroom_forward(layer, &from, &to, call);
}

static headroom_status append_bf16(headroom_layer* layer, const uint16_t* x, int64_t rows,
                                   const headroom_call* call) {
  const headroom_matrix from = bf16_rows(x, rows, D_IN);
  return headroom_append(layer, &from, call);
}

static void check_bf16_calls(headroom_layer* layer, problem* p, const double* expected) {
  uint16_t x[TOKENS * D_IN], y[TOKENS * D_PROJ];
  float wide[TOKENS * D_PROJ];
  headroom_cache* cache = NULL;
  headroom_call call;
  int64_t i, rounded = 0;
  for (i = 0; i < TOKENS * D_IN; ++i) x[i] = to_bf16(p->x[i]);
  expect(forward_bf16(layer, x, TOKENS, y, NULL) == HEADROOM_OK, "bf16");
  for (i = 0; i < TOKENS * D_PROJ; ++i) wide[i] = from_bf16(y[i]);
  expect(difference(wide, expected) <= 1e-2, "a result of bf16");
  expect(forward(layer, p->x, TOKENS, p->y, NULL) == HEADROOM_OK, "floats");
  for (i = 0; i < TOKENS * D_PROJ; ++i) rounded += y[i] == to_bf16(p->y[i]);
  expect(rounded == TOKENS * D_PROJ, "floats and bf16 differ by the rounding of y alone");

  headroom_default_call(&call);
  expect(headroom_cache_create(layer, 1, TOKENS, &cache) == HEADROOM_OK, "a cache of bf16");
  call.cache = cache;
  expect(append_bf16(layer, x, 20, &call) == HEADROOM_OK, "append of bf16");
  expect(length(cache, 0) == 20, "20 tokens");
  expect(forward_bf16(layer, x + 20 * D_IN, 4, y + 20 * D_PROJ, &call) == HEADROOM_OK, "the rest");
  for (i = 0; i < TOKENS * D_PROJ; ++i) wide[i] = from_bf16(y[i]);
  expect(difference(wide, expected) <= 1e-2, "the rest after append");
  expect_refused(append_bf16(layer, x, 1, NULL), HEADROOM_INVALID_ARGUMENT, "call");
  expect_refused(forward_bf16(layer, NULL, 1, y, NULL), HEADROOM_INVALID_ARGUMENT,
                 "x is a null pointer");
  headroom_cache_destroy(cache);
}

static void check_numbers(const headroom_options* given) {
  static problem p;
  double expected[TOKENS * D_PROJ];
  headroom_options options = *given;
  headroom_layer* layer = NULL;
  uint16_t bits[D_IN > D_PROJ ? D_IN : D_PROJ] = {0};
  headroom_status status;
  make_problem(&p);
  define(&p, expected);
  layer = make(&p, given);
  expect(strcmp(headroom_chosen_precision(layer), "f32") == 0, "f32 by default");
  expect(headroom_chosen_precision(NULL) == NULL, "no layer");
  expect_refused(forward_bf16(layer, bits, 1, bits, NULL), HEADROOM_INVALID_ARGUMENT, "dtype bf16");
  headroom_destroy(layer);
  options.precision = "bf17";
  expect_refused(headroom_create(&p.config, &p.largest, &p.weights, &options, &layer),
                 HEADROOM_INVALID_ARGUMENT, "unknown precision 'bf17'");
  options.precision = "bf16";
  options.dtype = "f16";
  expect_refused(headroom_create(&p.config, &p.largest, &p.weights, &options, &layer),
                 HEADROOM_INVALID_ARGUMENT, "unknown dtype 'f16'");
  options.dtype = "bf16";
  status = headroom_create(&p.config, &p.largest, &p.weights, &options, &layer);
  if (status == HEADROOM_UNSUPPORTED) return; /* not with this backend and processor */
  expect(status == HEADROOM_OK, "a layer of bf16");
  if (layer != NULL) check_bf16_calls(layer, &p, expected);
  headroom_destroy(layer);
}

int main(int count, char** arguments) {
  headroom_options options;
  headroom_default_options(&options);
  if (count != 2) {
    printf("usage: calls <backend>\n");
    return 2;
  }
  options.backend = arguments[1];
  check_fields(&options);
  check_caches(&options);
  check_lengths(&options);
  check_places(&options);
  check_positions(&options);
  check_memory(&options);
  check_masks(&options);
  check_numbers(&options);
  printf("%s: %d failures\n", options.backend, failures);
  return failures == 0 ? 0 : 1;
}
