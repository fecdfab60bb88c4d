/* layer <backend>: the C interface, against two tokens worked out by hand, and its errors. */
#include <headroom/headroom.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static int failures = 0;

static void expect(int holds, const char* what) {
  if (holds) return;
  printf("not true: %s (last error: %s)\n", what, headroom_error_text());
  ++failures;
}

static void expect_refused(headroom_status found, headroom_status allowed, const char* named) {
  if (found == allowed && strstr(headroom_error_text(), named) != NULL) return;
  printf("found %s \"%s\", expected %s naming \"%s\"\n", headroom_status_name(found),
         headroom_error_text(), headroom_status_name(allowed), named);
  ++failures;
}

/* One head of width 1. Every weight has another value, so that none can be taken for another. */
static const float kQuery = 2.0F, kKey = 3.0F, kValue = 0.5F, kOutput = 1.5F;
static const float kQueryBias = 0.25F, kKeyBias = 0.5F, kValueBias = 0.125F, kOutputBias = -1.0F;
static const float kX[2] = {0.5F, 1.0F};

/* One value each. */
static headroom_matrix kViews[8];

static headroom_weights small_weights(void) {
  const float* values[8] = {&kQuery,   &kKey,       &kValue,  &kQueryBias,
                            &kKeyBias, &kValueBias, &kOutput, &kOutputBias};
  headroom_weights weights = {.size = sizeof(headroom_weights),
                              .query = &kViews[0],
                              .key = &kViews[1],
                              .value = &kViews[2],
                              .query_bias = &kViews[3],
                              .key_bias = &kViews[4],
                              .value_bias = &kViews[5],
                              .output = &kViews[6],
                              .output_bias = &kViews[7]};
  int i;
  for (i = 0; i < 8; ++i) kViews[i] = headroom_rows(values[i], 1, 1);
  return weights;
}

/* Two rows of one value. */
static headroom_status forward(headroom_layer* layer, const float* x, int64_t x_stride, float* y,
                               int64_t y_stride) {
  headroom_matrix from = headroom_rows(x, 2, 1);
  headroom_matrix to = headroom_rows(y, 2, 1);
  from.row_stride = x_stride;
  to.row_stride = y_stride;
  return headroom_forward(layer, &from, &to, NULL);
}

static headroom_layer_config small_config(void) {
  headroom_layer_config config;
  headroom_default_layer_config(&config);
  config.d_in = 1;
  config.d_out = 1;
  config.d_proj = 1;
  config.qkv_bias = 1;
  return config;
}

static headroom_call_sizes two_tokens(void) {
  headroom_call_sizes sizes;
  headroom_default_call_sizes(&sizes);
  sizes.tokens = 2;
  return sizes;
}

/* As PyTorch stores them, in half precision: the same numbers, which it holds exactly. */
static void check_stored_weights(const headroom_options* options) {
  const headroom_layer_config config = small_config();
  const headroom_call_sizes largest = two_tokens();
  headroom_weights weights = small_weights();
  const uint16_t query = 0x4000, key = 0x4040; /* 2 in IEEE half precision, 3 in bfloat16 */
  const headroom_matrix stored_query = headroom_linear(&query, 1, 1, HEADROOM_F16);
  const headroom_matrix stored_key = headroom_linear(&key, 1, 1, HEADROOM_BF16);
  headroom_matrix wrong = stored_key;
  headroom_layer* layer = NULL;
  float plain[2], y[2] = {0, 0};
  expect(headroom_create(&config, &largest, &weights, options, &layer) == HEADROOM_OK,
         "a layer of floats");
  expect(forward(layer, kX, 1, plain, 1) == HEADROOM_OK, "its result");
  headroom_destroy(layer);
  weights.query = &stored_query;
  weights.key = &stored_key;
  expect(headroom_create(&config, &largest, &weights, options, &layer) == HEADROOM_OK,
         "of stored weights");
  expect(forward(layer, kX, 1, y, 1) == HEADROOM_OK, "its result");
  expect(memcmp(y, plain, sizeof y) == 0, "the same");
  headroom_destroy(layer);
  layer = NULL;
  weights.key = &wrong;
  wrong.dtype = -1;
  expect_refused(headroom_create(&config, &largest, &weights, options, &layer),
                 HEADROOM_INVALID_ARGUMENT, "weights.key.dtype is -1");
  wrong = stored_key;
  wrong.cols = 2;
  expect_refused(headroom_create(&config, &largest, &weights, options, &layer),
                 HEADROOM_INVALID_ARGUMENT, "key is 1 x 2");
  wrong = stored_key;
  wrong.data = NULL;
  expect_refused(headroom_create(&config, &largest, &weights, options, &layer),
                 HEADROOM_INVALID_ARGUMENT, "key is a null pointer");
  wrong = stored_key;
}

