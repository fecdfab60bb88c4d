/* stored <backend>: a layer of weights that a file stores as bfloat16, one head of width 1. */
#include "problem.h"

static void write_model(const char* path) {
  static const char* kNames[4] = {"q_proj", "k_proj", "v_proj", "o_proj"};
  const uint16_t values[4] = {0, 0x4000, 0x4000, 0x4000}; /* 0 and three times 2 */
  char header[1000] = "{";
  unsigned char length[8] = {0};
  FILE* file = fopen(path, "wb");
  size_t size;
  int i;
  for (i = 0; i < 4; ++i) {
    size = strlen(header);
    snprintf(header + size, sizeof header - size,
             "%s\"layers.7.attn.%s.weight\":{\"dtype\":\"BF16\",\"shape\":[1,1],"
             "\"data_offsets\":[%d,%d]}",
             i > 0 ? "," : "", kNames[i], 2 * i, 2 * i + 2);
  }
  size = strlen(header);
  header[size++] = '}';
  length[0] = (unsigned char)(size & 0xff);
  length[1] = (unsigned char)(size >> 8);
  expect(file != NULL && fwrite(length, 1, 8, file) == 8 && fwrite(header, 1, size, file) == size &&
             fwrite(values, 2, 4, file) == 4 && fclose(file) == 0,
         "the file is written");
}

static void check_layer(const char* path, const headroom_options* options) {
  const float x[3] = {1, 3, 8};
  float y[3] = {0, 0, 0};
  headroom_load_options which;
  headroom_stored* stored = NULL;
  headroom_layer* layer = NULL;
  headroom_layer_config config;
  headroom_call_sizes largest;
  headroom_weights weights;
  headroom_matrix from = headroom_rows(x, 3, 1), to = headroom_rows(y, 3, 1);
  headroom_default_load_options(&which);
  headroom_default_layer_config(&config);
  headroom_default_call_sizes(&largest);
  headroom_default_weights(&weights);
  which.layer = "7";
  which.heads = 1;
  expect(headroom_load(path, &which, &stored) == HEADROOM_OK, "load");
  expect(headroom_stored_layer(stored, &config, &weights) == HEADROOM_OK, "what was read");
  expect(config.heads == 1 && config.d_in == 1 && config.d_proj == 1 && config.causal == 1,
         "the layer");
  expect(weights.value->dtype == HEADROOM_BF16, "values stay as they are stored");
  expect(weights.query_bias == NULL && weights.output_bias != NULL, "a bias of zeros for the last");
  expect(headroom_stored_notes(stored) != NULL && headroom_stored_notes(NULL) == NULL, "notes");
  largest.tokens = 3;
  expect(headroom_create(&config, &largest, &weights, options, &layer) == HEADROOM_OK, "create");
  headroom_stored_destroy(stored);
  if (layer == NULL) return;
  expect(headroom_forward(layer, &from, &to, NULL) == HEADROOM_OK, "forward");
  expect(y[0] == 4 && y[1] == 8 && y[2] == 16, "means of the values so far, times 4");
  headroom_destroy(layer);
}

static void check_errors(const char* path) {
  headroom_load_options which;
  headroom_stored* stored = NULL;
  headroom_layer_config config;
  headroom_weights weights;
  headroom_default_load_options(&which);
  headroom_default_layer_config(&config);
  headroom_default_weights(&weights);
  expect_refused(headroom_load("missing.safetensors", NULL, &stored), HEADROOM_FILE_ERROR,
                 "missing.safetensors");
  expect_refused(headroom_load(NULL, NULL, &stored), HEADROOM_INVALID_ARGUMENT, "path is NULL");
  expect_refused(headroom_load(path, NULL, NULL), HEADROOM_INVALID_ARGUMENT, "stored is NULL");
  expect_refused(headroom_load(path, &which, &stored), HEADROOM_INVALID_ARGUMENT, "heads");
  expect(stored == NULL, "nothing was read");
  which.heads = 1;
  which.max_bytes = 1;
  expect_refused(headroom_load(path, &which, &stored), HEADROOM_NO_RESOURCE, "bytes");
  which.max_bytes = 0;
  expect(headroom_load(path, &which, &stored) == HEADROOM_OK, "load");
  expect_refused(headroom_stored_layer(NULL, &config, &weights), HEADROOM_INVALID_ARGUMENT,
                 "stored is NULL");
  expect_refused(headroom_stored_layer(stored, NULL, &weights), HEADROOM_INVALID_ARGUMENT,
                 "config is NULL");
  config.size = 4;
  expect_refused(headroom_stored_layer(stored, &config, &weights), HEADROOM_INVALID_ARGUMENT,
                 "config.size is 4");
  which.size = 8;
  headroom_stored_destroy(stored);
  expect_refused(headroom_load(path, &which, &stored), HEADROOM_INVALID_ARGUMENT,
                 "load_options.size is 8");
  headroom_stored_destroy(NULL);
}

int main(int count, char** arguments) {
  headroom_options options;
  headroom_default_options(&options);
  if (count != 2) return 2;
  options.backend = arguments[1];
  write_model("stored.safetensors");
  check_layer("stored.safetensors", &options);
  check_errors("stored.safetensors");
  printf("%s: %d failures\n", options.backend, failures);
  return failures == 0 ? 0 : 1;
}
