/* What the programs that test the C interface share. */
#ifndef HEADROOM_CONSUMER_PROBLEM_H
#define HEADROOM_CONSUMER_PROBLEM_H

#include <headroom/headroom.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TOKENS = 24, D_IN = 12, HEAD_DIM = 8, HEADS = 4, D_OUT = HEADS * HEAD_DIM, D_PROJ = 10 };
enum { D_MEMORY = 6, MEMORY_TOKENS = 9 };

static int failures = 0;

static inline void expect(int holds, const char* what) {
  if (holds) return;
  printf("not true: %s (last error: %s)\n", what, headroom_error_text());
  ++failures;
}

static inline void expect_refused(headroom_status found, headroom_status allowed,
                                  const char* named) {
  if (found == allowed && strstr(headroom_error_text(), named) != NULL) return;
  printf("found %s \"%s\", expected %s naming \"%s\"\n", headroom_status_name(found),
         headroom_error_text(), headroom_status_name(allowed), named);
  ++failures;
}

/* ---- a layer with all its data ---- */

typedef struct problem {
  headroom_layer_config config;
  headroom_call_sizes largest;
  headroom_weights weights; /* of the next */
  headroom_matrix views[8];
  float query[D_IN * D_OUT], key[D_IN * D_OUT], value[D_IN * D_OUT], output[D_OUT * D_PROJ];
  float query_bias[D_OUT], key_bias[D_OUT], value_bias[D_OUT], output_bias[D_PROJ];
  float x[TOKENS * D_IN], memory[MEMORY_TOKENS * D_MEMORY];
  float y[TOKENS * D_PROJ];
} problem;

static inline void fill(float* values, size_t count, unsigned seed) {
  size_t i;
  for (i = 0; i < count; ++i) {
    seed = seed * 1664525U + 1013904223U;
    values[i] = (float)(seed >> 8) / (float)(1U << 24) - 0.5F;
  }
}

#define FILL(values, seed) fill(values, sizeof(values) / sizeof((values)[0]), seed)

static inline void make_problem(problem* p) {
  memset(p, 0, sizeof *p);
  headroom_default_layer_config(&p->config);
  headroom_default_call_sizes(&p->largest);
  p->largest.tokens = TOKENS;
  p->config.d_in = D_IN;
  p->config.d_out = D_OUT;
  p->config.heads = HEADS;
  p->config.d_proj = D_PROJ;
  p->config.qkv_bias = 1;
  FILL(p->query, 1);
  FILL(p->key, 2);
  FILL(p->value, 3);
  FILL(p->output, 4);
  FILL(p->query_bias, 5);
  FILL(p->key_bias, 6);
  FILL(p->value_bias, 7);
  FILL(p->output_bias, 8);
  FILL(p->x, 9);
  FILL(p->memory, 10);
}

/* ---- the definition ---- */

static inline void turn(const headroom_layer_config* config, double* row, int64_t position) {
  int64_t i;
  for (i = 0; i < HEAD_DIM / 2 && config->rotary_pairs != HEADROOM_ROTARY_NONE; ++i) {
    const int halves = config->rotary_pairs == HEADROOM_ROTARY_HALVES;
    const int64_t a = halves ? i : 2 * i;
    const int64_t b = halves ? i + HEAD_DIM / 2 : 2 * i + 1;
    const double angle = (double)position * config->rotary_scale *
                         pow(config->rotary_base, -2.0 * (double)i / HEAD_DIM);
    const double x = row[a];
    row[a] = x * cos(angle) - row[b] * sin(angle);
    row[b] = x * sin(angle) + row[b] * cos(angle);
  }
}

/* One head of one row: `x W + b`. */
static inline void project(double* to, const float* x, int64_t depth, const float* weights,
                           const float* bias, int64_t width, int64_t head) {
  int64_t i, k;
  for (i = 0; i < HEAD_DIM; ++i) {
    to[i] = bias[head * HEAD_DIM + i];
    for (k = 0; k < depth; ++k) to[i] += (double)x[k] * weights[k * width + head * HEAD_DIM + i];
  }
}

static inline void attend(const problem* p, int64_t row, int64_t head, double* out) {
  const headroom_layer_config* config = &p->config;
  const int cross = config->d_memory > 0;
  const int64_t kv_heads = config->kv_heads > 0 ? config->kv_heads : HEADS;
  const int64_t kv_head = head / (HEADS / kv_heads);
  const int64_t end = config->causal ? row + 1 : cross ? MEMORY_TOKENS : TOKENS;
  const int64_t begin = config->window > 0 && end > config->window ? end - config->window : 0;
  double query[HEAD_DIM], key[HEAD_DIM], value[HEAD_DIM], sum = 0;
  int64_t t, i;
  project(query, p->x + row * D_IN, D_IN, p->query, p->query_bias, D_OUT, head);
  turn(config, query, row);
  for (i = 0; i < HEAD_DIM; ++i) out[i] = 0;
  for (t = begin; t < end; ++t) {
    const float* from = cross ? p->memory + t * D_MEMORY : p->x + t * D_IN;
    const int64_t depth = cross ? D_MEMORY : D_IN;
    double score = 0;
    project(key, from, depth, p->key, p->key_bias, kv_heads * HEAD_DIM, kv_head);
    project(value, from, depth, p->value, p->value_bias, kv_heads * HEAD_DIM, kv_head);
    turn(config, key, t);
    for (i = 0; i < HEAD_DIM; ++i) score += query[i] * key[i];
    score = exp(score / sqrt((double)HEAD_DIM));
    sum += score;
    for (i = 0; i < HEAD_DIM; ++i) out[i] += score * value[i];
  }
  for (i = 0; i < HEAD_DIM; ++i) out[i] /= sum;
}

