// The C++ side of scripts/peers: our backends as peers, the keeper of the record, and the table.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <string>

#include "core/text/shown.hpp"
#include "headroom/error.hpp"
#include "keeper.hpp"
#include "our_layer.hpp"
#include "program/exit_code.hpp"
#include "program/process_setup.hpp"
#include "table.hpp"

#ifdef HEADROOM_HAVE_SIMD
#include "simd/kernel_table.hpp"
#include "simd/tiles/tile_kernels.hpp"
#endif

namespace {

using namespace headroom;

#ifdef HEADROOM_HAVE_SIMD
machine::LimitKernels limit_kernels(const Target& target) {
  const simd::KernelTable& kernels = simd::kernel_table(target.isa);
  return {kernels.fma_chain, kernels.read_sum, kernels.tile_chain, simd::product_bursts(target)};
}
constexpr machine::LimitKernelsOf kLimits = limit_kernels;
#else
constexpr machine::LimitKernelsOf kLimits = nullptr;
#endif

int run(int count, char** arguments) {
  CLI::App app("What scripts/peers runs: see docs/peers.md.", "headroom-peer");
  app.require_subcommand(1);
  std::string backend, folder;
  CLI::App* layer = app.add_subcommand("layer", "one of our backends as a peer");
  layer->add_option("--backend", backend, "its name")->required();
  std::string precision = "f32", dtype = "f32";
  layer->add_option("--precision", precision, "what its products compute with");
  layer->add_option("--dtype", dtype, "what x, y and weights are stored as");
  std::string stored, cached;
  layer->add_option("--weights-dtype", stored, "what weights are stored as, if not as the rest");
  layer->add_option("--cache-dtype", cached, "likewise keys and values of attention alone");
  app.add_subcommand("keeper", "sets problems, checks outputs, writes the results folder");
  CLI::App* table = app.add_subcommand("table", "each peer beside the best of our cells");
  table->add_option("DIR", folder, "results folder of scripts/peers")->required();
  try {
    app.parse(count, arguments);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kWrongUsage;
  }
  if (layer->parsed()) {
    const auto computes = parse_precision(precision);
    const auto stores = parse_dtype(dtype);
    if (!computes || !stores) {
      throw InvalidArgument("layer: --precision and --dtype take names such as bf16 and f32");
    }
    Numbers numbers{*computes, *stores};
    if (!stored.empty()) {
      numbers.weights = parse_storage(stored);
      if (!numbers.weights) throw InvalidArgument("layer: --weights-dtype takes q8, q4 and others");
    }
    if (!cached.empty()) {
      numbers.cache = parse_storage(cached);
      if (!numbers.cache) throw InvalidArgument("layer: --cache-dtype takes f32, bf16 or q8");
    }
    peers::serve_layer({backend, numbers});
  } else if (table->parsed()) {
    fmt::print("{}", peers::peers_table(folder));
  } else {
    peers::serve_keeper(kLimits);
  }
  return kDone;
}

}  // namespace

int main(int count, char** arguments) {
  open_standard_files();
  restart_with_passive_openmp(arguments);
  const auto failed = [](const std::exception& error, int code) {
    fmt::print(stderr, "headroom-peer: error: {}\n", shown_text(error.what()));
    return code;
  };
  try {
    return run(count, arguments);
  } catch (const FileError& error) {
    return failed(error, kBadFile);
  } catch (const InvalidArgument& error) {
    return failed(error, kWrongUsage);
  } catch (const std::exception& error) {
    return failed(error, kNoResource);
  }
}