static void check_result(const headroom_options* options) {
  const headroom_layer_config config = small_config();
  const headroom_call_sizes largest = two_tokens();
  const headroom_weights weights = small_weights();
  headroom_layer* layer = NULL;
  float y[6] = {-7.0F, -7.0F, -7.0F, -7.0F, -7.0F, -7.0F};
  /* Token 0 sees itself alone; token 1 has the query 2.25, and the keys 2 and 3.5. */
  const double values[2] = {0.5 * 0.5 + 0.125, 0.5 * 1.0 + 0.125};
  const double odds = exp(2.25 * 2.0 - 2.25 * 3.5);
  const double first = 1.5 * values[0] - 1.0;
  const double second = 1.5 * (odds * values[0] + values[1]) / (odds + 1.0) - 1.0;

  expect(headroom_create(&config, &largest, &weights, options, &layer) == HEADROOM_OK,
         "create succeeds");
  expect(layer != NULL, "create gives a layer");
  expect(forward(layer, kX, 1, y, 3) == HEADROOM_OK, "forward succeeds");
  expect(fabs((double)y[0] - first) < 1e-6, "token 0 is its own value");
  expect(fabs((double)y[3] - second) < 1e-6, "token 1 is the weighted mean of both");
  expect(y[1] == -7.0F && y[2] == -7.0F, "nothing is written between rows");

  expect_refused(forward(layer, kX, 0, y, 3), HEADROOM_INVALID_ARGUMENT, "stride");
  expect_refused(forward(layer, kX, INT64_MAX / 3, y, 3), HEADROOM_INVALID_ARGUMENT,
                 "x has row stride");
  expect_refused(forward(layer, kX, 1, y, (int64_t)1 << 62), HEADROOM_INVALID_ARGUMENT,
                 "y has row stride");
  expect_refused(forward(layer, NULL, 1, y, 3), HEADROOM_INVALID_ARGUMENT, "x");
  expect_refused(forward(NULL, kX, 1, y, 3), HEADROOM_INVALID_ARGUMENT, "layer");
  expect_refused(forward(layer, y, 1, y, 3), HEADROOM_INVALID_ARGUMENT, "overlaps");
  headroom_destroy(layer);
  headroom_destroy(NULL);
}

static void check_choice(const headroom_options* options) {
  const headroom_layer_config config = small_config();
  const headroom_call_sizes largest = two_tokens();
  const headroom_weights weights = small_weights();
  headroom_options by_rule = *options;
  headroom_layer* layer = NULL;
  by_rule.backend = "auto";
  by_rule.tuning_file = "no/such/file.json";
  expect(headroom_create(&config, &largest, &weights, &by_rule, &layer) == HEADROOM_OK,
         "auto succeeds");
  if (layer == NULL) return;
  expect(strcmp(headroom_chosen_backend(layer), options->backend) == 0, "the one that is linked");
  expect(strstr(headroom_choice_reason(layer), "no/such/file.json") != NULL, "the file is named");
  headroom_destroy(layer);
  expect(headroom_chosen_backend(NULL) == NULL, "no layer has no backend");
  expect(headroom_choice_reason(NULL) == NULL, "no layer has no reason");
}

static headroom_status create(const headroom_layer_config* config,
                              const headroom_call_sizes* largest, const headroom_weights* weights,
                              const headroom_options* options) {
  headroom_layer* layer = (headroom_layer*)&failures;
  const headroom_status status = headroom_create(config, largest, weights, options, &layer);
  expect(layer == NULL, "a failed create gives no layer");
  return status;
}

static void check_refusals(const headroom_options* good) {
  headroom_layer_config config = small_config();
  headroom_call_sizes largest = two_tokens();
  headroom_weights weights = small_weights();
  headroom_options options = *good;

  expect_refused(create(NULL, &largest, &weights, good), HEADROOM_INVALID_ARGUMENT,
                 "config is NULL");
  expect_refused(create(&config, NULL, &weights, good), HEADROOM_INVALID_ARGUMENT,
                 "largest is NULL");
  expect_refused(create(&config, &largest, NULL, good), HEADROOM_INVALID_ARGUMENT,
                 "weights is NULL");
  expect_refused(headroom_create(&config, &largest, &weights, good, NULL),
                 HEADROOM_INVALID_ARGUMENT, "layer is NULL");
  weights.key = NULL;
  expect_refused(create(&config, &largest, &weights, good), HEADROOM_INVALID_ARGUMENT,
                 "weights.key");
  weights = small_weights();
  config.d_proj = 0;
  expect_refused(create(&config, &largest, &weights, good), HEADROOM_INVALID_ARGUMENT,
                 "weights.output is given");
  weights.output = NULL;
  expect_refused(create(&config, &largest, &weights, good), HEADROOM_INVALID_ARGUMENT,
                 "output_bias");
  weights = small_weights();
  config = small_config();
  config.heads = 3;
  expect_refused(create(&config, &largest, &weights, good), HEADROOM_INVALID_ARGUMENT, "heads");
  config = small_config();
  config.d_in = INT64_MAX;
  expect_refused(create(&config, &largest, &weights, good), HEADROOM_INVALID_ARGUMENT, "d_in");
  config = small_config();
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* they end the program */
  largest.tokens = 1;
  largest.batch = (int64_t)1 << 45;
  expect_refused(create(&config, &largest, &weights, good), HEADROOM_OUT_OF_MEMORY, "memory");
  largest = two_tokens();
#endif

  options.backend = "xsmid";
  expect_refused(create(&config, &largest, &weights, &options), HEADROOM_INVALID_ARGUMENT, "xsimd");
  options = *good;
  options.formulation = "spilt";
  expect_refused(create(&config, &largest, &weights, &options), HEADROOM_INVALID_ARGUMENT, "split");
  options = *good;
  options.threads = 1000000;
  expect_refused(create(&config, &largest, &weights, &options), HEADROOM_INVALID_ARGUMENT, "4096");
  options = *good;
  options.isa = "avx1024";
  expect_refused(create(&config, &largest, &weights, &options), HEADROOM_INVALID_ARGUMENT, "avx2");
  options = *good;
  options.backend = strcmp(good->backend, "tbb") == 0 ? "onednn" : "tbb";
  expect_refused(create(&config, &largest, &weights, &options), HEADROOM_UNAVAILABLE, "headroom::");
}