static inline void define(const problem* p, double* y) {
  double context[D_OUT];
  int64_t row, head, i, k;
  for (row = 0; row < TOKENS; ++row) {
    for (head = 0; head < HEADS; ++head) attend(p, row, head, context + head * HEAD_DIM);
    for (i = 0; i < D_PROJ; ++i) {
      y[row * D_PROJ + i] = p->output_bias[i];
      for (k = 0; k < D_OUT; ++k) y[row * D_PROJ + i] += context[k] * p->output[k * D_PROJ + i];
    }
  }
}

/* Root mean square of the difference over that of the values. */
static inline double difference(const float* y, const double* expected) {
  double off = 0, all = 0;
  int64_t i;
  for (i = 0; i < TOKENS * D_PROJ; ++i) {
    off += (y[i] - expected[i]) * (y[i] - expected[i]);
    all += expected[i] * expected[i];
  }
  return sqrt(off / all);
}

/* What the project's numerical contract allows. */
static const double kLimit = 5e-6;

static inline int same_bits(const headroom_layer* layer) {
  return strcmp(headroom_chosen_backend(layer), "onednn") != 0;
}

/* With onednn the same within the contract only. */
static inline int equal(const headroom_layer* layer, const float* y, const float* of_one_pass) {
  double expected[TOKENS * D_PROJ];
  int64_t i;
  if (same_bits(layer)) return memcmp(y, of_one_pass, TOKENS * D_PROJ * sizeof(float)) == 0;
  for (i = 0; i < TOKENS * D_PROJ; ++i) expected[i] = of_one_pass[i];
  return difference(y, expected) <= kLimit;
}

/* As the layer has them now. */
static inline void set_weights(problem* p) {
  const int64_t kv_heads = p->config.kv_heads > 0 ? p->config.kv_heads : HEADS;
  const int64_t kv_width = kv_heads * HEAD_DIM;
  const int64_t key_input = p->config.d_memory > 0 ? D_MEMORY : D_IN;
  headroom_matrix* views = p->views;
  views[0] = headroom_rows(p->query, D_IN, D_OUT);
  views[1] = headroom_rows(p->key, key_input, kv_width);
  views[2] = headroom_rows(p->value, key_input, kv_width);
  views[3] = headroom_rows(p->query_bias, 1, D_OUT);
  views[4] = headroom_rows(p->key_bias, 1, kv_width);
  views[5] = headroom_rows(p->value_bias, 1, kv_width);
  views[6] = headroom_rows(p->output, D_OUT, D_PROJ);
  views[7] = headroom_rows(p->output_bias, 1, D_PROJ);
  headroom_default_weights(&p->weights);
  p->weights.query = &views[0];
  p->weights.key = &views[1];
  p->weights.value = &views[2];
  p->weights.query_bias = &views[3];
  p->weights.key_bias = &views[4];
  p->weights.value_bias = &views[5];
  p->weights.output = &views[6];
  p->weights.output_bias = &views[7];
}

/* Rows of D_IN and of D_PROJ values without gaps. */
static inline headroom_status forward(headroom_layer* layer, const float* x, int64_t rows, float* y,
                                      const headroom_call* call) {
  const headroom_matrix from = headroom_rows(x, rows, D_IN);
  const headroom_matrix to = headroom_rows(y, rows, D_PROJ);
  return headroom_forward(layer, &from, &to, call);
}

static inline headroom_status append(headroom_layer* layer, const float* x, int64_t rows,
                                     const headroom_call* call) {
  const headroom_matrix from = headroom_rows(x, rows, D_IN);
  return headroom_append(layer, &from, call);
}

static inline headroom_layer* make(problem* p, const headroom_options* options) {
  headroom_layer* layer = NULL;
  set_weights(p);
  expect(headroom_create(&p->config, &p->largest, &p->weights, options, &layer) == HEADROOM_OK,
         "create");
  return layer;
}

/* One pass is what the definition says. Leaves the result in `p->y`. */
static inline headroom_layer* check_whole(problem* p, const headroom_options* options,
                                          const char* what) {
  headroom_layer* layer = make(p, options);
  const headroom_matrix memory = headroom_rows(p->memory, MEMORY_TOKENS, D_MEMORY);
  headroom_call call;
  double expected[TOKENS * D_PROJ];
  headroom_default_call(&call);
  if (p->config.d_memory > 0) call.memory = &memory;
  if (layer == NULL) return NULL;
  define(p, expected);
  expect(forward(layer, p->x, TOKENS, p->y, &call) == HEADROOM_OK, "a whole pass");
  expect(difference(p->y, expected) <= kLimit, what);
  return layer;
}

static inline void make_rich(problem* p) {
  make_problem(p);
  p->config.kv_heads = 1;
  p->config.window = 11;
  p->config.rotary_pairs = HEADROOM_ROTARY_HALVES;
}

static inline int64_t length(const headroom_cache* cache, int64_t sequence) {
  int64_t found = -1;
  expect(headroom_cache_length(cache, sequence, &found) == HEADROOM_OK, "length");
  return found;
}

#endif
