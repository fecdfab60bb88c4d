/* dot_product <backend>: attention over queries, keys and values, beside a loop in double. */
#include <headroom/headroom.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { kBatch = 2, kQueries = 5, kKeys = 9, kHeads = 4, kKeyHeads = 2, kDim = 8 };

static int failures = 0;

static void expect(int holds, const char* what) {
  if (holds) return;
  printf("not true: %s (last error: %s)\n", what, headroom_error_text());
  ++failures;
}

static void expect_refused(headroom_status found, const char* named) {
  if (found == HEADROOM_INVALID_ARGUMENT && strstr(headroom_error_text(), named) != NULL) return;
  printf("found %s \"%s\", expected one naming \"%s\"\n", headroom_status_name(found),
         headroom_error_text(), named);
  ++failures;
}

static float q[kBatch * kQueries * kHeads * kDim], out[kBatch * kQueries * kHeads * kDim];
static float k[kBatch * kKeys * kKeyHeads * kDim], v[kBatch * kKeys * kKeyHeads * kDim];
static float added[kQueries * kKeys];
static uint8_t seen[kBatch * kKeys];

static void fill(float* values, int count, unsigned seed) {
  for (int i = 0; i < count; ++i) {
    seed = seed * 1664525U + 1013904223U;
    values[i] = (float)(seed >> 8) / (float)(1 << 23) - 1.0F;
  }
}

/* What a call has; `lengths` are those of keys. */
typedef struct expectation {
  int causal, with_added, with_seen;
  const int64_t* lengths;
} expectation;

static double score(const expectation* of, int b, int t, int h, int j) {
  const int keys = of->lengths == NULL ? kKeys : (int)of->lengths[b];
  double sum = 0;
  if (j >= keys || (of->causal && j > keys - kQueries + t)) return -INFINITY;
  if (of->with_seen && !seen[b * kKeys + j]) return -INFINITY;
  for (int c = 0; c < kDim; ++c) {
    sum += (double)q[((b * kQueries + t) * kHeads + h) * kDim + c] *
           (double)k[((b * kKeys + j) * kKeyHeads + h / 2) * kDim + c];
  }
  return sum / sqrt((double)kDim) + (of->with_added ? (double)added[t * kKeys + j] : 0.0);
}

static double worst_error(const expectation* of) {
  double worst = 0;
  for (int row = 0; row < kBatch * kQueries * kHeads; ++row) {
    const int h = row % kHeads, t = row / kHeads % kQueries, b = row / kHeads / kQueries;
    double weights[kKeys], total = 0;
    for (int j = 0; j < kKeys; ++j) total += weights[j] = exp(score(of, b, t, h, j));
    for (int c = 0; c < kDim; ++c) {
      double expected = 0;
      for (int j = 0; j < kKeys; ++j) {
        expected += weights[j] * (double)v[((b * kKeys + j) * kKeyHeads + h / 2) * kDim + c];
      }
      expected = total > 0 ? expected / total : 0;
      worst = fmax(worst, fabs(expected - (double)out[row * kDim + c]));
    }
  }
  return worst;
}

