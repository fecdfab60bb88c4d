// layer <backend>...: every backend named computes a layer, and no other one is in the program.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <headroom/headroom.hpp>
#include <string>

namespace {

// One token attends to itself alone, so its context is its value row and the layer is two products.
double worst_difference(const headroom::LayerConfig& layer, const headroom::SplitWeights& weights,
                        const headroom::Matrix& x, const headroom::Matrix& y) {
  double worst = 0;
  for (std::int64_t out = 0; out < layer.d_proj; ++out) {
    double sum = weights.output_bias[static_cast<std::size_t>(out)];
    for (std::int64_t mid = 0; mid < layer.d_out; ++mid) {
      double value = 0;
      for (std::int64_t in = 0; in < layer.d_in; ++in) {
        value += double{x.view().row(0)[in]} * double{weights.value.view().row(in)[mid]};
      }
      sum += value * double{weights.output.view().row(mid)[out]};
    }
    worst = std::max(worst, std::abs(sum - double{y.view().row(0)[out]}));
  }
  return worst;
}

bool computes(const std::string& backend) {
  const headroom::LayerConfig config{.d_in = 40, .d_out = 48, .heads = 3, .d_proj = 24};
  const headroom::SplitWeights weights = headroom::gaussian_weights(config, 1);
  const headroom::Matrix x = headroom::gaussian_input(1, config, 2);
  headroom::Matrix y(1, config.output_width());
  headroom::AttentionOptions options;
  options.backend = backend;
  headroom::Attention(config, {.tokens = 1}, weights, options).forward(x.view(), y.view());
  const double worst = worst_difference(config, weights, x, y);
  std::printf("%s: differs by %.1e\n", backend.c_str(), worst);
  return worst < 1e-5;
}

bool is_refused(const std::string& backend) {
  try {
    headroom::find_backend(backend);
  } catch (const headroom::Unavailable& error) {
    std::printf("%s\n", error.what());
    return true;
  }
  std::printf("%s is in this program, but was not linked\n", backend.c_str());
  return false;
}

// Made before main: backends must be there already for global objects.
const bool any_is_early = std::ranges::any_of(
    headroom::backends(), [](const headroom::BackendInfo& backend) { return backend.available; });

}  // namespace

int main(int count, char** arguments) {
  bool good = any_is_early && count > 1;
  for (const headroom::BackendInfo& backend : headroom::backends()) {
    const bool wanted =
        std::find(arguments + 1, arguments + count, backend.name) != arguments + count;
    good = (wanted ? computes(backend.name) : is_refused(backend.name)) && good;
  }
  return good ? 0 : 1;
}
