// When backends start threads, and what they do if the system refuses them. Each case runs in its
// own process, because the runtimes behind the backends keep their threads.
#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <string>

#include "core/case_layer.hpp"
#include "support/child.hpp"
#include "support/layer_cases.hpp"

namespace headroom::test::layer_threads_test {
namespace {

int threads_here() {
  int count = 0;
  DIR* folder = opendir("/proc/self/task");
  if (folder == nullptr) return -1;
  while (const dirent* entry = readdir(folder)) count += entry->d_name[0] != '.' ? 1 : 0;
  closedir(folder);
  return count;
}

/// Large enough that every operation is worth several threads.
Layer large_layer() {
  Case shape = plain_shape(256, 256, 4, 64);
  shape.d_proj = 256;
  return gaussian_layer(shape);
}

class LayerThreads : public LayerTest {};

TEST_P(LayerThreads, AreStartedWhileTheLayerIsMade) {
  const std::string found = in_child([&]() -> std::string {
    const Layer layer = large_layer();
    Attention attention = layer_for(layer.shape, layer.weights, GetParam().options(2));
    const int before = threads_here();
    Matrix y(layer.shape.rows(), layer.shape.output_width());
    for (int i = 0; i < 3; ++i) attention.forward(layer.x.view(), y.view());
    const int after = threads_here();
    if (after == before && before > 0) return "";
    return std::to_string(before) + " threads before, " + std::to_string(after) + " after";
  });
  EXPECT_EQ(found, "");
}

TEST_P(LayerThreads, ASystemThatRefusesThemIsAnError) {
  if (getuid() != 0) GTEST_SKIP() << "needs root, to switch to a user with a process limit";
  if (!find_backend(GetParam().backend).threaded) GTEST_SKIP() << "runs on one thread";
  const std::string found = in_child([&]() -> std::string {
    const Layer layer = large_layer();
    // The limit counts all threads of a user: one of its own, or tests at the same time disturb.
    const uid_t nobody_else = 1'000'000 + static_cast<uid_t>(getpid());
    const rlimit few{4, 4};
    if (setrlimit(RLIMIT_NPROC, &few) != 0 || setuid(nobody_else) != 0) return "cannot limit";
    Matrix y(layer.shape.rows(), layer.shape.output_width());
    try {
      Attention attention = layer_for(layer.shape, layer.weights, GetParam().options(64));
      for (int i = 0; i < 3; ++i) attention.forward(layer.x.view(), y.view());
      return "accepted";
    } catch (const ResourceError& error) {
      const std::string message = error.what();
      const bool good = message.find("64 threads") != std::string::npos;
      if (!good) return message;
    }
    // One thread needs nothing from the system.
    Attention alone = layer_for(layer.shape, layer.weights, GetParam().options(1));
    alone.forward(layer.x.view(), y.view());
    return "";
  });
  EXPECT_EQ(found, "");
}

INSTANTIATE_TEST_SUITE_P(Backends, LayerThreads, testing::ValuesIn(backend_cases()), case_name);

}  // namespace
}  // namespace headroom::test::layer_threads_test