/* The same values as bf16: a backend that has it gives what it gives for floats, rounded. */
static void check_bf16(const headroom_options* given) {
  static uint16_t narrow_q[sizeof q / sizeof *q], narrow_out[sizeof out / sizeof *out];
  headroom_options options = *given;
  headroom_heads of_q = headroom_token_major(q, kBatch, kQueries, kHeads, kDim);
  const headroom_heads of_k = headroom_token_major(k, kBatch, kKeys, kKeyHeads, kDim);
  const headroom_heads of_v = headroom_token_major(v, kBatch, kKeys, kKeyHeads, kDim);
  headroom_heads to = headroom_token_major(out, kBatch, kQueries, kHeads, kDim);
  const int count = sizeof q / sizeof *q;
  options.dtype = "bf16";
  for (int i = 0; i < count; ++i) {
    uint32_t bits;
    memcpy(&bits, q + i, sizeof bits);
    bits &= 0xffff0000U;
    memcpy(q + i, &bits, sizeof bits);
    narrow_q[i] = (uint16_t)(bits >> 16);
  }
  const headroom_status status = headroom_attention(&of_q, &of_k, &of_v, &to, NULL, &options, NULL);
  if (status == HEADROOM_UNSUPPORTED || status == HEADROOM_UNAVAILABLE) return; /* it has none */
  expect(status == HEADROOM_OK, "floats for dtype bf16");
  of_q.data = narrow_q;
  to.data = narrow_out;
  of_q.dtype = to.dtype = HEADROOM_BF16;
  expect(headroom_attention(&of_q, &of_k, &of_v, &to, NULL, &options, NULL) == HEADROOM_OK,
         "queries and output of bf16");
  for (int i = 0; i < count; ++i) {
    const uint32_t bits = (uint32_t)narrow_out[i] << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    expect(fabs((double)(value - out[i])) <= fabs((double)out[i]) / 256, "the output is rounded");
  }
  to.dtype = 7;
  expect_refused(headroom_attention(&of_q, &of_k, &of_v, &to, NULL, &options, NULL),
                 "out.dtype is 7");
}

/* The first four keys of each sequence come alone, the others with the queries. */
static void check_cache(headroom_dot_product* made, const int64_t* lengths,
                        const headroom_inputs* masked) {
  enum { kFirst = 4 };
  const int64_t first[kBatch] = {kFirst, kFirst};
  const int64_t others[kBatch] = {lengths[0] - kFirst, lengths[1] - kFirst};
  headroom_heads of_q = headroom_token_major(q, kBatch, kQueries, kHeads, kDim);
  headroom_heads of_k = headroom_token_major(k, kBatch, kKeys, kKeyHeads, kDim);
  headroom_heads of_v = headroom_token_major(v, kBatch, kKeys, kKeyHeads, kDim);
  headroom_heads to = headroom_token_major(out, kBatch, kQueries, kHeads, kDim);
  headroom_inputs inputs;
  headroom_cache* cache = NULL;
  int64_t length = 0;
  expect_refused(headroom_dot_product_cache(NULL, kBatch, kKeys, &cache), "made is NULL");
  expect_refused(headroom_dot_product_cache(made, 0, kKeys, &cache), "0 sequences");
  expect(headroom_dot_product_cache(made, kBatch, kKeys, &cache) == HEADROOM_OK, "a cache");
  headroom_default_inputs(&inputs);
  inputs.cache = cache;
  inputs.key_lengths = first;
  inputs.key_length_count = kBatch;
  of_q.tokens = to.tokens = 0;
  expect(headroom_dot_product_run(made, &of_q, &of_k, &of_v, &to, &inputs) == HEADROOM_OK,
         "keys are appended");
  of_q.tokens = to.tokens = kQueries;
  inputs = *masked;
  inputs.cache = cache;
  inputs.key_lengths = others;
  of_k.data = k + kFirst * kKeyHeads * kDim;
  of_v.data = v + kFirst * kKeyHeads * kDim;
  of_k.tokens = of_v.tokens = kKeys - kFirst;
  fill(out, sizeof out / sizeof *out, 9);
  expect(headroom_dot_product_run(made, &of_q, &of_k, &of_v, &to, &inputs) == HEADROOM_OK,
         "queries after a cache");
  expect(worst_error(&(expectation){1, 0, 1, lengths}) < 1e-5, "they see all of it");
  expect(headroom_cache_length(cache, 1, &length) == HEADROOM_OK && length == lengths[1],
         "its length");
  headroom_cache_destroy(cache);
}

