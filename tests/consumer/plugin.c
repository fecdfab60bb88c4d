/* plugin <core library> <backend library> <backend>: as a language that opens libraries at run time
   would do it. The backend is not there, then its library is opened, and it is. */
#include <dlfcn.h>
#include <headroom/headroom.h>
#include <stdio.h>
#include <string.h>

typedef void (*init_config_function)(headroom_layer_config*, size_t);
typedef headroom_status (*create_function)(const headroom_layer_config*, const headroom_call_sizes*,
                                           const headroom_weights*, const headroom_options*,
                                           headroom_layer**);
typedef void (*destroy_function)(headroom_layer*);

/* ISO C has no cast from what dlsym returns to a function. */
static int find(void* library, const char* name, void* function) {
  void* const address = dlsym(library, name);
  memcpy(function, &address, sizeof address);
  return address != NULL;
}

int main(int count, char** arguments) {
  static const float kOne = 1.0F;
  const headroom_matrix one = headroom_rows(&kOne, 1, 1);
  const headroom_weights weights = {sizeof weights, &one, &one, &one, NULL, NULL, NULL, NULL, NULL};
  const headroom_call_sizes largest = {sizeof largest, 1, 1, 0, 0};
  init_config_function init_config;
  create_function create;
  destroy_function destroy;
  headroom_layer_config config;
  headroom_options options = {sizeof options, NULL, NULL, NULL, NULL, 0};
  headroom_layer* layer = NULL;
  headroom_status before;
  headroom_status after;
  void* core;
  if (count != 4) return 2;

  core = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (core == NULL || !find(core, "headroom_init_layer_config", &init_config) ||
      !find(core, "headroom_create", &create) || !find(core, "headroom_destroy", &destroy)) {
    printf("%s\n", dlerror());
    return 1;
  }
  init_config(&config, sizeof config);
  config.d_in = config.d_out = 1;
  options.backend = arguments[3];
  before = create(&config, &largest, &weights, &options, &layer);
  if (dlopen(arguments[2], RTLD_NOW | RTLD_LOCAL) == NULL) {
    printf("%s\n", dlerror());
    return 1;
  }
  after = create(&config, &largest, &weights, &options, &layer);
  destroy(layer);
  printf("%s: %d before its library was opened, %d after\n", arguments[3], (int)before, (int)after);
  return before == HEADROOM_UNAVAILABLE && after == HEADROOM_OK ? 0 : 1;
}
