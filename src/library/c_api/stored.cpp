// Weights from files.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "c_api/statuses.hpp"
#include "c_api/structs.hpp"
#include "headroom/error.hpp"
#include "headroom/load_weights.hpp"

namespace {

/// A part of the weights, as the library and as C name it.
struct Part {
  headroom::ConstAnyMatrix headroom::WeightViews::*from;
  const headroom_matrix* headroom_weights::*to;
};

constexpr std::array kParts = {
    Part{&headroom::WeightViews::query, &headroom_weights::query},
    Part{&headroom::WeightViews::key, &headroom_weights::key},
    Part{&headroom::WeightViews::value, &headroom_weights::value},
    Part{&headroom::WeightViews::query_bias, &headroom_weights::query_bias},
    Part{&headroom::WeightViews::key_bias, &headroom_weights::key_bias},
    Part{&headroom::WeightViews::value_bias, &headroom_weights::value_bias},
    Part{&headroom::WeightViews::output, &headroom_weights::output},
    Part{&headroom::WeightViews::output_bias, &headroom_weights::output_bias},
    Part{&headroom::WeightViews::query_norm, &headroom_weights::query_norm},
    Part{&headroom::WeightViews::key_norm, &headroom_weights::key_norm},
    Part{&headroom::WeightViews::sinks, &headroom_weights::sinks},
    Part{&headroom::WeightViews::gate, &headroom_weights::gate},
    Part{&headroom::WeightViews::position_bias, &headroom_weights::position_bias},
    Part{&headroom::WeightViews::query_down, &headroom_weights::query_down},
    Part{&headroom::WeightViews::query_down_norm, &headroom_weights::query_down_norm},
    Part{&headroom::WeightViews::key_down, &headroom_weights::key_down},
    Part{&headroom::WeightViews::key_down_norm, &headroom_weights::key_down_norm}};

}  // namespace

struct headroom_stored {
  headroom::LayerWeights loaded;
  std::array<headroom_matrix, kParts.size()> views = {};  ///< of `kParts`
  std::string notes;
};

namespace {

using namespace headroom::c_api;

headroom::WeightsOptions options_of(const headroom_load_options* given) {
  headroom::WeightsOptions options;
  if (given == nullptr) return options;
  const headroom_load_options read =
      read_struct(*given, {}, sizeof(headroom_load_options), {"headroom_load", "load_options"});
  if (read.layer != nullptr) options.layer = read.layer;
  options.heads = read.heads;
  options.kv_heads = read.kv_heads;
  options.head_dim = read.head_dim;
  options.max_bytes = read.max_bytes;
  options.strict = read.strict != 0;
  if (read.family != nullptr) options.family = read.family;
  return options;
}

headroom_matrix view_of(const headroom::ConstAnyMatrix& from) {
  return {sizeof(headroom_matrix),
          const_cast<void*>(from.data),  // C has one type of view; nobody writes there
          from.rows,
          from.cols,
          from.row_stride,
          from.col_stride,
          static_cast<std::int32_t>(from.dtype)};
}

// A layer that is given without its norms, say, would be another one.
void require_said_by_c(const headroom::LayerConfig& config) {
  if (layer_config_of(c_config_of(config)) == config) return;
  throw headroom::Unsupported("headroom_load: the layer " + config.id() +
                              " has what headroom_layer_config cannot say; load it in C++");
}

// As far as the caller's struct goes, whose size stays.
template <class Struct>
void give(Struct* to, Struct from, const ArgumentName& named) {
  require(to, named.function, named.name);
  read_struct(*to, {}, sizeof to->size, named);
  write_defaults(to, to->size, from);
}

}  // namespace

void headroom_init_load_options(headroom_load_options* options, std::size_t size) {
  write_defaults(options, size, {});
}

headroom_status headroom_load(const char* path, const headroom_load_options* options,
                              headroom_stored** stored) {
  if (stored != nullptr) *stored = nullptr;
  return guarded([&] {
    require(path, "headroom_load", "path");
    require(stored, "headroom_load", "stored");
    auto made = std::make_unique<headroom_stored>();
    made->loaded = headroom::load_weights(path, options_of(options));
    require_said_by_c(made->loaded.config);
    for (std::size_t i = 0; i < kParts.size(); ++i) {
      made->views[i] = view_of(made->loaded.weights.*kParts[i].from);
    }
    for (const auto* lines : {&made->loaded.notes, &made->loaded.warnings}) {
      for (const std::string& line : *lines) made->notes.append(line).append("\n");
    }
    *stored = made.release();
  });
}

headroom_status headroom_stored_layer(const headroom_stored* stored, headroom_layer_config* config,
                                      headroom_weights* weights) {
  return guarded([&] {
    require(stored, "headroom_stored_layer", "stored");
    headroom_weights views{};
    for (std::size_t i = 0; i < kParts.size(); ++i) {
      if (stored->views[i].rows > 0) views.*kParts[i].to = &stored->views[i];
    }
    give(weights, views, {"headroom_stored_layer", "weights"});
    give(config, c_config_of(stored->loaded.config), {"headroom_stored_layer", "config"});
  });
}

const char* headroom_stored_notes(const headroom_stored* stored) {
  return stored == nullptr ? nullptr : stored->notes.c_str();
}

void headroom_stored_destroy(headroom_stored* stored) { delete stored; }