int main(int argc, char** argv) {
  const headroom_heads of_q = headroom_token_major(q, kBatch, kQueries, kHeads, kDim);
  const headroom_heads of_k = headroom_token_major(k, kBatch, kKeys, kKeyHeads, kDim);
  const headroom_heads of_v = headroom_token_major(v, kBatch, kKeys, kKeyHeads, kDim);
  const headroom_heads to = headroom_token_major(out, kBatch, kQueries, kHeads, kDim);
  const int64_t lengths[kBatch] = {kKeys, 6};
  headroom_options options;
  headroom_rule rule;
  headroom_inputs inputs;
  headroom_sizes sizes;
  headroom_dot_product* made = NULL;
  if (argc != 2) return 2;
  fill(q, sizeof q / sizeof *q, 1);
  fill(k, sizeof k / sizeof *k, 2);
  fill(v, sizeof v / sizeof *v, 3);
  fill(added, kQueries * kKeys, 4);
  for (int i = 0; i < kBatch * kKeys; ++i) seen[i] = i % 3 != 1;
  headroom_default_options(&options);
  options.backend = argv[1];
  headroom_default_rule(&rule);
  headroom_default_inputs(&inputs);
  headroom_default_sizes(&sizes);

  expect(headroom_attention(&of_q, &of_k, &of_v, &to, NULL, &options, NULL) == HEADROOM_OK,
         "attention without a rule");
  expect(worst_error(&(expectation){0}) < 1e-5, "every query sees every key");
  rule.causal = 1;
  inputs.mask_added = added;
  inputs.mask_queries = kQueries;
  inputs.mask_keys = inputs.mask_query_stride = kKeys;
  expect(headroom_attention(&of_q, &of_k, &of_v, &to, &rule, &options, &inputs) == HEADROOM_OK,
         "attention with an added mask");
  expect(worst_error(&(expectation){.causal = 1, .with_added = 1}) < 1e-5, "causal and added");

  sizes.batch = kBatch;
  sizes.queries = kQueries;
  sizes.keys = 2 * kKeys;
  sizes.heads = kHeads;
  sizes.kv_heads = kKeyHeads;
  sizes.head_dim = kDim;
  expect(headroom_dot_product_create(&sizes, &rule, &options, &made) == HEADROOM_OK, "create");
  headroom_default_inputs(&inputs);
  inputs.key_lengths = lengths;
  inputs.key_length_count = kBatch;
  inputs.mask_seen = seen;
  inputs.mask_batch = kBatch;
  inputs.mask_keys = inputs.mask_batch_stride = kKeys;
  expect(headroom_dot_product_run(made, &of_q, &of_k, &of_v, &to, &inputs) == HEADROOM_OK, "run");
  expect(worst_error(&(expectation){1, 0, 1, lengths}) < 1e-5, "lengths and a boolean mask");
  expect(strcmp(headroom_dot_product_backend(made), argv[1]) == 0, "the backend is named");
  expect(headroom_dot_product_reason(made)[0] != 0, "a reason is given");

  check_cache(made, lengths, &inputs);
  inputs.mask_keys = kKeys - 1;
  expect_refused(headroom_dot_product_run(made, &of_q, &of_k, &of_v, &to, &inputs),
                 "allowed for keys are 1 and 9");
  inputs.key_lengths = NULL;
  expect_refused(headroom_dot_product_run(made, &of_q, &of_k, &of_v, &to, &inputs),
                 "inputs.key_lengths is NULL");
  expect_refused(headroom_dot_product_run(made, NULL, &of_k, &of_v, &to, NULL), "q is NULL");
  expect_refused(headroom_dot_product_run(NULL, &of_q, &of_k, &of_v, &to, NULL), "made is NULL");
  check_bf16(&options);
  options.kernels = "none such";
  expect_refused(headroom_attention(&of_q, &of_k, &of_v, &to, NULL, &options, NULL), "none such");
  rule.scale = -1;
  headroom_dot_product_destroy(made);
  expect_refused(headroom_dot_product_create(&sizes, &rule, NULL, &made), "scale is -1");
  expect(made == NULL, "nothing is left after a failure");
  headroom_dot_product_destroy(NULL);
  return failures != 0;
}
