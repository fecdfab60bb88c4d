#include "our_layer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/shape_json.hpp"
#include "headroom/headroom.hpp"
#include "headroom/version.hpp"
#include "protocol.hpp"

namespace headroom::peers {
namespace {

using nlohmann::ordered_json;

Matrix read_matrix(const std::filesystem::path& path, std::int64_t rows, std::int64_t cols) {
  Matrix matrix;
  matrix.rows = rows;
  matrix.cols = cols;
  matrix.values = read_floats(path, rows * cols);
  return matrix;
}

SplitWeights read_weights(const std::filesystem::path& folder, const Shape& shape) {
  SplitWeights weights;
  weights.query = read_matrix(folder / "query.f32", shape.d_in, shape.d_out);
  weights.key = read_matrix(folder / "key.f32", shape.d_in, shape.d_out);
  weights.value = read_matrix(folder / "value.f32", shape.d_in, shape.d_out);
  weights.output = read_matrix(folder / "output.f32", shape.d_out, shape.d_proj);
  weights.output_bias = read_floats(folder / "output_bias.f32", shape.d_proj);
  return weights;
}

class OurLayer {
 public:
  explicit OurLayer(std::string backend) : backend_(std::move(backend)) {}

  ordered_json about() const {
    const BackendInfo info = find_backend(backend_);
    return {{"version", fmt::format("headroom {}", HEADROOM_VERSION)},
            {"settings", {{"library", info.library}, {"formulations", "all"}}}};
  }

  ordered_json prepare(const JsonFields& request) {
    layers_.clear();
    inputs_.clear();
    shape_ = shape_from_json(request.object("shape"));
    const std::filesystem::path folder = request.text("folder");
    const SplitWeights weights = read_weights(folder, shape_);
    for (std::int64_t i = 0; i < request.whole("inputs", 1, 64); ++i) {
      inputs_.push_back(read_matrix(input_file(folder, i), shape_.rows(), shape_.d_in));
    }
    y_ = Matrix(shape_.rows(), shape_.output_width());
    ordered_json ready = ordered_json::array(), failed = ordered_json::array();
    const auto threads = static_cast<int>(request.whole("threads", 1, kMaxThreads));
    const std::vector<std::string> wanted = texts(request, "formulations");  // none named: all
    for (const Formulation formulation :
         {Formulation::fused, Formulation::split, Formulation::wrapper}) {
      const std::string name(to_string(formulation));
      if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), name) == wanted.end()) {
        continue;
      }
      try {
        layers_.push_back(std::make_unique<Attention>(
            shape_, weights, AttentionOptions{backend_, formulation, threads}));
        ready.push_back(described(*layers_.back()));
      } catch (const std::exception& error) {
        failed.push_back({{"name", name}, {"formulation", name}, {"reason", error.what()}});
      }
    }
    return {{"variants", ready}, {"failed", failed}};
  }

  ordered_json run(const JsonFields& request) {
    std::fill(y_.values.begin(), y_.values.end(), std::numeric_limits<float>::quiet_NaN());
    const auto last = static_cast<std::int64_t>(inputs_.size()) - 1;
    pass(layer(request), static_cast<std::size_t>(request.whole("input", 0, last)));
    write_floats(request.text("file"), y_.values);
    return ordered_json::object();
  }

  ordered_json keep(const JsonFields& request) {
    const std::vector<std::string> names = texts(request, "variants");
    std::erase_if(layers_, [&](const std::unique_ptr<Attention>& layer) {
      return std::find(names.begin(), names.end(), name_of(*layer)) == names.end();
    });
    return ordered_json::object();
  }

  ordered_json sample(const JsonFields& request) {
    Attention& timed = layer(request);
    const std::int64_t warm = request.whole("warm", 0), calls = request.whole("calls", 1);
    for (std::int64_t i = 0; i < warm; ++i) pass(timed, next());
    const auto start = std::chrono::steady_clock::now();
    for (std::int64_t i = 0; i < calls; ++i) pass(timed, next());
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    return {{"seconds", taken.count() / static_cast<double>(calls)}};
  }

 private:
  static std::string name_of(const Attention& layer) {
    return std::string(to_string(*layer.options().formulation));
  }

  ordered_json described(const Attention& layer) const {
    const AttentionCosts& costs = layer.costs();
    const bool obeys = find_backend(backend_).uses_isa;
    return {{"name", name_of(layer)},
            {"formulation", name_of(layer)},
            {"threads", layer.options().threads},
            {"isa", obeys ? to_string(select_isa(layer.options().isa)) : "baseline"},
            {"setup_s", costs.setup_seconds},
            {"packed_bytes", costs.packed_bytes},
            {"workspace_bytes", costs.workspace_bytes},
            {"project", costs.project_provenance},
            {"attend", costs.attend_provenance}};
  }

  Attention& layer(const JsonFields& request) const {
    const std::string name = request.text("variant");
    for (const std::unique_ptr<Attention>& layer : layers_) {
      if (name_of(*layer) == name) return *layer;
    }
    request.fail("variant", "one that was prepared and kept");
  }

  // The inputs are taken in turn, on through the samples.
  std::size_t next() { return turn_++ % inputs_.size(); }

  void pass(Attention& layer, std::size_t input) {
    layer.forward(std::as_const(inputs_[input]).view(), y_.view());
  }

  std::string backend_;
  Shape shape_;
  std::vector<Matrix> inputs_;
  Matrix y_;
  std::vector<std::unique_ptr<Attention>> layers_;
  std::size_t turn_ = 0;
};

}  // namespace

void serve_layer(const std::string& backend) {
  OurLayer layer(backend);
  serve({{"about", [&](const JsonFields&) { return layer.about(); }},
         {"prepare", [&](const JsonFields& request) { return layer.prepare(request); }},
         {"run", [&](const JsonFields& request) { return layer.run(request); }},
         {"keep", [&](const JsonFields& request) { return layer.keep(request); }},
         {"sample", [&](const JsonFields& request) { return layer.sample(request); }}});
}

}  // namespace headroom::peers
