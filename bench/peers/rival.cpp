#include "rival.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include "headroom/attention.hpp"
#include "json/shape_json.hpp"
#include "protocol.hpp"

namespace headroom::peers {
namespace {

using nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Matrix read_matrix(const std::filesystem::path& path, std::int64_t rows, std::int64_t cols) {
  Matrix matrix;
  matrix.rows = rows;
  matrix.cols = cols;
  matrix.values = read_floats(path, rows * cols);
  return matrix;
}

// What the cells of attention alone are called by in place of a formulation.
constexpr std::string_view kAlone = "attention";

template <class List>
bool contains(const List& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

class Server {
 public:
  explicit Server(const Rival& rival) : rival_(rival) {}

  ordered_json prepare(const JsonFields& request) {
    layers_.clear();
    read_problem(request);
    const std::vector<std::string> wanted = texts(request, "formulations");  // none named: all
    const std::vector<std::string> names =
        request.has("variants") ? texts(request, "variants") : std::vector<std::string>{};
    ordered_json ready = ordered_json::array(), failed = ordered_json::array();
    for (const Variant& variant : rival_.variants(problem_)) {
      const std::string_view way =
          problem_.shape.has_projections() ? to_string(variant.formulation) : kAlone;
      if (!wanted.empty() && !contains(wanted, way)) continue;
      if (!names.empty() && !contains(names, variant.name)) continue;
      ordered_json told{{"name", variant.name}, {"formulation", way}};
      try {
        const Clock::time_point start = Clock::now();
        Layer layer = variant.make();
        told["setup_s"] = seconds_since(start);
        told.update(layer.told);
        layers_[variant.name] = std::move(layer);
        ready.push_back(told);
      } catch (const std::exception& error) {
        told["reason"] = error.what();
        failed.push_back(told);
      }
    }
    return {{"variants", ready}, {"failed", failed}};
  }

  ordered_json run(const JsonFields& request) {
    std::fill(y_.values.begin(), y_.values.end(), std::numeric_limits<float>::quiet_NaN());
    const auto last = static_cast<std::int64_t>(inputs_.size()) - 1;
    const Layer& right = layer(request);
    pass(right, static_cast<std::size_t>(request.whole("input", 0, last)));
    if (right.read) right.read(y_.view());
    write_floats(request.text("file"), y_.values);
    return ordered_json::object();
  }

  ordered_json keep(const JsonFields& request) {
    const std::vector<std::string> names = texts(request, "variants");
    std::erase_if(layers_, [&](const auto& entry) { return !contains(names, entry.first); });
    return ordered_json::object();
  }

  ordered_json sample(const JsonFields& request) {
    const Layer& timed = layer(request);
    const std::int64_t warm = request.whole("warm", 0), calls = request.whole("calls", 1);
    for (std::int64_t i = 0; i < warm; ++i) pass(timed, next());
    const Clock::time_point start = Clock::now();
    for (std::int64_t i = 0; i < calls; ++i) pass(timed, next());
    return {{"seconds", seconds_since(start) / static_cast<double>(calls)}};
  }

 private:
  void read_problem(const JsonFields& request) {
    inputs_.clear();
    problem_.folder = request.text("folder");
    problem_.shape = shape_from_json(request.object("shape"));
    problem_.threads = static_cast<int>(request.whole("threads", 1, kMaxThreads));
    const Case& shape = problem_.shape;
    for (std::int64_t i = 0; i < request.whole("inputs", 1, 64); ++i) {
      inputs_.push_back(read_matrix(input_file(problem_.folder, i), shape.rows(),
                                    shape.has_projections() ? shape.d_in : shape.d_out));
    }
    y_ = Matrix(shape.rows(), shape.output_width());
  }

  const Layer& layer(const JsonFields& request) const {
    const auto found = layers_.find(request.text("variant"));
    if (found == layers_.end()) request.fail("variant", "one that was prepared and kept");
    return found->second;
  }

  // The inputs are taken in turn, on through the samples.
  std::size_t next() { return turn_++ % inputs_.size(); }

  void pass(const Layer& layer, std::size_t input) {
    layer.pass(std::as_const(inputs_[input]).view(), y_.view());
  }

  const Rival& rival_;
  Problem problem_;
  std::vector<Matrix> inputs_;
  Matrix y_;
  std::map<std::string, Layer> layers_;
  std::size_t turn_ = 0;
};

}  // namespace

SplitWeights Problem::weights() const {
  SplitWeights weights;
  weights.query = read_matrix(folder / "query.f32", shape.d_in, shape.d_out);
  weights.key = read_matrix(folder / "key.f32", shape.d_in, shape.d_out);
  weights.value = read_matrix(folder / "value.f32", shape.d_in, shape.d_out);
  weights.output = read_matrix(folder / "output.f32", shape.d_out, shape.d_proj);
  weights.output_bias = read_floats(folder / "output_bias.f32", shape.d_proj);
  return weights;
}

Matrix Problem::heads(const std::string& name) const {
  return read_matrix(folder / (name + ".f32"), shape.batch * shape.context(), shape.kv_width());
}

void serve_rival(const Rival& rival) {
  Server server(rival);
  serve({{"about", [&](const JsonFields&) { return rival.about(); }},
         {"prepare", [&](const JsonFields& request) { return server.prepare(request); }},
         {"run", [&](const JsonFields& request) { return server.run(request); }},
         {"keep", [&](const JsonFields& request) { return server.keep(request); }},
         {"sample", [&](const JsonFields& request) { return server.sample(request); }}});
}

}  // namespace headroom::peers