/* Programs made with an older or a newer header, whose structs are smaller or larger. */
static void check_sizes(const headroom_options* good) {
  struct {
    headroom_options known;
    int64_t later[2];
  } newer;
  headroom_layer_config config = small_config();
  headroom_call_sizes largest = two_tokens();
  headroom_weights weights = small_weights();
  headroom_layer* layer = NULL;

  memset(&newer, 1, sizeof newer);
  headroom_init_options(&newer.known, sizeof newer);
  expect(newer.known.size == sizeof newer && newer.later[1] == 0, "all of a newer struct is set");
  newer.known.backend = good->backend;
  expect(headroom_create(&config, &largest, &weights, &newer.known, &layer) == HEADROOM_OK,
         "what is zero needs not be known");
  headroom_destroy(layer);
  newer.later[1] = 1;
  expect_refused(create(&config, &largest, &weights, &newer.known), HEADROOM_INVALID_ARGUMENT,
                 "options.size is");

  memset(&config, 1, sizeof config);
  headroom_init_layer_config(&config, offsetof(headroom_layer_config, d_memory));
  expect(config.size == offsetof(headroom_layer_config, d_memory) && config.heads == 1 &&
             config.d_memory == 0x0101010101010101,
         "nothing is written behind an older struct");
  expect_refused(create(&config, &largest, &weights, good), HEADROOM_INVALID_ARGUMENT,
                 "config.size is");
  config = small_config();
  config.size = SIZE_MAX;
  expect_refused(create(&config, &largest, &weights, good), HEADROOM_INVALID_ARGUMENT,
                 "config.size is");
  config = small_config();
  largest.size = 0;
  expect_refused(create(&config, &largest, &weights, good), HEADROOM_INVALID_ARGUMENT,
                 "largest.size is 0");
  largest = two_tokens();
  weights.size = 0;
  expect_refused(create(&config, &largest, &weights, good), HEADROOM_INVALID_ARGUMENT,
                 "weights.size is 0");
}

/* A text that is cut ends with a whole character, wherever the cut falls. */
static void check_long_texts(const headroom_options* good) {
  const headroom_layer_config config = small_config();
  const headroom_call_sizes largest = two_tokens();
  const headroom_weights weights = small_weights();
  char name[4000];
  size_t shift;
  for (shift = 0; shift < 3; ++shift) {
    headroom_options options = *good;
    const char* text = headroom_error_text();
    size_t length;
    size_t i;
    memset(name, 0, sizeof name);
    memset(name, 'a', shift);
    for (i = shift; i + 4 < sizeof name; i += 3) memcpy(name + i, "\xE2\x82\xAC", 3); /* euro */
    options.isa = name;
    expect_refused(create(&config, &largest, &weights, &options), HEADROOM_INVALID_ARGUMENT,
                   "instruction");
    text = headroom_error_text();
    length = strlen(text);
    expect(length > 1000 && length < 1024, "a long text is cut");
    expect(memcmp(text + length - 3, "\xE2\x82\xAC", 3) == 0, "after a whole character");
  }
}

int main(int count, char** arguments) {
  headroom_options options;
  headroom_default_options(&options);
  if (count != 2) {
    printf("usage: layer <backend>\n");
    return 2;
  }
  options.backend = arguments[1];
  expect(strcmp(headroom_version(), HEADROOM_VERSION) == 0, "library and header are one version");
  expect(strcmp(headroom_error_text(), "") == 0, "no error before the first failure");
  check_result(&options);
  check_stored_weights(&options);
  check_choice(&options);
  check_refusals(&options);
  check_sizes(&options);
  check_long_texts(&options);
  options.backend = "auto"; /* has this backend alone to choose */
  check_result(&options);
  options.backend = arguments[1];
  printf("%s: %d failures\n", options.backend, failures);
  return failures == 0 ? 0 : 1;
}
